"""What a room makes of results when another command's end takes the container with it.

The container is one of the tests' own: with a real engine the moment between two blocks of an archive cannot be chosen.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from docker import DockerClient

from rocmatrix.engine import room as room_module
from rocmatrix.engine.container import Ending, Job, Look
from rocmatrix.engine.interface import Command
from rocmatrix.engine.limits import Limits
from rocmatrix.engine.paths import PathMap, Place
from rocmatrix.engine.room import Room
from rocmatrix.errors import BuildError

CONTENT = b"x" * 4096


def _archive() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in ("out/first", "out/second"):
            header = tarfile.TarInfo(name)
            header.size = len(CONTENT)
            archive.addfile(header, io.BytesIO(CONTENT))
    return made.getvalue()


class _CutOff:
    """A container that gives the beginning of an archive; ``meanwhile`` is called before it breaks off."""

    id = "0" * 64

    def __init__(self, size: int) -> None:
        self.size = size
        self.meanwhile: Callable[[], None] = lambda: None

    def look(self) -> Look:
        return Look(killed=0, refused=0, inputs=0, results=0, temporary=0)

    def run(self, _: Job) -> tuple[Ending, int]:
        return Ending.EXITED, 0

    def fetch(self, _: str) -> Iterator[bytes]:
        yield _archive()[: self.size]
        self.meanwhile()

    def send_inputs(self, _: object) -> None:
        """Take it."""

    send_results = send_inputs

    def remove(self) -> None:
        """Be gone."""


def _room(monkeypatch: pytest.MonkeyPatch, size: int) -> tuple[Room, _CutOff]:
    container = _CutOff(size)
    monkeypatch.setattr(room_module, "Container", lambda *_arguments, **_named: container)
    return Room(cast("DockerClient", None), "image", Limits().on(memory=1 << 30, cpus=1), keep=False), container


def _command(folder: Path) -> tuple[Command, PathMap]:
    place = Place(host=folder, name="out", writable=True, fetched=True)
    folder.mkdir()
    command = Command(argv=("true",), cwd=folder, timeout=60.0, places=(place,), writable=(folder,))
    return command, PathMap(((str(folder), "/rocmatrix/out"),))


@pytest.mark.parametrize("size", [512 + 100, 512 + len(CONTENT)], ids=["within-a-file", "between-two-files"])
def test_results_cut_off_by_another_commands_end_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    room, container = _room(monkeypatch, size)
    container.meanwhile = room.end
    assert room.run(*_command(tmp_path / "out"), {}) is None


def test_results_that_are_no_archive_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room, _ = _room(monkeypatch, 512 + 100)
    with pytest.raises(BuildError, match="is not an archive"):
        room.run(*_command(tmp_path / "out"), {})


def test_results_that_came_whole_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room, _ = _room(monkeypatch, len(_archive()))
    done = room.run(*_command(tmp_path / "out"), {})
    assert done is not None
    assert (tmp_path / "out" / "second").read_bytes() == CONTENT
