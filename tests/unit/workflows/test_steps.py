"""Steps of build-kernel.yml as they stand: what is taken as what, whatever else a machine uploaded, and from where."""

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


def run_step(folder: Path, job: str, name: str, *artifacts: str, **variables: str) -> list[str]:
    """Run a step of build-kernel.yml as it stands with these artifacts, and return the words that `rocmatrix` got."""
    for artifact in artifacts:
        (folder / "temp/parts" / artifact).mkdir(parents=True)
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


def collected(tmp_path: Path, rows: str, *artifacts: str) -> list[tuple[str, str]]:
    """Run the step as it stands with these artifacts, and return the options that `rocmatrix` got."""
    words = run_step(tmp_path, "collect", "Collect", *artifacts, ROWS=rows, MATRIX="matrix.yaml", DIGESTS="{}")
    assert words[:3] == ["collect", "--matrix", "matrix.yaml"]
    assert words[-2:] == ["--digests", "-"]
    return list(zip(words[3:-2:2], words[4:-2:2], strict=True))


def test_builds_and_the_emulator_s_records_are_taken_from_the_rows_of_the_plan_alone(tmp_path: Path) -> None:
    artifacts = ("unit-a", "unit-b", "unit-a-check", "unit-a-gpu", "unit-evil", "unit-evil-check", "unit-a b", "unit-*")
    options = {name.removeprefix("temp/parts/"): option for option, name in collected(tmp_path, "a b c", *artifacts)}
    assert options == {
        **dict.fromkeys(artifacts, "--checks-from"),
        **dict.fromkeys(("unit-a", "unit-b"), "--from"),
        "unit-a-check": "--emulated-from",
    }


def test_digests_are_stated_of_what_was_built_and_of_what_the_emulator_recorded(tmp_path: Path) -> None:
    artifacts = ("unit-a", "unit-a-check", "unit-b", "unit-a-gpu", "unit-evil")
    words = run_step(tmp_path, "digests", "Digests", *artifacts, ROWS="a b c")
    assert words == ["digest", *(f"temp/parts/{name}" for name in ("unit-a", "unit-a-check", "unit-b"))]


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
