"""The end of a run: what became of every promise, how big and which bytes, how tested, where it lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rocmatrix.errors import ExitCode
from rocmatrix.events import Stage, State
from rocmatrix.plan.model import PlannedKernel, Unit, UnitId
from rocmatrix.records import CheckRecord, Tested
from rocmatrix.report.audit_view import show_finding, show_waived
from rocmatrix.report.board import StageView
from rocmatrix.report.grid import BROKEN, grid, hanging, legend, letters
from rocmatrix.report.lines import quoted
from rocmatrix.report.plan_view import title
from rocmatrix.report.subject import NOT_COLLECTED, Subject
from rocmatrix.report.text import count, duration, one_line, size
from rocmatrix.report.unit_table import stage_reasons, unit_table
from rocmatrix.store import Store

MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.ENVIRONMENT: "this machine, or this version of rocmatrix, lacks something that a unit needs",
    ExitCode.BUILD: "a unit did not build",
    ExitCode.AUDIT: "a binary is not what it promises to be",
    ExitCode.CHECK: "a kernel computes wrong numbers, leaves its memory, or has cases that cannot be run",
    ExitCode.BENCH: "a benchmark gate did not hold",
}
"""What the exit codes of a finished run say."""

_DONE_WORDS = {Stage.BUILD: "built", Stage.AUDIT: "audited", Stage.CHECK: "checked", Stage.COLLECT: "collected"}


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
            console.print(unit_table(subject.board, now=subject.result.seconds, width=console.width))
            console.print()
        if explain:
            _explain(subject, console)
        for kernel in subject.result.plan.kernels:
            _kernel(subject, kernel, console)
    _failures(subject, console)
    for unit, record in subject.result.audits.items():
        for finding in record.findings:
            show_finding(replace(finding, where=f"{unit}: {finding.where}"), console)
        for waived in record.waived:
            show_waived(waived, console)
    if not brief:
        _places(subject, console)
    _last_line(subject, console)


def _explain(subject: Subject, console: Console) -> None:
    for unit, stage, view in stage_reasons(subject.board):
        state = view.state.value if view.state else "not finished"
        console.print(Text(f"{stage.value:<7} {state:<8}  {one_line(unit)}: {one_line(view.reason)}"), soft_wrap=True)
    console.print()


def _kernel(subject: Subject, kernel: PlannedKernel, console: Console) -> None:
    plan, broken = subject.result.plan, subject.broken
    names = letters(unit for unit in plan.units if unit.kernel == kernel.name)
    units = [unit for unit in subject.result.units if unit.kernel == kernel.name]
    console.print(title(kernel))
    console.print(grid(plan, kernel.name, broken=broken))
    console.print()
    first: dict[tuple[str, ...], str] = {}
    for unit in units:
        style = "bold red" if unit.id in broken else "bold green"
        failed = (" failed", "bold red") if unit.id in broken else ""
        console.print(Text.assemble((f"  {names[unit.id]:<2} ", style), one_line(unit.id), failed))
        lines = tuple(_bytes(subject, unit))
        same = first.setdefault(lines, names[unit.id])
        if lines and same != names[unit.id]:
            lines = (f"the same bytes as {same}",)
        for line in lines:
            console.print(Text(f"     {line}"), soft_wrap=True)
    table = legend(plan, kernel.name)
    if broken & set(names):
        table.add_row(
            "", Text(BROKEN, style="bold"), Text("failed: users of these cells get nothing", style="bold red")
        )
    console.print(table)
    console.print()
    _how(subject, units, names, console)


def _bytes(subject: Subject, unit: Unit) -> list[str]:
    """Return sizes and digests of a payload and its shared objects, as far as this command knows them."""
    record = subject.result.builds.get(unit.id)
    if record is None:
        collected = subject.collected(unit)
        return [f"collected  {size(collected.size)}", f"  {collected.artifact_digest}"] if collected else []
    if record.artifact_digest is None:
        return []
    lines = []
    for file in record.files:
        if file.path.endswith(".so"):
            lines += [f"{one_line(file.path)}  {size(file.size)}", f"  {file.digest}"]
    total = sum(file.size for file in record.files)
    return [*lines, f"payload, {count(len(record.files), 'file')}  {size(total)}", f"  {record.artifact_digest}"]


def _how(subject: Subject, units: list[Unit], names: dict[UnitId, str], console: Console) -> None:
    """Print which compiler made the units and how they were tested, units that agree together."""
    said: dict[tuple[str, str], list[str]] = {}
    for unit in units:
        build, check = subject.result.builds.get(unit.id), subject.result.checks.get(unit.id)
        if build and build.toolchain and build.artifact_digest:
            words = f"compiled by {build.toolchain.description}, isolation: {build.isolation.value}"
            said.setdefault((words, ""), []).append(names[unit.id])
        tested = _tested(check) if check else subject.tested(unit)
        if tested:
            style = "yellow" if tested.startswith(Tested.UNTESTED) else ""
            said.setdefault((tested, style), []).append(names[unit.id])
    table = hanging()
    for (words, style), who in said.items():
        table.add_row("", Text(" ".join(who), style="bold"), Text(one_line(words), style=style))
    if said:
        console.print(table)
        console.print()


def _tested(record: CheckRecord) -> str:
    if record.tested is Tested.UNTESTED:
        return f"untested: {record.reason}"
    passed = sum(case.passed for case in record.cases)
    return f"{passed} of {count(len(record.cases), 'case')} passed, {record.tested.value}: {record.reason}"


def _failures(subject: Subject, console: Console) -> None:
    """Print the errors of failed units in their tools' own words; units that failed alike together."""
    alike: dict[tuple[Stage, str], list[tuple[UnitId, StageView]]] = {}
    for unit, view in subject.board.failures:
        if view.stage is Stage.AUDIT and unit in subject.result.audits:
            continue  # its findings are printed next, with all that is known of them
        alike.setdefault((view.stage, view.error or view.reason), []).append((unit, view))
    for (stage, error), failed in alike.items():
        for unit, _ in failed:
            console.print(Text(f"{one_line(unit)}: {stage.value} failed", style="bold red"))
        for line in quoted(error):
            console.print(Text(line), soft_wrap=True)
        for log in filter(None, (view.log for _, view in failed)):
            console.print(Text(f"  log: {_short(Path(log))}"), soft_wrap=True)
        console.print()


