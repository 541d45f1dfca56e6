"""Runs of workflow files by act, as tests need them: a repository on a stage, a Hub, and what the run said."""

from __future__ import annotations

from collections.abc import Iterator
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
) -> ActRun:
    """Run a repository's workflow for an event, without a Hub.

    Args:
        folder: what the run writes lies there.
        repository: the repository.
        event: its name.
        payload: as GitHub would send it.
        job: run this job alone.
        machine: a shell script in front of ``rocmatrix``; the command itself is ``rocmatrix-itself`` then.
    """
    stage = set_stage(repository / ".github/workflows/release.yml", folder / "run", name=SOURCE)
    if machine is not None:
        put_before_rocmatrix(stage, machine)
    errand = stage.errand(event=event, payload=payload or {"ref": "refs/heads/main"}, variables={})
    return run_act(replace(errand, job=job, seconds=SECONDS))


def put_before_rocmatrix(stage: Stage, script: str) -> None:
    """Let a shell script run in place of ``rocmatrix``, which it finds as ``rocmatrix-itself``."""
    command = stage.commands / "rocmatrix"
    command.rename(stage.commands / "rocmatrix-itself")
    command.write_text(f"#!/bin/bash\n{script}")
    command.chmod(0o755)


def logs(run: ActRun) -> str:
    return "\n".join(f"{job.name}: {job.result}" for job in run.jobs) + "\n" + "".join(map("".join, run.log.values()))
