"""The summary of a run as Markdown, for the page of a GitHub Actions run (``$GITHUB_STEP_SUMMARY``)."""

from __future__ import annotations

import re
from pathlib import Path

from rocmatrix import atomic
from rocmatrix.errors import ExitCode
from rocmatrix.plain_text import escaped
from rocmatrix.plan.model import Cell, CellState, PlannedKernel, Unit
from rocmatrix.plan.version import display_key
from rocmatrix.records import Tested
from rocmatrix.report.grid import letters, pairs, unserved
from rocmatrix.report.subject import Subject
from rocmatrix.report.text import count, duration, size, visible

LIMIT = 1024 * 1024
"""Bytes that GitHub takes for one step; a longer summary is dropped as a whole.
https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands"""

_FENCE = re.compile(r"`{3,}")
_CUT = "\n\n(cut: the rest is in the log)\n"


def append_step_summary(subject: Subject, path: Path) -> None:
    """Add the summary to what earlier steps of the job wrote.

    Raises:
        OSError: the file cannot be written.
    """
    with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(markdown(subject))


def write_summary(subject: Subject, path: Path) -> None:
    """Write the summary as a file of its own, whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    atomic.write_file(path, markdown(subject).encode("utf-8", "backslashreplace"))


def markdown(subject: Subject) -> str:
    """Return the summary: grid, units with sizes and digests, what is not served and why, failures."""
    code = subject.result.exit_code
    ended = "done" if code is ExitCode.DONE else f"exit code {int(code)}"
    cells = ", ".join(f"{number} {fate}" for fate, number in subject.fates.items())
    lines = [f"## rocmatrix {subject.command}: {ended}", "", f"{cells}; {duration(subject.result.seconds)}", ""]
    for kernel in subject.result.plan.kernels:
        lines += [f"### {escaped(kernel.name)}", "", *_grid(subject, kernel), "", *_units(subject, kernel), ""]
        lines += [*_cells(subject, kernel), "", *_unserved(subject, kernel), ""]
    for unit, view in subject.board.failures:
        lines += [f"**{escaped(unit)}: {view.stage.value} failed**", "", *fenced(view.error or view.reason), ""]
    return _within_limit("\n".join([*lines, *_waived(subject)]))


def _waived(subject: Subject) -> list[str]:
    """Return a line for each finding of the audit that its author waived, with the reason."""
    lines = [
        f"- {escaped(unit)}, `{waived.finding.rule}`: {escaped(waived.finding.what)}; "
        f"{escaped(waived.reason)} ({escaped(waived.waiver)})"
        for unit, record in subject.result.audits.items()
        for waived in record.waived
    ]
    return ["**Waived in matrix.yaml**", "", *lines, ""] if lines else []


def fenced(text: str) -> list[str]:
    """Return a text as a code block that it cannot end itself."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return [fence, *visible(text).rstrip("\n").split("\n"), fence]


def _grid(subject: Subject, kernel: PlannedKernel) -> list[str]:
    plan = subject.result.plan
    cells = {(cell.torch, cell.rocm): cell for cell in plan.cells if cell.kernel == kernel.name}
    names = letters(unit for unit in plan.units if unit.kernel == kernel.name)
    rocms = sorted({rocm for _, rocm in cells}, key=display_key)

    def mark(cell: Cell | None) -> str:
        if cell is None:
            return ""
        if cell.unit is None:
            return "excluded" if cell.state is CellState.EXCLUDED else "refused"
        return f"{names[cell.unit]} failed" if cell.unit in subject.broken else names[cell.unit]

    lines = [_row("torch", *(f"ROCm {rocm}" for rocm in rocms)), _row(*["---"] * (len(rocms) + 1))]
    torches = sorted({torch for torch, _ in cells}, key=display_key)
    return [*lines, *(_row(torch, *(mark(cells.get((torch, rocm))) for rocm in rocms)) for torch in torches)]


def _units(subject: Subject, kernel: PlannedKernel) -> list[str]:
    names = letters(unit for unit in subject.result.plan.units if unit.kernel == kernel.name)
    lines = [_row("", "unit", "shared object", "sha256", "tested"), _row(*["---"] * 5)]
    for unit in subject.result.units:
        if unit.kernel == kernel.name:
            record = subject.result.builds.get(unit.id)
            objects = [file for file in record.files if file.path.endswith(".so")] if record else []
            sizes = " ".join(size(file.size) for file in objects)
            digests = " ".join(f"`{file.digest.removeprefix('sha256:')}`" for file in objects)
            lines.append(_row(names[unit.id], escaped(unit.id), sizes, digests, escaped(_tested(subject, unit))))
    return lines


def _cells(subject: Subject, kernel: PlannedKernel) -> list[str]:
    """Return a row for each cell: who serves it, how big that is, which bytes, and what has executed them."""
    plan = subject.result.plan
    names = letters(unit for unit in plan.units if unit.kernel == kernel.name)
    lines = [_row("cell", "unit", "state", "size", "sha256", "tested how"), _row(*["---"] * 6)]
    for cell in plan.cells:
        if cell.kernel != kernel.name:
            continue
        if cell.unit is None:
            lines.append(_row(escaped(cell.id), "", cell.state.value, "", "", ""))
            continue
        unit = plan.unit(cell.unit)
        collected, record = subject.collected(unit), subject.result.builds.get(unit.id)
        made = sum(file.size for file in record.files) if record else 0
        bytes_, digest = (collected.size, collected.artifact_digest) if collected else (made, None)
        if digest is None and record:
            digest = record.artifact_digest
        lines.append(
            _row(
                escaped(cell.id),
                names[unit.id],
                subject.fate(cell),
                size(bytes_) if digest else "",
                f"`{digest.removeprefix('sha256:')}`" if digest else "",
                escaped(_tested(subject, unit)),
            )
        )
    return lines


def _tested(subject: Subject, unit: Unit) -> str:
    record = subject.result.checks.get(unit.id)
    if record is None:
        return subject.tested(unit) or ""
    return f"{record.tested.value}: {record.reason}" if record.tested is Tested.UNTESTED else record.tested.value


def _unserved(subject: Subject, kernel: PlannedKernel) -> list[str]:
    return [
        f"- {group.state.value} ({count(len(group.cells), 'cell')}), {escaped(group.code)}: {escaped(group.reason)}; "
        f"{escaped(pairs(group.cells))}"
        for group in unserved(subject.result.plan, kernel.name)
    ]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _within_limit(text: str) -> str:
    whole = text.encode("utf-8", "backslashreplace")
    if len(whole) <= LIMIT:
        return text
    return whole[: LIMIT - len(_CUT)].decode("utf-8", "ignore") + _CUT
