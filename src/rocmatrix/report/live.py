"""The live table: every unit with its stages while a run is on, on an interactive terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from rocmatrix.events import Event, Notice, UnitProgress
from rocmatrix.report.board import Board
from rocmatrix.report.lines import describe, quoted
from rocmatrix.report.reporter import BoardKeeper, Verbosity
from rocmatrix.report.text import count, duration, one_line, size
from rocmatrix.report.unit_table import has_reasons, now_doing, unit_table

_PER_SECOND = 8
_ERROR_LINES = 8
"""Lines of the newest failure that are shown while the run goes on; the summary has all of them."""
_TRANSFERS = 3
_WORKING = 4
_AROUND = 4
"""Lines beside those of units: the head of the table, an empty one, the totals, and the one that the cursor is on."""


class LiveReporter(BoardKeeper):
    """Redraws the table a few times a second and removes it at the end, when the summary takes its place."""

    def __init__(self, console: Console, verbosity: Verbosity) -> None:
        """Draw on a console; with ``Verbosity.VERBOSE`` every step is also left as a line above the table."""
        super().__init__()
        self._console = console
        self._verbosity = verbosity
        self._live = Live(
            console=console,
            get_renderable=self._frame,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        """Start to draw."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the table and give the cursor back."""
        self._live.stop()

    def emit(self, event: Event) -> None:
        """Fold the event into the board; notices stay on the screen above the table."""
        with self.lock:
            self.board.take(event, self.now)
        if isinstance(event, Notice) or (isinstance(event, UnitProgress) and self._verbosity is Verbosity.VERBOSE):
            self._console.print(Text(describe(event), style="yellow" if isinstance(event, Notice) else "dim"))

    def _frame(self) -> RenderableType:
        with self.lock:
            return frame(self.board, now=self.now, width=self._console.width, height=self._console.height)


def frame(board: Board, *, now: float, width: int, height: int) -> Group:
    """Return a picture of a board: the table, the newest error, downloads and the totals.

    The picture is finished: what happens to the board while it is being drawn cannot disturb it.

    Args:
        board: what is known.
        now: seconds on the board's clock.
        width: columns of the terminal.
        height: lines of the terminal.
    """
    working = [] if has_reasons(board, width) else _working_lines(board)
    below = [*working, *_error_lines(board), *_transfer_lines(board)]
    below = [Text(""), *below] if below else []
    totals = Text(_totals(board, now), style="bold")
    for line in (*below, totals):
        line.no_wrap, line.overflow = True, "ellipsis"
    room = max(1, height - len(below) - _AROUND)
    return Group(unit_table(board, now=now, width=width, rows=room), *below, Text(""), totals)


def _working_lines(board: Board) -> list[Text]:
    """Return what the units at work are doing, for terminals that have no room for it in the table."""
    rows = [row for row in board.rows.values() if row.active]
    return [Text(f"{one_line(row.unit)}: {now_doing(row)}", style="dim") for row in rows[:_WORKING]]


def _error_lines(board: Board) -> list[Text]:
    if not board.failures:
        return []
    unit, view = board.failures[-1]
    lines = quoted(view.error or view.reason)
    cut = len(lines) - _ERROR_LINES
    more = [f"  | … {count(cut, 'more line')}"] if cut > 0 else []
    head = Text(f"{one_line(unit)}: {view.stage.value} failed", style="red")
    return [head, *(Text(line) for line in lines[:_ERROR_LINES] + more)]


def _transfer_lines(board: Board) -> list[Text]:
    running = [transfer for transfer in board.transfers.values() if transfer.received != transfer.total]
    return [
        Text(f"fetching {one_line(transfer.what)}: {size(transfer.received)}{_of(transfer.total)}")
        for transfer in running[-_TRANSFERS:]
    ]


def _totals(board: Board, now: float) -> str:
    settled = sum(board.settled(row) for row in board.rows.values())
    parts = [f"{settled} of {count(len(board.rows), 'unit')}"]
    if failed := len(board.failures):
        parts.append(f"{failed} failed")
    if board.received:
        parts.append(f"{size(board.received)} fetched")
    return ", ".join([*parts, duration(now)])


def _of(total: int | None) -> str:
    return f" of {size(total)}" if total is not None else ""
