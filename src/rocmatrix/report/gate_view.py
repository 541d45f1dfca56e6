"""What the gate of a workflow says: for people, as annotations, and on the page of the run."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from rocmatrix.errors import ExitCode
from rocmatrix.gating import Judgement
from rocmatrix.plain_text import escaped
from rocmatrix.report.text import count, one_line
from rocmatrix.report.workflow_commands import error_annotation


def show_gate(judgement: Judgement, console: Console) -> None:
    """Print a row for each job, every objection, and whether the run may look green."""
    table = Table(box=None, pad_edge=False)
    for heading in ("job", "expected", "result", ""):
        table.add_column(heading)
    for verdict in judgement.verdicts:
        mark = "wrong" if verdict.objection else ""
        table.add_row(one_line(verdict.job), verdict.expected, verdict.result or "not there", mark)
    console.print(table)
    for objection in judgement.objections:
        console.print(f"objection: {one_line(objection)}", soft_wrap=True)
    console.print(f"gate: {_last_line(judgement)}", soft_wrap=True)


def gate_annotations(judgement: Judgement) -> list[str]:
    """Return one workflow command for each objection."""
    return [error_annotation(objection, title="gate") for objection in judgement.objections]


def append_gate_summary(judgement: Judgement, path: Path) -> None:
    """Add the judgement to the summary of a step.

    Raises:
        OSError: the file cannot be written.
    """
    lines = [f"## gate: {escaped(_last_line(judgement))}", "", "| job | expected | result |", "| --- | --- | --- |"]
    for verdict in judgement.verdicts:
        result = f"{verdict.result or 'not there'}{' **wrong**' if verdict.objection else ''}"
        lines.append(f"| {escaped(verdict.job)} | {verdict.expected} | {result} |")
    lines += ["", *(f"- {escaped(objection)}" for objection in judgement.objections), ""]
    with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write("\n".join(lines))


def _last_line(judgement: Judgement) -> str:
    if judgement.exit_code is ExitCode.DONE:
        units = count(judgement.planned or 0, "unit")
        return f"{judgement.mode}: every job did what the plan of {units} asks"
    return f"{judgement.mode}: {count(len(judgement.objections), 'objection')}; exit code {int(judgement.exit_code)}"
