"""The end of a run: what became of every promise, how big and which bytes, how tested, where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from rocmatrix.errors import ExitCode
from rocmatrix.events import State
from rocmatrix.plan.model import CellState, Unit, UnitId
from rocmatrix.records import BuildRecord, Finding, Outcome, Severity, Tested
from rocmatrix.report.board import Board
from rocmatrix.report.grid import BROKEN, grid, legend, letters
from rocmatrix.report.lines import quoted
from rocmatrix.report.plan_view import title
from rocmatrix.report.text import count, duration, one_line, size
from rocmatrix.report.unit_table import stage_reasons, unit_table
from rocmatrix.store import Store

if TYPE_CHECKING:
    from rocmatrix.pipeline import Options, RunResult

MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.ENVIRONMENT: "this machine lacks something that a unit needs",
    ExitCode.BUILD: "a unit did not build",
    ExitCode.AUDIT: "a binary is not what it promises to be",
    ExitCode.CHECK: "a kernel computes wrong numbers, or its cases cannot be run",
    ExitCode.BENCH: "a benchmark gate did not hold",
}
"""What the exit codes of a finished run say."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a summary is about: the command, what it was asked, what came out, and how it went."""

    command: str
    options: Options
    result: RunResult
    board: Board

    @property
    def broken(self) -> frozenset[UnitId]:
        """Units that failed in any stage, now or by their records."""
        result = self.result
        by_record = {
            record.unit
            for records in (result.builds, result.audits, result.checks)
            for record in records.values()
            if record.outcome is Outcome.FAILED
        }
        return frozenset(by_record | {unit for unit, _ in self.board.failures})


def summarize(subject: Subject, console: Console, *, explain: bool = False, brief: bool = False) -> None:
    """Print the summary of a finished command.

    Args:
        subject: what it is about.
        console: where to print.
        explain: whether to say why each unit was done or reused.
        brief: failures and the last line only.
    """
    if not brief:
        if subject.board.rows:
            width = console.width
            console.print(unit_table(subject.board, now=subject.result.seconds, width=width))
            console.print()
        if explain:
            _explain(subject, console)
        _kernels(subject, console)
    _failures(subject, console)
    _findings(subject, console)
    if not brief:
        _places(subject, console)
    _last_line(subject, console)


def _explain(subject: Subject, console: Console) -> None:
    for unit, stage, view in stage_reasons(subject.board):
        state = view.state.value if view.state else "not finished"
        console.print(Text(f"{stage.value:<7} {state:<8}  {one_line(unit)}: {one_line(view.reason)}"))
    console.print()


def _kernels(subject: Subject, console: Console) -> None:
    plan = subject.result.plan
    for kernel in plan.kernels:
        units = [unit for unit in plan.units if unit.kernel == kernel.name]
        console.print(title(kernel))
        console.print(grid(plan, kernel.name, broken=subject.broken))
        console.print()
        selected = {unit.id for unit in subject.result.units}
        for unit, letter in zip(units, letters(units).values(), strict=True):
            if unit.id in selected:
                _unit(subject, unit, letter, console)
        for line in legend(plan, kernel.name):
            console.print(line)
        if any(unit.id in subject.broken for unit in units):
            console.print(Text(f"  {BROKEN}  failed: users of these cells get nothing", style="bold red"))
        console.print()


def _unit(subject: Subject, unit: Unit, letter: str, console: Console) -> None:
    style = "bold red" if unit.id in subject.broken else "bold green"
    console.print(Text.assemble((f"  {letter:<2} ", style), one_line(unit.id)))
    if record := subject.result.builds.get(unit.id):
        for line in _bytes(record):
            console.print(Text(f"     {line}"), soft_wrap=True)
    if checked := subject.result.checks.get(unit.id):
        untested = checked.tested is Tested.UNTESTED
        passed = sum(case.passed for case in checked.cases)
        how = (
            "untested"
            if untested
            else f"{passed} of {count(len(checked.cases), 'case')} passed, {checked.tested.value}"
        )
        console.print(Text(f"     {how}: {one_line(checked.reason)}", style="yellow" if untested else ""))


