"""Objects of git that were read lately: a listing and the files of it are asked for one request at a time.

An object's name is the digest of its content, so what is kept here is never stale.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dulwich.objects import ObjectID, ShaFile
from dulwich.repo import Repo

_MOST_BYTES = 16 << 20
"""Of all objects that are kept."""
_LARGEST = 64 << 10
"""Bytes; a longer object is read each time."""


class _Place(NamedTuple):
    """A repository is its folder and the file that ``git init`` wrote: one made anew after a deletion is another."""

    folder: str
    inode: int
    made: int


class _Key(NamedTuple):
    place: _Place
    oid: ObjectID


class _Recent:
    """Contents by repository and object id; the longest unused go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[int, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: _Key) -> tuple[int, bytes] | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: _Key, kind: int, content: bytes) -> None:
        if len(content) > _LARGEST:
            return
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (kind, content)
                self._bytes += len(content)
            while self._bytes > _MOST_BYTES:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._bytes -= len(dropped)


_RECENT = _Recent()
_PLACES: WeakKeyDictionary[Repo, _Place] = WeakKeyDictionary()
"""Of those that are open, each for one request: a listing asks for hundreds of objects."""


def object_of(repo: Repo, oid: ObjectID) -> ShaFile | None:
    """Return an object of a repository; nothing if it has none of that id.

    Raises:
        dulwich.errors.ChecksumMismatch: what is stored is not what its id says.
    """
    key = _key(repo, oid)
    kept = _RECENT.get(key)
    if kept is not None:
        return ShaFile.from_raw_string(*kept)
    try:
        found = repo.object_store[oid]
    except KeyError:
        return None
    _RECENT.keep(key, found.type_num, found.as_raw_string())
    return found


def add_objects(repo: Repo, objects: Iterable[ShaFile]) -> None:
    """Store objects that the repository does not have yet; a listing will ask for them next."""
    new = [each for each in objects if each.id not in repo.object_store]
    if new:
        repo.object_store.add_objects([(each, None) for each in new])
    for each in new:
        _RECENT.keep(_key(repo, each.id), each.type_num, each.as_raw_string())


def _key(repo: Repo, oid: ObjectID) -> _Key:
    place = _PLACES.get(repo)
    if place is None:
        config = (Path(repo.path) / "config").stat()
        place = _PLACES[repo] = _Place(folder=repo.path, inode=config.st_ino, made=config.st_mtime_ns)
    return _Key(place=place, oid=oid)