def _places(subject: Subject, console: Console) -> None:
    store, collected = Store(subject.options.out), subject.result.coverage
    places: list[tuple[Path, str]] = [(store.plan_path, "the plan")]
    if subject.result.units:
        folder = store.unit_folder(subject.result.units[0].id).parent
        places.append((folder, "payload, records and log of each unit"))
    for kernel, coverage in collected.items():
        if coverage.variants:
            places.append((store.variants_folder(kernel), f"{kernel}: what goes to the Hub"))
        places.append(
            (store.kernel_folder(kernel) / "coverage.json", f"{kernel}: how each cell is served and was tested")
        )
    there = [(_short(path), what) for path, what in places if path.exists()]
    width = max((len(path) for path, _ in there), default=0)
    for path, what in there:
        console.print(Text(f"{path:<{width}}  {one_line(what)}"), soft_wrap=True)


def _last_line(subject: Subject, console: Console) -> None:
    result = subject.result
    cells = ", ".join(f"{number} {fate}" for fate, number in subject.fates.items())
    parts = [f"{count(len(result.plan.cells), 'cell')}: {cells}", *_work(subject)]
    if subject.board.received:
        parts.append(f"{size(subject.board.received)} fetched")
    parts.append(duration(result.seconds))
    ended, style = _ending(subject)
    console.print(Text(f"{subject.command}: {'; '.join(parts)}; {ended}", style=style), soft_wrap=True)


def _ending(subject: Subject) -> tuple[str, str]:
    """Return how the command ended, and in which style that is said."""
    code = subject.result.exit_code
    if code is not ExitCode.DONE:
        return f"exit code {int(code)}: {MEANINGS.get(code, code.name.lower())}", "bold red"
    if missing := subject.fates.get(NOT_COLLECTED):
        return f"done, but {count(missing, 'cell')} of the promise not collected", "bold yellow"
    return "done", "bold green"


def _work(subject: Subject) -> list[str]:
    """Return how many units the command's first stage did, reused and failed."""
    stage = next(iter(subject.board.expected), None)
    if stage is None:
        return []
    ends = [view.state for row in subject.board.rows.values() if (view := row.stages.get(stage))]
    words = {State.DONE: _DONE_WORDS[stage]}
    done = [f"{ends.count(state)} {words.get(state, state.value)}" for state in State if state in ends]
    return [f"{count(len(ends), 'unit')}: {', '.join(done)}"] if done else []


def _short(path: Path) -> str:
    here = Path.cwd()
    return one_line(str(path.relative_to(here) if path.is_relative_to(here) else path))
