"""The engine ``host``: commands run on this machine, in a scrubbed environment, each in a session of its own.

What a command sees: a ``PATH`` with the folder of the running Python and the system's own folders, an empty home that
is removed afterwards, a fixed locale, time zone and ``SOURCE_DATE_EPOCH``. It sees no variable of the user: no token,
no proxy, no ``PYTHONPATH``. It is not confined otherwise: it can read what the user can read, which is why records say
``isolation: host``. What it started does not outlive rocmatrix, not even one that is killed
(``rocmatrix.engine.watch``).
"""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import IO

from rocmatrix.engine import watch
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.engine.paths import PathMap, Place
from rocmatrix.engine.terminal import require_terminal
from rocmatrix.engine.watch import kill_session
from rocmatrix.errors import MissingRequirementError
from rocmatrix.records import Isolation

SOURCE_DATE_EPOCH = "315532800"
"""1980-01-01T00:00:00Z in seconds: the earliest time that a zip file can hold."""

_BLOCK = 65536
_LAST_WORDS = 1.0
"""Seconds that output is still read after the command ended, for what its children hold open."""


class HostEngine:
    """Runs commands on this machine; safe to use from several threads."""

    name = "host"
    isolation = Isolation.HOST

    def __init__(self) -> None:
        """Start with nothing running."""
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._watcher: subprocess.Popen[str] | None = None
        self._interrupted = False

    @property
    def processors(self) -> int:
        """How many processors this process may use."""
        return len(os.sched_getaffinity(0))

    @property
    def ninja(self) -> str:
        """Path of the ninja in this Python's environment."""
        return str(ninja_program())

    def paths(self, places: tuple[Place, ...]) -> PathMap:  # noqa: ARG002 - the protocol's argument
        """Return that nothing changes: commands see this machine's files."""
        return PathMap()

    def run(self, command: Command) -> Completed:
        """Run a command to its end and return how it ended.

        Whatever the command started and left behind is killed with it, also when this thread is interrupted.

        Raises:
            MissingRequirementError: the program or the folder to run in is not there.
        """
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="rocmatrix-home-", ignore_cleanup_errors=True) as home:
            process = self._start(command, Path(home))
            try:
                output, in_time = _Reader(process, command).read(started + command.timeout)
            finally:
                self._end(process)
        return Completed(
            returncode=process.returncode if in_time else None, output=output, seconds=time.monotonic() - started
        )

    def interact(self, command: Command) -> int:
        """Run a command on the terminal of this process, in a scrubbed environment with an empty home.

        Raises:
            InputError: this process has no terminal.
        """
        require_terminal()
        with tempfile.TemporaryDirectory(prefix="rocmatrix-home-", ignore_cleanup_errors=True) as home:
            environment = scrubbed_environment(Path(home)) | command.environment
            environment["TERM"] = os.environ.get("TERM", "dumb")
            return subprocess.run(command.argv, cwd=command.cwd, env=environment, check=False).returncode

    def interrupt(self) -> None:
        """Kill every command that runs; one that is started later is killed at once."""
        with self._lock:
            self._interrupted = True
            for session in self._running:
                kill_session(session)

    def release(self, room: str) -> None:
        """Do nothing: commands that belong together share nothing here."""

    def close(self) -> None:
        """Do nothing: whatever a command started has ended with it."""

    def _start(self, command: Command, home: Path) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env=scrubbed_environment(home) | command.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as err:
            raise MissingRequirementError(
                f"{command.argv[0]} cannot be started: {err.strerror}",
                where=str(command.cwd),
                fix="Install it, or make it executable.",
            ) from err
        with self._lock:
            self._running.add(process.pid)
            self._tell(f"+{process.pid} {json.dumps(str(home))}")
            if self._interrupted:
                kill_session(process.pid)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the session, then take its leader's exit status: until then nobody else gets its number."""
        with self._lock:
            self._running.discard(process.pid)
            kill_session(process.pid)
            self._tell(f"-{process.pid}")
        process.wait()
        if process.stdout:
            process.stdout.close()

    def _tell(self, line: str) -> None:
        """Tell the program that ends what runs if this process is killed; it is started for the first command."""
        if self._watcher is None:
            self._watcher = subprocess.Popen(
                [sys.executable, "-I", "-S", watch.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                text=True,
                cwd="/",
                env={},
            )
            weakref.finalize(self, _end_watcher, self._watcher)
        assert self._watcher.stdin is not None  # noqa: S101 - Popen was given a pipe
        with suppress(BrokenPipeError):  # somebody ended it: commands run without it
            self._watcher.stdin.write(f"{line}\n")
            self._watcher.stdin.flush()


def ninja_program() -> Path:
    """Return the ninja that pip installed, also where this environment looks into another one's packages.

    The package's own ``BIN_DIR`` knows the folder of programs of the running Python alone.

    Raises:
        MissingRequirementError: its program is not there.
    """
    installed = distribution("ninja")
    for file in installed.files or ():
        if file.name == "ninja" and (found := Path(str(installed.locate_file(file))).resolve()).is_file():
            return found
    raise MissingRequirementError("the program of the package ninja is not there", fix="Install rocmatrix anew.")


def scrubbed_environment(home: Path) -> dict[str, str]:
    """Return the variables that every command sees; ``home`` is its home and its folder for temporary files."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }


class _Reader:
    """Reads what a command prints until it ended or its time is over."""

    def __init__(self, process: subprocess.Popen[bytes], command: Command) -> None:
        self._process = process
        self._on_line = command.on_line
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._rest = ""

    def read(self, deadline: float) -> tuple[str, bool]:
        """Return the output, and whether the command ended before the deadline (``time.monotonic``)."""
        stream = self._process.stdout
        assert stream is not None  # noqa: S101 - Popen was given a pipe
        os.set_blocking(stream.fileno(), False)
        in_time = self._until_end(stream, deadline)
        self._take("", final=True)
        return "".join(self._parts), in_time

    def _until_end(self, stream: IO[bytes], deadline: float) -> bool:
        """Read until the output is closed and the command ended.

        A command may end while a child of it holds the output open; such a child gets a moment to say what it has to.
        """
        ended_at: float | None = None
        with DefaultSelector() as selector:
            selector.register(stream, EVENT_READ)
            is_open = True
            while time.monotonic() < deadline:
                if is_open and selector.select(timeout=0.1):
                    is_open = self._read_block(stream)
                elif not is_open:
                    time.sleep(0.01)
                if self._process_ended():
                    ended_at = ended_at or time.monotonic()
                    if not is_open or time.monotonic() - ended_at > _LAST_WORDS:
                        return True
        return False

    def _process_ended(self) -> bool:
        """Return whether the command ended, without taking its exit status: its number must not be used again yet."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read_block(self, stream: IO[bytes]) -> bool:
        """Read what is there; return whether there may be more."""
        block = os.read(stream.fileno(), _BLOCK)
        self._take(self._decoder.decode(block, final=not block))
        return bool(block)

    def _take(self, text: str, *, final: bool = False) -> None:
        self._parts.append(text)
        if not self._on_line:
            return
        *lines, self._rest = (self._rest + text).split("\n")
        if final and self._rest:
            lines.append(self._rest)
        for line in lines:
            self._on_line(line)


def _end_watcher(watcher: subprocess.Popen[str]) -> None:
    """Let the watcher end: it knows of nothing that runs then."""
    with suppress(BrokenPipeError):
        watcher.communicate()
