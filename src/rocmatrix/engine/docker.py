"""The engine ``docker``: commands run in containers of one image, one container for all commands of a room.

A command's places are sent before it runs and its results fetched after it, also where the engine is on this machine:
there is one way, and it is the one that works with an engine elsewhere. Commands of one room run in one container at
the same time. One that runs past its time or prints without end takes the container with it, since nothing else ends
everything that it started; the others then run again in a new one, and are told so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rocmatrix.engine.confinement import INPUTS, RESULTS
from rocmatrix.engine.connection import connect, docker_errors, engine_name
from rocmatrix.engine.devices import NO_DEVICES, DeviceAccess
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.engine.leftovers import sweep
from rocmatrix.engine.limits import Limits, size_text
from rocmatrix.engine.paths import PathMap, Place
from rocmatrix.engine.room import Room
from rocmatrix.engine.terminal import require_terminal
from rocmatrix.errors import BuildError, MissingRequirementError
from rocmatrix.records import Isolation

if TYPE_CHECKING:
    from docker import DockerClient

_LEAST_FREE = 1 << 30
"""Bytes that the engine's disk must have for sources, headers and what the engine writes itself."""


class DockerEngine:
    """Runs commands in containers of an image; safe to use from several threads."""

    name = "docker"
    isolation = Isolation.CONTAINER

    def __init__(
        self,
        image: Callable[[DockerClient], str],
        *,
        ninja: str,
        environment: Mapping[str, str],
        limits: Limits | None = None,
        keep: bool = False,
        devices: DeviceAccess = NO_DEVICES,
    ) -> None:
        """Remember what is needed; the engine is asked when something is first run.

        Args:
            image: gives the id of the image, making it if it must; called once.
            ninja: path of ninja in the image.
            environment: what commands see beside the engine's own few variables, e.g. ``PATH``.
            limits: what a build may use.
            keep: whether a container in which a command failed is left running (``Completed.kept``).
            devices: what containers may use of the engine's machine.
        """
        self._image = image
        self.ninja = ninja
        self._environment = dict(environment)
        self._limits = limits or Limits()
        self._keep = keep
        self._devices = devices
        self._lock = threading.RLock()
        self._client: DockerClient | None = None
        self._image_id = ""
        self._unusable: MissingRequirementError | BuildError | None = None
        self._rooms: dict[str, Room] = {}
        self._interrupted = False

    def image_id(self) -> str:
        """Return the id of the image, ``sha256:`` and 64 digits: the digest of its configuration.

        Raises:
            MissingRequirementError: the engine cannot be used, or the image can be neither found nor made; a second
                call says the same without another attempt.
            BuildError: the image cannot be made for a reason of its own.
        """
        with self._lock:
            if self._unusable:
                raise self._unusable
            if not self._image_id:
                try:
                    self._prepare()
                except (MissingRequirementError, BuildError) as err:
                    self._unusable = err
                    raise
            return self._image_id

    def _prepare(self) -> None:
        self._client = self._client or connect()
        sweep(self._client)
        self._limits = _closed(self._client, self._limits)
        self._image_id = self._image(self._client)

    @property
    def processors(self) -> int:
        """How many processors a container may use; asks the engine.

        Raises:
            MissingRequirementError: as ``image_id``.
        """
        self.image_id()
        assert self._limits.cpus is not None  # noqa: S101 - nothing is left open
        return max(1, int(self._limits.cpus))

    def paths(self, places: tuple[Place, ...]) -> PathMap:
        """Return where places are in a container: ``/rocmatrix/in/NAME``, or ``/rocmatrix/out/NAME`` if writable."""
        return PathMap(
            tuple((str(place.host), f"{RESULTS if place.writable else INPUTS}/{place.name}") for place in places)
        )

    def run(self, command: Command) -> Completed:
        """Run a command to its end and return how it ended.

        Raises:
            MissingRequirementError: the engine fails, or the container was ended from outside.
            BuildError: the command left results that are not taken.
            InputError: what the command needs cannot be sent.
        """
        while True:
            room = self._room(command.room)
            try:
                done = room.run(command, self.paths(command.places), self._environment)
            except BaseException:
                self._close_room(room)
                raise
            if done is not None and done.returncode is None:
                self._close_room(room)
            if self._interrupted:
                return done or Completed(returncode=-9, output="", seconds=0.0)
            if done is not None:
                return done
            if command.on_line:
                command.on_line("rocmatrix: another unit's command took this container with it; again in a new one")

    def interact(self, command: Command) -> int:
        """Run a command on the terminal of this process; the container is confined as for a build.

        Raises:
            InputError: this process has no terminal, or what the command needs cannot be sent.
            MissingRequirementError: the engine fails.
        """
        require_terminal()
        room = self._room(command.room)
        return room.interact(command, self.paths(command.places), self._environment)

    def interrupt(self) -> None:
        """End every container; what is started later ends at once."""
        self._interrupted = True  # before the lock, which somebody who starts a container holds
        for room in list(self._rooms.values()):
            room.end()

    def release(self, room: str) -> None:
        """Remove the container of a room."""
        with self._lock:
            found = self._rooms.get(room)
        if found:
            self._close_room(found)

    def close(self) -> None:
        """Remove all containers."""
        with self._lock:
            rooms, self._rooms = list(self._rooms.values()), {}
        for room in rooms:
            room.end()
        if self._client:
            self._client.close()
            self._client = None
            self._image_id = ""

    def _room(self, name: str) -> Room:
        """Return the container of a room.

        One that only answered questions so far becomes that of the first kernel, and questions are asked of whichever
        there is: their answers depend on the image alone.
        """
        image = self.image_id()
        with self._lock:
            if name not in self._rooms and self._rooms and not name:
                return next(iter(self._rooms.values()))
            if name not in self._rooms and "" in self._rooms:
                self._rooms[name] = self._rooms.pop("")
            if name not in self._rooms:
                assert self._client is not None  # noqa: S101 - the image came from it
                self._rooms[name] = _opened(
                    Room(self._client, image, self._limits, keep=self._keep, devices=self._devices)
                )
            room = self._rooms[name]
        if self._interrupted:
            room.end()
        return room

    def _close_room(self, room: Room) -> None:
        """Remove a container, and take the next one for the commands of its room."""
        with self._lock:
            self._rooms = {name: other for name, other in self._rooms.items() if other is not room}
        room.end()


def _opened(room: Room) -> Room:
    """Return a new room after a look at the engine's disk.

    Raises:
        MissingRequirementError: its disk has too little space.
    """
    free = room.free_for_inputs
    if free is not None and free < _LEAST_FREE:
        room.end()
        raise MissingRequirementError(
            f"the disk of the docker engine has {size_text(free)} left, and a build needs {size_text(_LEAST_FREE)}",
            where=engine_name(),
            fix="Free space where the engine keeps its data (`docker system df`), then run the same command again.",
        )
    return room


def _closed(client: DockerClient, limits: Limits) -> Limits:
    """Return the limits with what they leave open taken from the engine."""
    with docker_errors("asking the docker engine what it has"):
        info = client.info()
    return limits.on(memory=int(info["MemTotal"]), cpus=int(info["NCPU"]))
