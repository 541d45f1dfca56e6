"""The step that plans, as it stands in build-kernel.yml: what a caller may not ask for is refused before any build."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.workflows.rules import ROOT, WORKFLOWS, read


def planned(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step in a project with the inputs of a caller; those that are not given are the workflow's defaults."""
    file = read(next(path for path in WORKFLOWS if path.name == "build-kernel.yml"))
    (step,) = [step for step in file.jobs["plan"]["steps"] if step.get("id") == "plan"]
    declared = file.events["workflow_call"]["inputs"]
    variables = {}
    for name, value in step["env"].items():
        of = value.removeprefix("${{ inputs.").removesuffix(" }}")
        variables[name] = inputs.get(of, declared[of]["default"])
    program = folder / "bin/rocmatrix"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rocmatrix "$@"\n')
    program.chmod(0o755)
    own = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "ROCMATRIX_CACHE": str(folder / "cache"),
        "GITHUB_ACTIONS": "true",
        "GITHUB_OUTPUT": str(folder / "outputs"),
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={**own, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"mode": "release"}, "mode release needs a tag"),
        ({"mode": "release", "tag": "main"}, "'main' is no tag of a release of this matrix"),
        ({"mode": "release", "tag": "v2.0.0"}, "'v2.0.0' is no tag of a release of this matrix"),
        ({"mode": "relaese", "tag": "v1.0.0"}, "invalid choice: 'relaese'"),
    ],
)
def test_what_cannot_be_released_is_not_built(project: Path, inputs: dict[str, str], said: str) -> None:
    done = planned(project, **inputs)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (project / "outputs").exists()


@pytest.mark.parametrize("inputs", [{}, {"mode": "release", "tag": "v1.0.0"}, {"mode": "check", "tag": "some-branch"}])
def test_what_can_be_done_is_planned(project: Path, inputs: dict[str, str]) -> None:
    done = planned(project, **inputs)
    assert done.returncode == 0, done.stderr
    assert "units<<" in (project / "outputs").read_text()
