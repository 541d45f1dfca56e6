"""A room: one container with what was brought there, and commands that run in it side by side."""

from __future__ import annotations

import codecs
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rocmatrix import digest
from rocmatrix.digest import Digest
from rocmatrix.engine.archive import pack, unpack
from rocmatrix.engine.confinement import USER
from rocmatrix.engine.connection import engine_name
from rocmatrix.engine.container import Container, Ending, Job, Look
from rocmatrix.engine.devices import NO_DEVICES, DeviceAccess
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.engine.limits import Limits, size_text
from rocmatrix.engine.paths import PathMap, Place
from rocmatrix.errors import BuildError, MissingRequirementError

if TYPE_CHECKING:
    from docker import DockerClient

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the container's own, in memory
    "TMPDIR": "/tmp",  # noqa: S108
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "SOURCE_DATE_EPOCH": "315532800",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""What every command sees, as on the host (``rocmatrix.engine.host``)."""

_LONGEST_LINE = 1 << 20
"""Characters; a longer one is taken as several."""


class Room:
    """A container, what was sent to it, and whether it is still good for commands; safe to use from several threads."""

    def __init__(
        self, client: DockerClient, image: str, limits: Limits, *, keep: bool, devices: DeviceAccess = NO_DEVICES
    ) -> None:
        """Start the container."""
        self._limits = limits
        self._keep = keep
        self._lock = threading.Lock()
        self._sent: dict[str, tuple[Place, Digest]] = {}
        self._ended = False
        self._failed = False
        self._container = Container(client, image, limits, keep=keep, devices=devices)
        self._first = self._container.look()
        self._seen = self._first

    @property
    def free_for_inputs(self) -> int | None:
        """Bytes free on the engine's disk when the room was opened; ``None`` if that could not be seen."""
        return self._first.inputs if self._first else None

    def run(self, command: Command, paths: PathMap, environment: Mapping[str, str]) -> Completed | None:
        """Send what a command uses, run it and fetch its results; ``None`` if somebody else ended the room under it.

        Raises:
            MissingRequirementError: the engine fails, or the container was ended from outside.
            BuildError: the results are not taken.
            InputError: what the command uses cannot be sent.
        """
        started = time.monotonic()
        try:
            self._send(command.places)
            lines = _Lines(command.on_line, paths)
            job = _job(command, paths, environment, started + command.timeout, lines.take)
            ending, status = self._container.run(job)
            lines.end()
            if ending is Ending.GONE or (self._ended and status):
                self._blame_outside()
                return None
            done = self._completed(ending, status, lines.text, time.monotonic() - started, job)
            if status == 0:
                self._fetch(command, paths)
                if self._ended:  # an archive that is cut off between two files reads as a whole one
                    return None
        except (MissingRequirementError, BuildError):  # results that were cut off with the room are none of this one's
            if self._ended:
                return None
            raise
        self._failed |= status != 0
        return done

    def interact(self, command: Command, paths: PathMap, environment: Mapping[str, str]) -> int:
        """Send what a command uses and run it on this process's terminal; return its exit status."""
        self._send(command.places)
        return self._container.interact(_job(command, paths, environment, 0.0, lambda _: None))

    def end(self) -> None:
        """Remove the container with all that runs in it, unless it is to be kept because something failed in it."""
        self._ended = True
        if not (self._keep and self._failed):
            self._container.remove()

    def _entering(self, cwd: str) -> tuple[str, ...]:
        """Return the command line with which a person enters the container."""
        variables = [f"{name}={value}" for name, value in sorted(_ENVIRONMENT.items())]
        where = ("-w", cwd, "-u", f"{USER}:{USER}")
        return ("docker", "exec", "-it", *where, self._container.id[:12], "env", "-i", *variables, "TERM=xterm", "sh")

    def _blame_outside(self) -> None:
        if not self._ended:
            raise MissingRequirementError(
                "the container was ended from outside while a command ran in it",
                where=engine_name(),
                fix="Run the same command again; it continues where this one ended.",
            )

    def _send(self, places: tuple[Place, ...]) -> None:
        """Send the places that are not there yet.

        A place that is written to is sent once, for what its commands need at their beginning; a second name for what
        is there already would be a fault of ours.
        """
        with self._lock:
            new = [place for place in places if self._is_new(place)]
            inputs = [place for place in new if not place.writable]
            results = [place for place in new if place.writable]
            if inputs:
                with pack(inputs, owner=0) as archive:
                    self._container.send_inputs(archive)
            if results:
                with pack(results, owner=USER) as archive:
                    self._container.send_results(archive)

    def _is_new(self, place: Place) -> bool:
        before = self._sent.get(place.name)
        if before and before[0].host == place.host:
            return False
        content = _content(place)
        if before and (place.writable or before[1] != content):
            raise ValueError(f"two places of one room are called {place.name}: {before[0].host} and {place.host}")
        self._sent[place.name] = (place, content)
        return before is None

    def _fetch(self, command: Command, paths: PathMap) -> None:
        """Bring back the results that the command was allowed to write, and none that it was not."""
        assert self._limits.disk is not None  # noqa: S101 - nothing is left open
        for place in command.places:
            if place.fetched and place.host in command.writable:
                unpack(self._container.fetch(paths.inward(str(place.host))), place.host, most_bytes=self._limits.disk)

    def _completed(self, ending: Ending, status: int | None, output: str, seconds: float, job: Job) -> Completed:
        seen = self._container.look() if status not in {0, None} else None
        return Completed(
            returncode=status,
            output=output,
            seconds=seconds,
            stopped=self._stopped(ending, seen, seconds),
            free=min(seen.results, seen.temporary) if seen else None,
            kept=self._entering(job.cwd) if self._keep and status != 0 else None,
        )

    def _stopped(self, ending: Ending, seen: Look | None, seconds: float) -> str | None:
        if ending is Ending.LATE:
            return f"it was ended after {seconds:.0f} seconds (--limit time)"
        if ending is Ending.TALKATIVE:
            return f"it was ended because it printed more than {size_text(self._limits.printed)}"
        if ending is Ending.UNENDED:
            return "it left processes behind that could not be ended"
        with self._lock:
            before, self._seen = self._seen, seen or self._seen
        if seen and before and seen.killed > before.killed:
            return f"it ran out of memory: {size_text(self._limits.memory or 0)} for all of it (--limit memory)"
        if seen and before and seen.refused > before.refused:
            return f"it ran out of processes: {self._limits.processes} for all of it (--limit processes)"
        return None


