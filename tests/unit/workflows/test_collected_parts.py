"""Which artifacts of a run are taken as builds: those that the plan's rows name, whatever else a machine uploaded."""

import os
import subprocess
from pathlib import Path

from tests.unit.workflows.rules import WORKFLOWS, read

STAND_IN = """#!/bin/sh
printf '%s\\n' "$@"
"""


def collected(tmp_path: Path, rows: str, *artifacts: str) -> list[tuple[str, str]]:
    """Run the step as it stands with these artifacts, and return the options that `rocmatrix` got."""
    for name in artifacts:
        (tmp_path / "temp/parts" / name).mkdir(parents=True)
    program = tmp_path / "bin/rocmatrix"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    jobs = read(next(path for path in WORKFLOWS if path.name == "build-kernel.yml")).jobs
    (step,) = [step for step in jobs["collect"]["steps"] if step.get("id") == "collect"]
    variables = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "MATRIX": "matrix.yaml",
        "ROWS": rows,
        "DIGESTS": "{}",
        "RUNNER_TEMP": "temp",
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    words = done.stdout.splitlines()
    assert words[:3] == ["collect", "--matrix", "matrix.yaml"]
    assert words[-2:] == ["--digests", "-"]
    return list(zip(words[3:-2:2], words[4:-2:2], strict=True))


def test_builds_are_taken_from_the_rows_of_the_plan_alone(tmp_path: Path) -> None:
    artifacts = ("unit-a", "unit-b", "unit-a-check", "unit-a-gpu", "unit-evil", "unit-a b", "unit-*", "unit-")
    options = {name: option for option, name in collected(tmp_path, "a b c", *artifacts)}
    assert options.keys() == {f"temp/parts/{name}" for name in artifacts}
    assert {name for name, option in options.items() if option == "--from"} == {
        "temp/parts/unit-a",
        "temp/parts/unit-b",
    }
    assert set(options.values()) == {"--from", "--checks-from"}
