"""Locks of files, as git-lfs 3.3 asks for them (docs/api/locking.md): one holder of a path."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rocmatrix import atomic, document
from rocmatrix.hubserver.exchange import LFS_JSON, caller_of, document_of, hub_of, name_of
from rocmatrix.hubserver.names import file_path
from rocmatrix.hubserver.refusals import RefusalError
from rocmatrix.hubserver.repository import Repository
from rocmatrix.hubserver.repository_routes import date

_FILE = "locks.json"


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """A lock: its id, the path, who holds it, and since when in seconds since the epoch."""

    id: str
    path: str
    owner: str
    locked: float

    def row(self) -> dict[str, object]:
        """Return it as git-lfs reads it."""
        return {"id": self.id, "path": self.path, "locked_at": date(self.locked), "owner": {"name": self.owner}}


class _Wanted(msgspec.Struct):
    path: str


class _Unlock(msgspec.Struct):
    force: bool = False


def _locks(repository: Repository) -> list[Lock]:
    file = repository.folder / _FILE
    return document.from_json(file.read_bytes(), list[Lock]) if file.is_file() else []


def _keep(folder: Path, locks: list[Lock]) -> None:
    atomic.write_file(folder / _FILE, document.to_json(locks))


def _answer(content: object, status: int = 200) -> Response:
    return JSONResponse(content, status_code=status, media_type=LFS_JSON)


async def create(request: Request) -> Response:
    """``POST …/info/lfs/locks``; 409 with the lock that is in the way."""
    wanted = await document_of(request, _Wanted)
    caller = caller_of(request)
    with hub_of(request).writable(name_of(request), caller) as repository:
        locks = _locks(repository)
        for lock in locks:
            if lock.path == file_path(wanted.path):
                return _answer({"lock": lock.row(), "message": "already created lock"}, 409)
        made = Lock(id=uuid.uuid4().hex, path=file_path(wanted.path), owner=caller.name, locked=time.time())
        _keep(repository.folder, [*locks, made])
    return _answer({"lock": made.row()}, 201)


def listed(request: Request) -> Response:
    """``GET …/info/lfs/locks``, of one path or id if asked."""
    query = request.query_params
    with hub_of(request).readable(name_of(request), caller_of(request)) as repository:
        locks = [
            lock
            for lock in _locks(repository)
            if query.get("path", lock.path) == lock.path and query.get("id", lock.id) == lock.id
        ]
    return _answer({"locks": [lock.row() for lock in locks]})


def verify(request: Request) -> Response:
    """``POST …/info/lfs/locks/verify``: which locks are the caller's and which are others'."""
    caller = caller_of(request)
    with hub_of(request).writable(name_of(request), caller) as repository:
        locks = _locks(repository)
    ours = [lock.row() for lock in locks if lock.owner == caller.name]
    theirs = [lock.row() for lock in locks if lock.owner != caller.name]
    return _answer({"ours": ours, "theirs": theirs})


async def unlock(request: Request) -> Response:
    """``POST …/info/lfs/locks/<id>/unlock``; another one's only with ``force``."""
    asked = await document_of(request, _Unlock)
    caller = caller_of(request)
    with hub_of(request).writable(name_of(request), caller) as repository:
        locks = _locks(repository)
        found = next((lock for lock in locks if lock.id == request.path_params["id"]), None)
        if found is None:
            raise RefusalError(404, "there is no such lock")
        if found.owner != caller.name and not asked.force:
            raise RefusalError(403, f"{found.owner} holds the lock of {found.path}")
        _keep(repository.folder, [lock for lock in locks if lock is not found])
    return _answer({"lock": found.row()})
