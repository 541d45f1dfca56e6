"""What an engine is: it runs one command at a time, isolated from the user's machine as far as it can.

Promise 5 of the design: a build sees no network, no token, no home, and no write access to its sources in a container;
on the host it gets a scrubbed environment, a temporary home and copied sources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rocmatrix.records import Isolation


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command to run.

    Attributes:
        argv: program and arguments; never a shell line.
        cwd: folder to run in.
        environment: variables on top of the engine's scrubbed ones.
        timeout: seconds after which the command is killed with all that it started.
        writable: folders that the command may write to, ``cwd`` included if it is to be.
        on_line: takes each line of the output, without its end, as soon as it is complete; called from the thread that
            runs the command.
    """

    argv: tuple[str, ...]
    cwd: Path
    timeout: float
    environment: dict[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    on_line: Callable[[str], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Completed:
    """How a command ended.

    Attributes:
        returncode: exit status; negative is the signal that ended it; ``None`` if it ran past its time.
        output: standard output and error together, in order, decoded with replacement characters.
        seconds: wall time.
    """

    returncode: int | None
    output: str
    seconds: float


class Engine(Protocol):
    """Runs commands."""

    @property
    def name(self) -> str:
        """``host`` or ``docker``."""

    @property
    def isolation(self) -> Isolation:
        """What records say of commands that ran here."""

    def run(self, command: Command) -> Completed:
        """Run a command to its end and return how it ended; a failing command is not an exception.

        Raises:
            MissingRequirementError: the program or the engine is not there.
        """

    def interrupt(self) -> None:
        """Kill every command that runs, and each that is started later; called from another thread than ``run``."""
