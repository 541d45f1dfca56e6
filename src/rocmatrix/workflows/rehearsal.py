"""A workflow rehearsed from a tag to every user's download: the same files, act, a Hub of its own, the real client."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.errors import InputError
from rocmatrix.events import Emit, Notice
from rocmatrix.input_file import read_input
from rocmatrix.pipeline import load_plan
from rocmatrix.plan.model import CellState, Plan, PlannedKernel
from rocmatrix.release.serving import Pair
from rocmatrix.release.users import Got, Published, ask_client
from rocmatrix.workflows.act import NOT_RUN, ActRun, JobRun, run_act
from rocmatrix.workflows.identity import TrustingHub, trusting_hub
from rocmatrix.workflows.stage import set_stage
from rocmatrix.workflows.tag_ahead import require_tag_ahead
from rocmatrix.workflows.trigger import require_triggered

_SHOWN = 5
"""Files that a message names."""


@dataclass(frozen=True, kw_only=True)
class WorkflowRehearsal:
    """What a rehearsal came to.

    Attributes:
        run: of act.
        users: what the client got on each machine that is promised a variant; empty if nothing was released.
        wanted: torch and ROCm of each -> the variant that the plan has for it.
    """

    run: ActRun
    users: tuple[Got, ...]
    wanted: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether no job failed and every user got what was made for them."""
        served = [got.variant == self.wanted[f"torch{got.torch}-rocm{got.rocm}"] for got in self.users]
        return self.run.exit_code == 0 and not self.run.ended and len(served) == len(self.wanted) and all(served)


def rehearse_workflow(workflow: Path, *, matrix: Path, tag: str, emit: Emit) -> WorkflowRehearsal:
    """Run a workflow as a push of a tag would, and let the real client download every promise.

    Args:
        workflow: the file in the repository's ``.github/workflows``.
        matrix: its matrix.yaml.
        tag: the tag; it need not exist.
        emit: takes a notice for each job.

    Raises:
        RocmatrixError: it could not be begun.
    """
    plan = load_plan(matrix, toolchain=None)
    kernel = _only_kernel(plan, matrix)
    read_input(workflow)  # before anything is begun: a file that is there
    require_tag_ahead(plan, tag, matrix.absolute().parent, may_lack=True)  # and a tag that could be released
    with tempfile.TemporaryDirectory(prefix="rocmatrix-workflow-") as name:
        scratch = Path(name)
        source = f"{kernel.repo_id.partition('/')[0]}/{matrix.absolute().parent.name}"
        stage = set_stage(workflow, scratch / "run", tag=tag, name=source)
        require_triggered(read_input(stage.committed(workflow)), str(workflow), tag)
        if changed := stage.changed():
            emit(
                Notice(level="warning", message=f"the commit is rehearsed, without what is not in it: {_some(changed)}")
            )
        plan = load_plan(stage.committed(matrix), toolchain=None)
        kernel = _only_kernel(plan, matrix)
        with trusting_hub(kernel.repo_id, scratch / "hub", source=source) as hub:
            errand = stage.errand(event="push", payload=push_of(tag), variables=hub_variables(hub))
            run = run_act(errand, lambda job: emit(_notice(job)))
            ran = run.exit_code == 0 and any(not job.result.startswith(NOT_RUN) for job in run.jobs)
            published = ran and _is_published(hub, kernel, tag)
            if ran and not published:
                said = f"no job published {tag} of {kernel.repo_id}: there is nothing for its users"
                emit(Notice(level="warning", message=said))
            users = ask_users(plan, hub.endpoint, tag) if published else ()
    return WorkflowRehearsal(run=run, users=users, wanted=promised(plan))


def _only_kernel(plan: Plan, matrix: Path) -> PlannedKernel:
    if len(plan.kernels) != 1:
        fix = "Name a matrix of one kernel."
        raise InputError("one kernel at a time is rehearsed by its workflow", where=str(matrix), fix=fix)
    return plan.kernels[0]


def push_of(tag: str) -> dict[str, object]:
    """Return the event of a push of a tag, as far as workflows look at it."""
    return {"ref": f"refs/tags/{tag}", "repository": {"default_branch": "main"}}


def hub_variables(hub: TrustingHub) -> dict[str, str]:
    """Return the variables of every step: where the Hub is, and who the job is."""
    return {"HF_ENDPOINT": hub.endpoint, "HF_OIDC_ID_TOKEN": hub.identity_token}


def promised(plan: Plan) -> dict[str, str]:
    """Return torch and ROCm of each served cell -> the variant that serves it."""
    served = [cell for cell in plan.cells if cell.state is CellState.SERVED and cell.unit is not None]
    return {f"torch{cell.torch}-rocm{cell.rocm}": plan.unit(cell.unit).variant for cell in served if cell.unit}


def _is_published(hub: TrustingHub, kernel: PlannedKernel, tag: str) -> bool:
    """Return whether a Hub has the tag of a release, which is made last."""
    from huggingface_hub import HfApi  # noqa: PLC0415 - a heavy client

    found = HfApi(endpoint=hub.endpoint, token=False).list_repo_refs(kernel.repo_id, repo_type="kernel")
    return tag in [each.name for each in found.tags]


def ask_users(plan: Plan, endpoint: str, tag: str) -> tuple[Got, ...]:
    """Let the real client download the only kernel of a plan on every machine that is promised a variant."""
    machines = [Pair(torch=cell.torch, rocm=cell.rocm) for cell in plan.cells if cell.state is CellState.SERVED]
    kernel, preliminary = plan.kernels[0], "-" in tag.rpartition("v")[2]
    published = Published(
        endpoint=endpoint,
        repository=kernel.repo_id,
        version=None if preliminary else kernel.version,
        revision=tag if preliminary else None,
    )
    return ask_client(published, machines)


def _some(paths: Sequence[str]) -> str:
    rest = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _notice(job: JobRun) -> Notice:
    return Notice(level="info" if job.result == "success" else "warning", message=f"{job.name}: {job.result}")
