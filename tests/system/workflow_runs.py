"""Runs of workflow files by act, as tests need them: a repository on a stage, a Hub, and what the run said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from huggingface_hub import HfApi

from rocmatrix.pipeline import load_plan
from rocmatrix.workflows.act import ActRun, run_act
from rocmatrix.workflows.identity import TrustingHub, trusting_hub
from rocmatrix.workflows.stage import TOOLKIT, Stage, set_stage
from tests.system.workflow_repository import MATRIX

ROOT = Path(__file__).parents[2]
SECONDS = 600.0
SOURCE = "acme/source"
"""What the repository is called on GitHub."""

COMMIT = "0123456789012345678901234567890123456789"
ONE_ROCM = MATRIX.replace('rocm: ["7.1", "7.2"]', 'rocm: ["7.1"]').replace(', "7.2": llvm', "")
CALLER = f"""name: Kernel
on: [push, pull_request]
permissions: {{}}
jobs:
  kernel:
    name: Kernel
    uses: {TOOLKIT}/.github/workflows/build-kernel.yml@{COMMIT} # v0.1.0
    permissions: {{contents: read, id-token: write}}
    with: {{mode: MODE, tag: "${{{{ github.ref_name }}}}"}}
"""
GH = """#!/bin/sh
# Stands in for GitHub's program: writes down what it is asked, and knows no release and no pull request yet.
printf '%s\\n' "$*" >>"$GH_LOG"
test "$2" != list || echo '[]'
test "$2" != view
"""


@contextmanager
def on_stage(folder: Path, repository: Path, workflow: str = "release.yml") -> Iterator[tuple[Stage, TrustingHub]]:
    """Yield what a run of a workflow of a repository needs, and a Hub that trusts it."""
    kernel = load_plan(repository / "matrix.yaml", toolchain=None).kernels[0].repo_id
    stage = set_stage(repository / ".github/workflows" / workflow, folder / "run", tag="v1.0.0", name=SOURCE)
    with trusting_hub(kernel, folder / "hub", source=SOURCE) as hub:
        yield stage, hub


def branches_and_tags(hub: TrustingHub, repository: str) -> tuple[list[str], list[str]]:
    found = HfApi(endpoint=hub.endpoint, token=False).list_repo_refs(repository, repo_type="kernel")
    return [each.name for each in found.branches], [each.name for each in found.tags]


def run(
    folder: Path,
    repository: Path,
    *,
    event: str = "push",
    payload: dict[str, object] | None = None,
    job: str | None = None,
    machine: str | None = None,
    programs: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    name: str = SOURCE,
    token: str = "",
) -> ActRun:
    """Run a repository's workflow for an event, without a Hub.

    Args:
        folder: what the run writes lies there.
        repository: the repository.
        event: its name.
        payload: as GitHub would send it.
        job: run this job alone.
        machine: a shell script in front of ``rocmatrix``; the command itself is ``rocmatrix-itself`` then.
        programs: name -> text of further programs.
        variables: of every step.
        name: what the repository is called on GitHub.
        token: of the jobs, as ``github.token``.
    """
    stage = set_stage(repository / ".github/workflows/release.yml", folder / "run", name=name)
    if machine is not None:
        put_before_rocmatrix(stage, machine)
    for program, text in (programs or {}).items():
        put_program(stage, program, text)
    errand = stage.errand(event=event, payload=payload or {"ref": "refs/heads/main"}, variables=variables or {})
    return run_act(replace(errand, job=job, token=token, seconds=SECONDS))


def put_before_rocmatrix(stage: Stage, script: str) -> None:
    """Let a shell script run in place of ``rocmatrix``, which it finds as ``rocmatrix-itself``."""
    (stage.commands / "rocmatrix").rename(stage.commands / "rocmatrix-itself")
    put_program(stage, "rocmatrix", f"#!/bin/bash\n{script}")


def put_program(stage: Stage, name: str, text: str) -> None:
    """Put a program where every step finds it first."""
    (stage.commands / name).write_text(text)
    (stage.commands / name).chmod(0o755)


def logs(run: ActRun) -> str:
    return "\n".join(f"{job.name}: {job.result}" for job in run.jobs) + "\n" + "".join(map("".join, run.log.values()))
