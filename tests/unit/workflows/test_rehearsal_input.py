"""What ``rocmatrix rehearse --workflow`` refuses before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmatrix.errors import RocmatrixError
from rocmatrix.workflows.rehearsal import rehearse_workflow

ROOT = Path(__file__).parents[3]
RELEASE = ROOT / ".github/workflows/release.yml"


@pytest.mark.parametrize(
    ("workflow", "tag", "said"),
    [
        (ROOT / "nothere.yml", "v1.0.0", "cannot be read"),
        (ROOT / ".github", "v1.0.0", "folder"),
        (RELEASE, "v1", "no tag of a release"),
        (RELEASE, "-d", "no tag of a release"),
        (RELEASE, "v2.0.0", "major version"),
    ],
)
def test_a_file_that_is_not_there_and_a_tag_that_is_none_are_refused(workflow: Path, tag: str, said: str) -> None:
    with pytest.raises(RocmatrixError, match=said):
        rehearse_workflow(workflow, matrix=ROOT / "matrix.yaml", tag=tag, emit=lambda _: None)
