"""What the rehearsal of a workflow came to, for people and as a document."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from rocmatrix.release.users import Got
from rocmatrix.report.text import count, duration, encodable, one_line
from rocmatrix.workflows.act import NOT_RUN, JobRun
from rocmatrix.workflows.rehearsal import WorkflowRehearsal

_LINES = 40
"""Of what a failed job printed last."""


@dataclass(frozen=True, kw_only=True)
class WorkflowDocument:
    """What ``rocmatrix rehearse --workflow --json`` prints; seconds are wall time."""

    passed: bool
    seconds: float
    ended: str
    jobs: tuple[JobRun, ...]
    users: tuple[Got, ...]
    wanted: dict[str, str]


def workflow_document(rehearsal: WorkflowRehearsal) -> WorkflowDocument:
    """Return the document."""
    run = rehearsal.run
    jobs = tuple(JobRun(id=encodable(job.id), name=encodable(job.name), result=job.result) for job in run.jobs)
    return WorkflowDocument(
        passed=rehearsal.passed,
        seconds=run.seconds,
        ended=run.ended,
        jobs=jobs,
        users=rehearsal.users,
        wanted=dict(rehearsal.wanted),
    )


def show_workflow(rehearsal: WorkflowRehearsal, console: Console) -> None:
    """Print the jobs, the last lines of those that failed, and what every user got."""
    run = rehearsal.run
    for job in run.jobs:
        if job.result != "success":
            console.print(f"{one_line(job.name)}: {job.result}", style="bold red")
            for line in run.log.get(job.name, ())[-_LINES:]:
                console.print(f"  | {one_line(line)}", soft_wrap=True)
    if not run.jobs:
        for line in run.log.get("act", ())[-_LINES:]:
            console.print(f"  | {one_line(line)}", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for heading in ("job", "result"):
        table.add_column(heading)
    for job in run.jobs:
        table.add_row(one_line(job.name), job.result)
    console.print(table)
    right = 0
    for got in rehearsal.users:
        wanted = rehearsal.wanted[f"torch{got.torch}-rocm{got.rocm}"]
        right += got.variant == wanted
        verdict = "as planned" if got.variant == wanted else f"planned: {wanted}"
        said = one_line(got.variant or got.error or "nothing")
        console.print(f"torch {got.torch}, ROCm {got.rocm}: the client downloads {said}, {verdict}", soft_wrap=True)
    ended = f"; {run.ended}" if run.ended else ""
    ran = [job for job in run.jobs if not job.result.startswith(NOT_RUN)]
    console.print(
        f"rehearsed in {duration(run.seconds)}: {count(len(ran), 'job')}, "
        f"{right} of {count(len(rehearsal.wanted), 'promised machine')} get theirs{ended}; "
        f"{'passed' if rehearsal.passed else 'failed'}",
        soft_wrap=True,
    )
