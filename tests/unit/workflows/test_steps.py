"""Steps of build-kernel.yml as they stand: what they ask `rocmatrix` for."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.workflows.rules import WORKFLOWS, read

STAND_IN = """#!/bin/sh
test "$1" != collect || cat >/dev/null
test -z "$ROCMATRIX_IMAGES" || printf '%s\\n' "$ROCMATRIX_IMAGES"
printf '%s\\n' "$@"
"""


def run_step(folder: Path, job: str, name: str, **variables: str) -> list[str]:
    """Run a step of build-kernel.yml as it stands, and return the words that `rocmatrix` got."""
    program = folder / "bin/rocmatrix"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    jobs = read(next(path for path in WORKFLOWS if path.name == "build-kernel.yml")).jobs
    (step,) = [step for step in jobs[job]["steps"] if step["name"] == name]
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={"PATH": f"{program.parent}:{os.environ['PATH']}", "RUNNER_TEMP": "temp", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return [*done.stdout.splitlines(), *([f"exit {done.returncode}"] if done.returncode else [])]


def test_artifacts_are_sorted_by_the_rows_of_the_plan_alone(tmp_path: Path) -> None:
    """What is taken of which is what the command says: `tests/unit/collect/test_row_artifacts.py`."""
    named = ["--artifacts", "temp/parts", "--rows", "001-a 002-b"]
    (tmp_path / "one").mkdir()
    assert run_step(tmp_path / "one", "digests", "Digests", ROWS="001-a 002-b") == ["digest", *named]
    (tmp_path / "two").mkdir()
    words = run_step(tmp_path / "two", "collect", "Collect", ROWS="001-a 002-b", MATRIX="m.yaml", DIGESTS="{}")
    assert words == ["collect", "--matrix", "m.yaml", *named, "--digests", "-"]


@pytest.mark.parametrize(("attempt", "passes"), [("1", True), ("2", False)])
def test_no_digest_is_stated_of_what_an_earlier_attempt_left(tmp_path: Path, attempt: str, *, passes: bool) -> None:
    """A job that is run again alone, after a machine with a GPU had a part, would state what that may have left."""
    said = run_step(
        tmp_path, "digests", "No machine of one's own had a part before", PLANNED="1", GITHUB_RUN_ATTEMPT=attempt
    )
    assert (said == []) is passes
    assert passes or (said[0].endswith("run all jobs again"), said[1]) == (True, "exit 3")


@pytest.mark.parametrize(("toolkit", "images"), [("Acme/Rocmatrix", ["ghcr.io/acme/rocmatrix"]), ("", [])])
def test_images_are_looked_for_where_the_toolkit_s_repository_pushes_them(
    tmp_path: Path, toolkit: str, images: list[str]
) -> None:
    words = run_step(tmp_path, "build", "Build", TOOLKIT=toolkit, MATRIX="m.yaml", ARGUMENTS="--jobs\n2", UNITS="a b")
    assert words == [*images, "build", "--matrix", "m.yaml", "--jobs", "2", "--only=a", "--only=b"]
