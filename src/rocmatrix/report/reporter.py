"""How a run is followed: a live table on a terminal, one plain line per change elsewhere.

A reporter is a context manager whose ``emit`` may be called from several threads. It keeps the board that summaries
are made from.
"""

from __future__ import annotations

import threading
import time
from enum import IntEnum
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console

from rocmatrix.events import Event
from rocmatrix.report.board import Board
from rocmatrix.report.workflow_commands import in_actions


class Verbosity(IntEnum):
    """How much is said while a run is on."""

    QUIET = 0
    """Failures and warnings only."""
    NORMAL = 1
    VERBOSE = 2
    """Every step of every unit too."""


class Reporter(Protocol):
    """Follows one run."""

    @property
    def board(self) -> Board:
        """What is known so far."""

    def emit(self, event: Event) -> None:
        """Take an event; safe to call from several threads."""

    def __enter__(self) -> Self:
        """Start to follow."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was found."""


class BoardKeeper:
    """The part that all reporters share: a board, a lock around it and the clock that times are taken from."""

    def __init__(self) -> None:
        """Start the clock."""
        self.board = Board()
        self.lock = threading.RLock()
        self.started = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started


def make_reporter(console: Console, verbosity: Verbosity) -> Reporter:
    """Return the reporter that suits a console: live on an interactive terminal unless it must be quiet.

    A job of GitHub Actions is followed in lines, also where what runs it (act) gives it a terminal.
    """
    from rocmatrix.report.lines import LineReporter  # noqa: PLC0415 - both modules import this one
    from rocmatrix.report.live import LiveReporter  # noqa: PLC0415

    if console.is_interactive and console.is_terminal and verbosity is not Verbosity.QUIET and not in_actions():
        return LiveReporter(console, verbosity)
    return LineReporter(console, verbosity)
