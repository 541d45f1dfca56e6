"""The table of units and their stages: live while a run is on, and once more in its summary."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from rocmatrix.events import Stage, State
from rocmatrix.report.board import Board, Row, StageView
from rocmatrix.report.text import clock, one_line

_STYLES = {
    State.DONE: "green",
    State.REUSED: "cyan",
    State.FAILED: "bold red",
    State.UNTESTED: "yellow",
    State.SKIPPED: "dim",
}
_WIDTH = len(State.SKIPPED)
_WIDTHS = {Stage.CHECK: len(State.UNTESTED)}
"""Columns of a stage: its longest state, so that a narrow terminal cuts unit ids and never states."""
_UNIT = 45
"""Columns of usual unit ids."""
_REASON = 24
"""Columns that a reason needs to say anything; a terminal with fewer to spare shows none."""
_SHORTEST = 16
"""Columns that the line about hidden units needs."""


def unit_table(board: Board, *, now: float, width: int, rows: int | None = None) -> Table:
    """Return the table of a board's units.

    Args:
        board: what is known.
        now: seconds on the board's clock.
        width: columns of the terminal; if there is room for it, there is a column for the reason.
        rows: units to show at most; those that failed or are at work come first. ``None`` shows all.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    widths = [_WIDTHS.get(stage, _WIDTH) for stage in board.stages]
    left, reason = _left(board, width), has_reasons(board, width)
    longest = max((len(one_line(unit)) for unit in board.rows), default=0)
    unit_width = max(len("unit"), min(max(longest, _SHORTEST), left - _REASON - 1 if reason else left))
    table.add_column("unit", no_wrap=True, overflow="ellipsis", width=unit_width)
    for stage, stage_width in zip(board.stages, widths, strict=True):
        table.add_column(stage.value, no_wrap=True, width=stage_width)
    table.add_column("time", justify="right", no_wrap=True, width=_WIDTH)
    if reason:
        table.add_column("why", no_wrap=True, overflow="ellipsis", width=left - unit_width - 1)
    shown = _most_interesting(board, rows)
    for row in shown:
        table.add_row(*_cells(row, board, now, reason=reason))
    if hidden := len(board.rows) - len(shown):
        table.add_row(Text(f"and {hidden} more", style="dim"))
    return table


def has_reasons(board: Board, width: int) -> bool:
    """Return whether the table of a board has a column for reasons in a terminal of so many columns."""
    return _left(board, width) >= _UNIT + _REASON


def now_doing(row: Row) -> str:
    """Return one line about a unit: the first failure, the step that was done last, or why it is built or reused."""
    view = row.failure or row.active or row.first
    if view is None:
        return ""
    return one_line(f"done: {view.step}" if view.state is None and view.step else view.reason)


def _left(board: Board, width: int) -> int:
    """Return the columns that stages and time leave for the unit and the reason."""
    stages = [_WIDTHS.get(stage, _WIDTH) + 1 for stage in board.stages]
    return width - sum(stages) - _WIDTH - 1


def _cells(row: Row, board: Board, now: float, *, reason: bool) -> list[Text]:
    stages = [_stage(row.stages.get(stage)) for stage in board.stages]
    time = Text(clock(row.seconds(now)) if row.stages else "", style="dim")
    cells = [Text(one_line(row.unit)), *stages, time]
    return [*cells, Text(now_doing(row))] if reason else cells


def _stage(view: StageView | None) -> Text:
    if view is None:
        return Text("-", style="dim")
    if view.state is None:
        return Text(f"{view.done}/{view.total}" if view.total else "working", style="bold")
    return Text(view.state.value, style=_STYLES[view.state])


def _most_interesting(board: Board, rows: int | None) -> list[Row]:
    """Return the rows to show, in the plan's order, and leave one line for saying how many are not."""
    everything = list(board.rows.values())
    if rows is None or len(everything) <= rows:
        return everything
    kept = sorted(everything, key=lambda row: _rank(row, board))[: max(0, rows - 1)]
    chosen = {row.unit for row in kept}
    return [row for row in everything if row.unit in chosen]


def _rank(row: Row, board: Board) -> int:
    if row.active:
        return 0
    if row.failure:
        return 1
    return 3 if board.settled(row) else 2


def stage_reasons(board: Board) -> list[tuple[str, Stage, StageView]]:
    """Return every stage of every unit that has a reason, for ``--explain``."""
    return [(row.unit, stage, view) for row in board.rows.values() for stage, view in row.stages.items() if view.reason]
