"""One confined container: it waits, commands are run in it, and it ends when this process does, however that happens.

Its end: the container's first process reads a standard input that this process holds open (``StdinOnce``). When the
connection breaks (the end of rocmatrix, SIGKILL included, of the machine or of the network between) the input ends, the
first process with it, the kernel kills all others, and the engine removes the container with its volumes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count
from typing import IO, TYPE_CHECKING

from rocmatrix.engine.confinement import INPUTS, RESULTS, USER, create_builder, create_porter
from rocmatrix.engine.connection import docker_errors
from rocmatrix.engine.devices import NO_DEVICES, DeviceAccess
from rocmatrix.engine.inside import LOOK, RUN
from rocmatrix.engine.limits import Limits
from rocmatrix.engine.stream import Connection, Frames
from rocmatrix.engine.terminal import lend
from rocmatrix.errors import MissingRequirementError

if TYPE_CHECKING:
    from docker import DockerClient

_KILLED = 137
_UNENDED = 123


class Ending(Enum):
    """Why a command in a container ended."""

    EXITED = auto()
    LATE = auto()
    """Its time was over."""
    TALKATIVE = auto()
    """It printed more than it may."""
    UNENDED = auto()
    """It left processes that could not be ended."""
    GONE = auto()
    """The container ended under it."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a container says of itself; bytes free on the disks of inputs, of results and of ``/tmp``.

    Attributes:
        killed: processes that the kernel killed for want of memory since the container started.
        refused: processes that it refused to start because there were too many.
    """

    killed: int
    refused: int
    inputs: int
    results: int
    temporary: int


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command as a container runs it: its own paths, the whole environment, and when its time is over.

    Attributes:
        deadline: ``time.monotonic`` seconds.
        take: takes what it prints, as soon as it does.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    deadline: float
    take: Callable[[bytes], None]


class Container:
    """A running container of an image; methods raise ``MissingRequirementError`` where the engine fails."""

    def __init__(
        self, client: DockerClient, image: str, limits: Limits, *, keep: bool, devices: DeviceAccess = NO_DEVICES
    ) -> None:
        """Create and start it; it is removed again if that fails.

        Args:
            client: of the engine.
            image: its id.
            limits: with nothing left open (``Limits.on``).
            keep: whether it outlives this process, to be looked at.
            devices: what it may use of the engine's machine.
        """
        self._api = client.api
        self._image = image
        self._limits = limits
        self._numbers = count(1)
        self._input: Connection | None = None
        self.id = ""
        self._inputs = ""
        self._removed = False
        with docker_errors("starting a container"):
            porter = create_porter(self._api, image, volume=None)
            try:
                self.id = create_builder(self._api, image, porter, limits, keep=keep, devices=devices)
                self._inputs = self._volume(INPUTS)
                if not keep:
                    self._input = Connection(self._api.attach_socket(self.id, {"stdin": 1, "stream": 1}))
                self._api.start(self.id)
            except BaseException:
                self.remove()
                self._api.remove_container(porter, v=True)
                raise
            self._api.remove_container(porter)

    def run(self, job: Job) -> tuple[Ending, int | None]:
        """Run a command; return how it ended, and its exit status if it did so by itself."""
        doing = "running a command in its container"
        with docker_errors(doing):
            stream, number = self._start(job)
        try:
            ending = self._read(stream, job)  # what takes the output may raise errors of its own
        finally:
            stream.close()
        if ending is not Ending.EXITED:
            return ending, None
        with docker_errors(doing):
            status = self._status(number)
            if status is None or (status == _KILLED and not self._stays()):
                return Ending.GONE, None
            return (Ending.UNENDED, None) if status == _UNENDED else (Ending.EXITED, status)

    def interact(self, job: Job) -> int:
        """Run a command on the terminal of this process, and return its exit status."""
        variables = [f"{name}={value}" for name, value in sorted(job.environment.items())]
        words = ["/usr/bin/env", "-i", *variables, "TERM=xterm", *job.argv]
        user = f"{USER}:{USER}"
        with docker_errors("opening a shell in a container"):
            number = self._api.exec_create(self.id, words, user=user, stdin=True, tty=True, workdir=job.cwd)["Id"]
            stream = Connection(self._api.exec_start(number, tty=True, socket=True))
            try:
                lend(stream, lambda rows, columns: self._api.exec_resize(number, rows, columns))
            finally:
                stream.close()
            return self._status(number) or 0

    def look(self) -> Look | None:
        """Return what the container says of itself, or ``None`` if nothing can be run in it any more."""
        said = bytearray()
        environment = {"PATH": "/usr/bin:/bin"}
        job = Job(
            argv=("sh", "-c", LOOK), cwd="/", environment=environment, deadline=time.monotonic() + 20, take=said.extend
        )
        try:
            ending, _ = self.run(job)
        except MissingRequirementError:  # at its limit of processes no further one can be started in it
            return None
        lines = [line.split() for line in said.decode("utf-8", "replace").splitlines()]
        free = [int(line[1]) * int(line[2]) for line in lines if line[:1] == ["free"] and len(line) == 3]  # noqa: PLR2004
        if ending is not Ending.EXITED or len(free) != 3:  # noqa: PLR2004 - the three folders
            return None
        events = {line[0]: int(line[1]) for line in lines if line[:1] in (["oom_kill"], ["max"])}
        return Look(
            killed=events.get("oom_kill", 0),
            refused=events.get("max", 0),
            inputs=free[0],
            results=free[1],
            temporary=free[2],
        )

    def send_inputs(self, archive: IO[bytes]) -> None:
        """Unpack a tar file below ``INPUTS``, where commands cannot write."""
        with docker_errors("sending files to a container"):
            porter = create_porter(self._api, self._image, volume=self._inputs)
            try:
                self._api.put_archive(porter, INPUTS, archive)
            finally:
                self._api.remove_container(porter)
                if self._removed:  # meanwhile, when the volume could not go because the porter had it
                    self._remove_volume()

    def send_results(self, archive: IO[bytes]) -> None:
        """Unpack a tar file below ``RESULTS``, where commands can write."""
        with docker_errors("sending files to a container"):
            self._api.put_archive(self.id, RESULTS, archive)

    def fetch(self, path: str) -> Iterator[bytes]:
        """Yield the tar file of a folder in the container."""
        with docker_errors("fetching results from a container"):
            chunks, _ = self._api.get_archive(self.id, path)
            yield from chunks

    def is_running(self) -> bool:
        """Return whether the container is there and its first process runs."""
        from docker.errors import NotFound  # noqa: PLC0415 - docker-py is loaded by now

        try:
            return bool(self._api.inspect_container(self.id)["State"]["Running"])
        except NotFound:
            return False

    def _stays(self) -> bool:
        """Return whether the container still runs a second from now: its end is seen a little after its commands'."""
        for _ in range(10):
            if not self.is_running():
                return False
            time.sleep(0.1)
        return True

    def remove(self) -> None:
        """Kill it and remove it with its volumes; whatever of that fails has been done, or is done by the next run."""
        from docker.errors import DockerException  # noqa: PLC0415 - docker-py is loaded by now
        from requests.exceptions import RequestException  # noqa: PLC0415

        self._removed = True
        if self.id:
            with suppress(DockerException, RequestException, OSError):
                self._api.remove_container(self.id, force=True, v=True)
        if self._input:
            self._input.close()

    def _remove_volume(self) -> None:
        from docker.errors import APIError  # noqa: PLC0415 - docker-py is loaded by now

        with suppress(APIError):  # it went with the container
            self._api.remove_volume(self._inputs)

    def _start(self, job: Job) -> tuple[Connection, str]:
        mark = f"ROCMATRIX_COMMAND={next(self._numbers)}."  # in one step: two threads must not get the same
        variables = [f"{name}={value}" for name, value in sorted(job.environment.items())]
        words = ["/usr/bin/env", "-i", *variables, mark, "/bin/sh", "-c", RUN, "sh", job.cwd, *job.argv]
        number = self._api.exec_create(self.id, words, user=f"{USER}:{USER}", stdin=True)["Id"]
        stream = Connection(self._api.exec_start(number, socket=True))
        with suppress(OSError):  # its end is read next
            stream.send(b"go\n")
        return stream, number

    def _read(self, stream: Connection, job: Job) -> Ending:
        frames, printed = Frames(), 0
        while (left := job.deadline - time.monotonic()) > 0:
            data = stream.receive(min(left, 1.0))
            if data == b"":
                return Ending.EXITED
            if data:
                output = frames.take(data)
                printed += len(output)
                job.take(output)
                if printed > self._limits.printed:
                    return Ending.TALKATIVE
        return Ending.LATE

    def _status(self, number: str) -> int | None:
        """Return the exit status of a command whose output ended; ``None`` if the container is gone."""
        from docker.errors import NotFound  # noqa: PLC0415 - docker-py is loaded by now

        for _ in range(100):
            try:
                found = self._api.exec_inspect(number)
            except NotFound:
                return None
            if not found["Running"] and found["ExitCode"] is not None:
                return int(found["ExitCode"])
            time.sleep(0.05)
        return None

    def _volume(self, folder: str) -> str:
        mounts: Sequence[Mapping[str, str]] = self._api.inspect_container(self.id)["Mounts"]
        return next(mount["Name"] for mount in mounts if mount["Destination"] == folder)
