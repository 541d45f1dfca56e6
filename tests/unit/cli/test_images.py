"""The verb ``images``: no option is passed over in silence."""

from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from tests.unit.cli.conftest import MATRIX

MINE = MATRIX.replace('"7.1": llvm', '"7.1": {recipe: debian, args: {SUITE: forky}}')

COMPILED = """[torch]
src = ["torch-ext/binding.cpp"]
[kernel.k]
backend = "rocm"
depends = ["torch"]
src = ["torch-ext/k.hip"]
"""


def test_an_argument_that_no_image_of_the_matrix_has_is_refused_before_any_engine(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "matrix.yaml").write_text(MINE)
    manifest = project / "k" / "build.toml"
    manifest.write_text(manifest.read_text().replace("[torch-noarch]\n", COMPILED))
    for name in ("binding.cpp", "k.hip"):
        (project / "k" / "torch-ext" / name).write_text("")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    assert main(["images", "build", "--arg", "SUITE=trixie"]) == 2
    assert "no image has SUITE=trixie" in capsys.readouterr().err
    assert main(["images", "build", "--arg", "SUITE=forky"]) == 3
    assert "no docker engine is running" in capsys.readouterr().err
