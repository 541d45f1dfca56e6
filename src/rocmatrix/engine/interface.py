"""What an engine is: it runs one command at a time, isolated from the user's machine as far as it can.

Promise 5 of the design: a build sees no network, no token, no home, and no write access to its sources in a container;
on the host it gets a scrubbed environment, a temporary home and copied sources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rocmatrix.engine.paths import PathMap, Place
from rocmatrix.records import Isolation


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command to run.

    Paths in ``argv``, ``cwd`` and ``environment`` are those of this machine. An engine with a file system of its own
    brings the places there and translates the paths below them (``Engine.paths``); all other paths mean its own files.

    Attributes:
        argv: program and arguments; never a shell line.
        cwd: folder to run in.
        environment: variables on top of the engine's scrubbed ones.
        timeout: seconds after which the command is killed with all that it started.
        writable: folders that the command may write to, ``cwd`` included if it is to be.
        on_line: takes each line of the output, without its end, as soon as it is complete; called from the thread that
            runs the command.
        places: files and folders of this machine that the command uses; an engine on this machine needs none of them.
        room: what the command belongs to, e.g. a kernel's name: commands of one room share a container, and see what
            earlier ones left in writable places.
    """

    argv: tuple[str, ...]
    cwd: Path
    timeout: float
    environment: dict[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    on_line: Callable[[str], None] | None = None
    places: tuple[Place, ...] = ()
    room: str = ""


@dataclass(frozen=True, kw_only=True)
class Completed:
    """How a command ended.

    Attributes:
        returncode: exit status; negative is the signal that ended it; ``None`` if it ran past its time.
        output: standard output and error together, in order, decoded with replacement characters.
        seconds: wall time.
        stopped: why the engine ended the command, or what it ran out of, one sentence; ``None`` if neither.
        free: bytes that were left on the scarcest disk that the command may write to, seen after a failure by an
            engine with disks of its own.
        kept: the command line that opens a shell where it failed; ``None`` if nothing of it was kept.
    """

    returncode: int | None
    output: str
    seconds: float
    stopped: str | None = None
    free: int | None = None
    kept: tuple[str, ...] | None = None


class Engine(Protocol):
    """Runs commands."""

    @property
    def name(self) -> str:
        """``host`` or ``docker``."""

    @property
    def isolation(self) -> Isolation:
        """What records say of commands that ran here."""

    @property
    def processors(self) -> int:
        """How many processors commands may use together."""

    @property
    def ninja(self) -> str:
        """Path of ninja where commands run."""

    def paths(self, places: tuple[Place, ...]) -> PathMap:
        """Return how paths of these places read where commands run."""

    def run(self, command: Command) -> Completed:
        """Run a command to its end and return how it ended; a failing command is not an exception.

        Raises:
            MissingRequirementError: the program or the engine is not there.
        """

    def interact(self, command: Command) -> int:
        """Run a command on the terminal of this process, without a time limit, and return its exit status.

        Raises:
            InputError: this process has no terminal.
            MissingRequirementError: the program or the engine is not there.
        """

    def interrupt(self) -> None:
        """Kill every command that runs, and each that is started later; called from another thread than ``run``."""

    def release(self, room: str) -> None:
        """Give back what was kept for the commands of a room, after its last one."""

    def close(self) -> None:
        """Give back everything; nothing runs afterwards."""
