"""Plain lines for logs: one per change, the same words in the same places, so that ``grep`` finds them.

::

    build  started   gemm.torch-stable-abi210-rocm72-x86_64-linux  not done before
    build  failed    gemm.torch-stable-abi210-rocm72-x86_64-linux  3.1 s  src/gemm.hip:7:2: error: unknown type name
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console

from rocmatrix.events import (
    Event,
    Notice,
    RunStarted,
    State,
    Transfer,
    UnitFinished,
    UnitProgress,
    UnitStarted,
)
from rocmatrix.report.reporter import BoardKeeper, Verbosity
from rocmatrix.report.text import count, duration, one_line, size, visible
from rocmatrix.report.workflow_commands import guarded, in_actions

_ALWAYS_SAID = (State.FAILED,)


class LineReporter(BoardKeeper):
    """Writes one line per change; a failure's error follows its line at once, in one piece."""

    def __init__(self, console: Console, verbosity: Verbosity) -> None:
        """Write to a console, as much as the verbosity allows."""
        super().__init__()
        self._console = console
        self._verbosity = verbosity
        self._in_actions = in_actions()

    def __enter__(self) -> Self:
        """Nothing to start."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put back."""

    def emit(self, event: Event) -> None:
        """Fold the event into the board and write the line that it is worth, if any."""
        with self.lock:
            news = self._is_news(event)
            self.board.take(event, self.now)
            if news:
                self._write(describe(event))

    def _is_news(self, event: Event) -> bool:
        match event:
            case UnitFinished():
                loud = event.state in _ALWAYS_SAID
            case Notice():
                loud = event.level == "warning"
            case UnitProgress():
                return self._verbosity is Verbosity.VERBOSE
            case Transfer():
                known, ended = event.what in self.board.transfers, event.received == event.total
                return self._verbosity > Verbosity.QUIET and (ended or not known)
            case RunStarted():
                loud = False
                if not event.stages:
                    return False
            case UnitStarted():
                loud = False
        return loud or self._verbosity > Verbosity.QUIET

    def _write(self, text: str) -> None:
        safe = guarded(text) if self._in_actions else text
        self._console.print(safe, soft_wrap=True)


def describe(event: Event) -> str:
    """Return the line for an event; that of a failure has its error below it, each line behind a bar."""
    match event:
        case RunStarted():
            return f"{count(len(event.units), 'unit')} to {', '.join(event.stages)}"
        case UnitStarted():
            return _line(event.stage, "started", event.unit, event.reason)
        case UnitProgress():
            return _line(event.stage, f"{event.done}/{event.total}", event.unit, event.step)
        case UnitFinished():
            line = _line(event.stage, event.state, event.unit, duration(event.seconds), event.reason)
            return "\n".join([line, *quoted(event.error or "")])
        case Transfer():
            state = "done" if event.received == event.total else "started"
            return _line("fetch", state, event.what, size(event.total) if event.total is not None else "size unknown")
        case Notice():
            where = f"{one_line(event.where)}: " if event.where else ""
            return f"{'note' if event.level == 'info' else event.level}: {where}{one_line(event.message)}"


def quoted(error: str) -> list[str]:
    """Return the lines of a tool's own words, each behind a bar."""
    return [f"  | {line}" for line in visible(error).rstrip("\n").split("\n")] if error else []


def _line(stage: str, state: str, *rest: str) -> str:
    return "  ".join([f"{stage:<7} {state:<8}", *map(one_line, rest)]).rstrip()