def _bytes(record: BuildRecord) -> list[str]:
    if record.artifact_digest is None:
        return []
    compilers = record.toolchain.description if record.toolchain else "no compiler"
    total = sum(file.size for file in record.files)
    lines = [one_line(f"{compilers}, isolation: {record.isolation.value}")]
    for file in record.files:
        if file.path.endswith(".so"):
            lines += [f"{one_line(file.path)}  {size(file.size)}", f"  {file.digest}"]
    return [*lines, f"payload, {count(len(record.files), 'file')}  {size(total)}", f"  {record.artifact_digest}"]


def _failures(subject: Subject, console: Console) -> None:
    for unit, view in subject.board.failures:
        console.print(Text(f"{one_line(unit)}: {view.stage.value} failed: {one_line(view.reason)}", style="bold red"))
        for line in quoted(view.error or ""):
            console.print(Text(line), soft_wrap=True)
        if view.log:
            console.print(Text(f"  log: {one_line(view.log)}"), soft_wrap=True)
        console.print()


def _findings(subject: Subject, console: Console) -> None:
    for unit, record in subject.result.audits.items():
        for finding in record.findings:
            _finding(unit, finding, console)


def _finding(unit: UnitId, finding: Finding, console: Console) -> None:
    style = "bold red" if finding.severity is Severity.ERROR else "yellow"
    head = Text.assemble((f"{finding.severity.value}[{one_line(finding.rule)}]", style), f": {one_line(finding.what)}")
    console.print(head, soft_wrap=True)
    for name, value in (("in", f"{unit}: {finding.where}"), ("fix", finding.fix), ("source", finding.source)):
        console.print(Text(f"  {name + ':':<7} {one_line(value)}"), soft_wrap=True)
    console.print()


def _places(subject: Subject, console: Console) -> None:
    store = Store(subject.options.out)
    places: list[tuple[Path, str]] = [(store.plan_path, "the plan")]
    if subject.result.units:
        first = subject.result.units[0].id
        places.append((store.unit_folder(first).parent, "payload, records and log of each unit"))
    places += [(store.variants_folder(kernel), f"{kernel}: what goes to the Hub") for kernel in subject.result.coverage]
    places += [
        (store.kernel_folder(kernel) / "coverage.json", "how each cell reaches its users, and how it was tested")
        for kernel in subject.result.coverage
    ]
    for path, what in places:
        if path.exists():
            console.print(Text(f"{_short(path)}  {one_line(what)}"), soft_wrap=True)


def _last_line(subject: Subject, console: Console) -> None:
    result = subject.result
    served = [cell for cell in result.plan.cells if cell.state is CellState.SERVED and cell.unit not in subject.broken]
    promised = [cell for cell in result.plan.cells if cell.state is not CellState.EXCLUDED]
    ends = [view.state for row in subject.board.rows.values() for view in row.stages.values()]
    parts = [f"{len(served)} of {count(len(promised), 'promised cell')} served"]
    parts += [f"{ends.count(state)} {state.value}" for state in (State.DONE, State.REUSED) if state in ends]
    if subject.broken:
        parts.append(f"{count(len(subject.broken), 'unit')} failed")
    if subject.board.received:
        parts.append(f"{size(subject.board.received)} fetched")
    parts.append(duration(result.seconds))
    code = result.exit_code
    style = "bold green" if code is ExitCode.DONE else "bold red"
    ended = "done" if code is ExitCode.DONE else f"exit code {int(code)}: {MEANINGS.get(code, code.name.lower())}"
    console.print(Text(f"{subject.command}: {', '.join(parts)}; {ended}", style=style), soft_wrap=True)


def _short(path: Path) -> str:
    here = Path.cwd()
    return one_line(str(path.relative_to(here) if path.is_relative_to(here) else path))
