"""The notes of a GitHub release compare with the same kernel's release before it, in a repository of several too."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.system.release_source import git

SCRIPT = Path(__file__).resolve().parents[3] / ".github/actions/github-release/notes.sh"
STAND_IN = """#!/bin/sh
echo "$*"
"""


def notes(tmp_path: Path, kernel: str, *tags: str) -> str:
    """Make a commit for each tag, and return what the script writes for the last one."""
    git(tmp_path, "init", "-q")
    for tag in tags:
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", tag)
        git(tmp_path, "tag", "-a", tag, "-m", tag)
    program = tmp_path / "bin/rocmatrix"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    variables = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "TAG": tags[-1],
        "KERNEL": kernel,
        "SET": "dist",
        "RUNNER_TEMP": str(tmp_path),
    }
    subprocess.run(["bash", str(SCRIPT)], cwd=tmp_path, env=variables, capture_output=True, check=True, timeout=60)
    return (tmp_path / "release-notes.md").read_text()


@pytest.mark.parametrize(
    ("kernel", "tags", "previous"),
    [
        ("gemm", ("v1.0.0", "v1.1.0"), "v1.0.0"),
        ("gemm", ("v1.0.0", "v1.1.0-rc.1", "nightly", "v1", "v1.1.0"), "v1.1.0-rc.1"),
        ("gemm", ("gemm-v1.0.0", "norm-v3.0.0", "gemm-v1.1.0"), "gemm-v1.0.0"),
        ("gemm", ("gemm-v1.0.0", "gemm-v2-v1.0.0", "gemm-v1.1.0"), "gemm-v1.0.0"),
        ("gemm-v2", ("gemm-v2-v1.0.0", "gemm-v2.0.0", "gemm-v2-v1.1.0"), "gemm-v2-v1.0.0"),
        ("gemm", ("gemm-v1.0.0", "gemm-v1.1.0-v2"), "gemm-v1.0.0"),
    ],
)
def test_notes_compare_with_the_release_before_of_the_same_kernel(
    tmp_path: Path, kernel: str, tags: tuple[str, ...], previous: str
) -> None:
    assert notes(tmp_path, kernel, *tags) == f"What differs from {previous}:\n\n    diff --out dist {previous}\n"


@pytest.mark.parametrize("tags", [("gemm-v1.0.0",), ("gemm-v2-v1.0.0", "norm-v1.0.0", "v1.0.0", "gemm-v1.0.0")])
def test_the_first_release_of_a_kernel_has_nothing_to_differ_from(tmp_path: Path, tags: tuple[str, ...]) -> None:
    assert notes(tmp_path, "gemm", *tags) == "The first release.\n"
