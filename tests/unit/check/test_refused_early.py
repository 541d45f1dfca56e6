"""What a check cannot do is refused before anything is planned, built or written."""

from pathlib import Path

import pytest

from rocmatrix import pipeline
from rocmatrix.check.options import CheckOptions, On
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import discard
from rocmatrix.pipeline import Options


def options(root: Path, check: CheckOptions) -> Options:
    return Options(matrix=root / "matrix.yaml", out=root / "dist", check=check)


@pytest.mark.parametrize("work", [pipeline.run, pipeline.check])
def test_a_run_does_not_build_for_a_check_that_cannot_be(work: object, tmp_path: Path) -> None:
    assert callable(work)
    with pytest.raises(MissingRequirementError, match="no AMD GPU"):
        work(options(tmp_path, CheckOptions(on=On.GPU)), discard)
    with pytest.raises(InputError, match="no emulated device 'mi250'"):
        work(options(tmp_path, CheckOptions(device="mi250")), discard)
    assert not (tmp_path / "dist").exists()
