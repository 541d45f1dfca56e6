"""The live table: every unit with its stages while a run is on, on an interactive terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from rocmatrix.events import Event, Notice, UnitProgress
from rocmatrix.report.board import Board, Row
from rocmatrix.report.lines import describe, quoted
from rocmatrix.report.reporter import BoardKeeper, Verbosity
from rocmatrix.report.text import count, duration, one_line, size
from rocmatrix.report.unit_table import unit_table

_PER_SECOND = 8
_ERROR_LINES = 8
"""Lines of the newest failure that are shown while the run goes on; the summary has all of them."""
_TRANSFERS = 3
_FOOT = 2
"""The line of totals and the empty line above it."""


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
            return Frame(self.board, self.now, self._console.height)


class Frame:
    """One picture of a board: the table, what is at work, downloads, the newest error and the totals."""

    def __init__(self, board: Board, now: float, height: int) -> None:
        """Picture a board as it is at ``now`` in at most ``height`` lines."""
        self._board = board
        self._now = now
        self._height = height

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw."""
        below = [*self._error_lines(), *self._transfer_lines()]
        below = [Text(""), *below] if below else []
        room = max(1, self._height - len(below) - _FOOT - 3)
        for line in (*below, totals := Text(self._totals(), style="bold")):
            line.no_wrap, line.overflow = True, "ellipsis"
        table = unit_table(self._board, now=self._now, width=options.max_width, rows=room)
        yield Group(table, *below, Text(""), totals)

    def _error_lines(self) -> list[Text]:
        if not self._board.failures:
            return []
        unit, view = self._board.failures[-1]
        lines = quoted(view.error or view.reason)
        cut = len(lines) - _ERROR_LINES
        more = [f"  | … {count(cut, 'more line')}"] if cut > 0 else []
        head = Text(f"{one_line(unit)}: {view.stage} failed", style="red")
        return [head, *(Text(line) for line in lines[:_ERROR_LINES] + more)]

    def _transfer_lines(self) -> list[Text]:
        running = [transfer for transfer in self._board.transfers.values() if transfer.received != transfer.total]
        return [
            Text(f"fetching {one_line(transfer.what)}: {size(transfer.received)}{_of(transfer.total)}")
            for transfer in running[-_TRANSFERS:]
        ]

    def _totals(self) -> str:
        board = self._board
        rows: list[Row] = list(board.rows.values())
        settled = sum(board.settled(row) for row in rows)
        parts = [f"{settled} of {count(len(rows), 'unit')}"]
        if failed := len(board.failures):
            parts.append(f"{failed} failed")
        if board.received:
            parts.append(f"{size(board.received)} fetched")
        return ", ".join([*parts, duration(self._now)])


def _of(total: int | None) -> str:
    return f" of {size(total)}" if total is not None else ""
