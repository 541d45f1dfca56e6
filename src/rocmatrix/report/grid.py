"""The grid of promises: torch x ROCm, each cell with the letter of the unit that serves it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from rocmatrix.plan.model import Cell, CellState, Evidence, Plan, Unit, UnitId
from rocmatrix.plan.version import display_key
from rocmatrix.report.text import count, one_line

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
REFUSED = "·"
EXCLUDED = "x"
UNVERIFIED = "?"
BROKEN = "!"

_CORNER = "torch \\ ROCm"
_GAP = 2
"""Columns between two columns."""


@dataclass(frozen=True, kw_only=True)
class Unserved:
    """Cells of one kernel that are not served for the same reason.

    Attributes:
        state: ``refused`` or ``excluded``.
        code: the reason's code.
        reason: its sentence; that of the first cell where each has its own.
        cells: which they are.
        alike: whether the sentence is that of every cell.
    """

    state: CellState
    code: str
    reason: str
    cells: tuple[Cell, ...]
    alike: bool


def letters(units: Iterable[Unit]) -> dict[UnitId, str]:
    """Return a short name for each unit: ``A`` to ``Z``, then ``AA``, ``AB`` and so on."""
    return {unit.id: _letter(index) for index, unit in enumerate(units)}


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Torch x ROCm with a mark for each cell; where the window is too narrow for all ROCms, in bands one below another.

    Attributes:
        torches: the rows, lowest first.
        rocms: the columns, lowest first.
        marks: by row, one for each column.
    """

    torches: tuple[str, ...]
    rocms: tuple[str, ...]
    marks: tuple[tuple[Text, ...], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one table for each band of columns that fits."""
        widths = [max(len(rocm), *(row[n].cell_len for row in self.marks)) + _GAP for n, rocm in enumerate(self.rocms)]
        first = max(map(len, (_CORNER, *self.torches))) + _GAP
        begin = 0
        while begin < len(widths):
            end = begin + 1
            while end < len(widths) and first + sum(widths[begin : end + 1]) <= options.max_width + _GAP:
                end += 1
            if begin:
                yield Text("")
            yield self._band(begin, end)
            begin = end

    def _band(self, begin: int, end: int) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        table.add_column(_CORNER, no_wrap=True, style="bold")
        for rocm in self.rocms[begin:end]:
            table.add_column(rocm, no_wrap=True)
        for torch, row in zip(self.torches, self.marks, strict=True):
            table.add_row(Text(torch), *row[begin:end])
        return table


def grid(plan: Plan, kernel: str, *, broken: AbstractSet[UnitId] = frozenset()) -> Grid:
    """Return the grid of one kernel.

    Args:
        plan: the plan.
        kernel: name of the kernel.
        broken: units that failed; their cells are marked, since nobody can load them.
    """
    cells = {(cell.torch, cell.rocm): cell for cell in plan.cells if cell.kernel == kernel}
    names = letters(unit for unit in plan.units if unit.kernel == kernel)
    rocms = sorted({rocm for _, rocm in cells}, key=display_key)
    torches = sorted({torch for torch, _ in cells}, key=display_key)
    marks = (tuple(_mark(cells.get((torch, rocm)), names, broken) for rocm in rocms) for torch in torches)
    return Grid(torches=tuple(torches), rocms=tuple(rocms), marks=tuple(marks))


def unserved(plan: Plan, kernel: str) -> tuple[Unserved, ...]:
    """Return the cells that are not served, grouped by reason: refused by code, excluded by the author's own words."""
    groups: dict[tuple[CellState, str, str], list[Cell]] = {}
    for cell in plan.cells:
        if cell.kernel == kernel and cell.state is not CellState.SERVED:
            code = cell.reason_code.value if cell.reason_code else cell.state.value
            own_words = cell.reason if cell.state is CellState.EXCLUDED else ""
            groups.setdefault((cell.state, code, own_words), []).append(cell)
    return tuple(
        Unserved(
            state=state,
            code=code,
            reason=cells[0].reason,
            cells=tuple(cells),
            alike=len({cell.reason for cell in cells}) == 1,
        )
        for (state, code, _), cells in groups.items()
    )


def pairs(cells: Iterable[Cell]) -> str:
    """Return cells as people say them: ``torch 2.10 on ROCm 7.2, 7.14; torch 2.11 on ROCm 7.0``."""
    by_torch: dict[str, list[str]] = {}
    for cell in cells:
        by_torch.setdefault(cell.torch, []).append(cell.rocm)
    return "; ".join(
        f"torch {torch} on ROCm {', '.join(sorted(rocms, key=display_key))}"
        for torch, rocms in sorted(by_torch.items(), key=lambda item: display_key(item[0]))
    )


def legend(plan: Plan, kernel: str) -> Table:
    """Return what the marks of a grid mean, with the reasons of the cells that are not served."""
    table = hanging()
    for group in unserved(plan, kernel):
        mark = REFUSED if group.state is CellState.REFUSED else EXCLUDED
        why = group.state.value if group.code == group.state.value else f"{group.state.value}, {group.code}"
        example = "" if group.alike else "e.g. "
        said = f" ({count(len(group.cells), 'cell')}): {example}{one_line(group.reason)}"
        table.add_row("", Text(mark, style="bold"), Text.assemble((why, "yellow"), said))
        table.add_row("", "", Text(one_line(pairs(group.cells)), style="dim"))
    unverified = [cell for cell in _served(plan, kernel) if cell.evidence is Evidence.UNVERIFIED]
    if unverified:
        said = f"unverified ({count(len(unverified), 'cell')}): nobody has seen this pair published"
        table.add_row("", Text(UNVERIFIED, style="bold"), Text(said, style="yellow"))
    return table


def hanging() -> Table:
    """Return an empty table of marks and texts, in which a long text goes on below itself and not below its mark."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=1)
    table.add_column(min_width=2, no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _served(plan: Plan, kernel: str) -> list[Cell]:
    return [cell for cell in plan.cells if cell.kernel == kernel and cell.state is CellState.SERVED]


def _mark(cell: Cell | None, names: dict[UnitId, str], broken: AbstractSet[UnitId]) -> Text:
    if cell is None:
        return Text("")
    if cell.state is CellState.EXCLUDED:
        return Text(f" {EXCLUDED}", style="dim")
    if cell.state is CellState.REFUSED or cell.unit is None:
        return Text(f" {REFUSED}", style="dim")
    doubt = UNVERIFIED if cell.evidence is Evidence.UNVERIFIED else ""
    if cell.unit in broken:
        return Text(f" {names[cell.unit]}{BROKEN}{doubt}", style="bold red")
    return Text(f" {names[cell.unit]}{doubt}", style="yellow" if doubt else "green")


def _letter(index: int) -> str:
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, len(_ALPHABET))
        name = _ALPHABET[rest] + name
    return name