def _job(
    command: Command,
    paths: PathMap,
    environment: Mapping[str, str],
    deadline: float,
    take: Callable[[bytes], None],
) -> Job:
    """Return a command as the container runs it; it begins in ``/tmp`` if its folder is none of its places."""
    variables = {name: paths.inward(value) for name, value in command.environment.items()}
    cwd = paths.inward(str(command.cwd))
    return Job(
        argv=tuple(paths.inward(word) for word in command.argv),
        cwd=cwd if cwd != str(command.cwd) else "/tmp",  # noqa: S108 - as above
        environment={**_ENVIRONMENT, **environment, **variables},
        deadline=deadline,
        take=take,
    )


class _Lines:
    """Puts together what a command prints, and hands on each line with the paths of this machine."""

    def __init__(self, on_line: Callable[[str], None] | None, paths: PathMap) -> None:
        self._on_line = on_line
        self._paths = paths
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._rest = ""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def take(self, data: bytes, *, final: bool = False) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data, final)).split("\n")
        for line in lines:
            self._line(line, "\n")
        if len(self._rest) > _LONGEST_LINE:
            self._line(self._rest, "")
            self._rest = ""

    def end(self) -> None:
        self.take(b"", final=True)
        if self._rest:
            self._line(self._rest, "")
            self._rest = ""

    def _line(self, line: str, end: str) -> None:
        shown = self._paths.outward(line)
        self._parts.append(shown + end)
        if self._on_line:
            self._on_line(shown)


def _content(place: Place) -> Digest:
    if place.writable:
        return digest.of_bytes(b"")
    if place.host.is_dir():
        return digest.of_folder(place.host)
    return digest.of_file(place.host)
