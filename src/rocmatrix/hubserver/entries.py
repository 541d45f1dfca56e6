"""Files and folders of a commit, as the Hub lists them."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from dulwich.lfs import LFSPointer
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.repo import Repo

from rocmatrix.hubserver.recent_objects import object_of
from rocmatrix.hubserver.refusals import no_entry

_OID = re.compile(r"[0-9a-f]{64}")
_LARGEST_POINTER = 1024
"""Bytes; a pointer file is shorter (git-lfs, docs/spec.md)."""


def commit_of(repo: Repo, oid: ObjectID) -> Commit:
    """Return a commit.

    Raises:
        TypeError: the object is something else.
    """
    found = object_of(repo, oid)
    if not isinstance(found, Commit):
        raise TypeError(f"{oid.decode()} is no commit")
    return found


def content_of(repo: Repo, oid: ObjectID) -> bytes:
    """Return the bytes of a blob; nothing of a submodule, whose commit lies elsewhere."""
    found = object_of(repo, oid)
    return bytes(found.data) if isinstance(found, Blob) else b""


@dataclass(frozen=True, kw_only=True)
class LargeObject:
    """What an LFS pointer file says: SHA-256 in hexadecimal and size of the object, size of the file, both in bytes."""

    oid: str
    size: int
    pointer_size: int


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file or a folder.

    Attributes:
        path: from the root of the repository.
        oid: git's object id.
        folder: whether it is a folder.
        size: in bytes, of the object itself where it is in LFS; 0 for a folder.
        large: where a pointer file leads.
    """

    path: str
    oid: str
    folder: bool
    size: int = 0
    large: LargeObject | None = None

    def document(self) -> dict[str, object]:
        """Return the row that clients read (``hf_api.py``, RepoFile and RepoFolder)."""
        if self.folder:
            return {"type": "directory", "path": self.path, "oid": self.oid, "size": 0}
        row: dict[str, object] = {"type": "file", "path": self.path, "oid": self.oid, "size": self.size}
        if self.large:
            row["lfs"] = {"oid": self.large.oid, "size": self.large.size, "pointerSize": self.large.pointer_size}
        return row


class Listing:
    """The tree of one commit."""

    def __init__(self, repo: Repo, commit: str) -> None:
        """Take a commit that exists, by its full id."""
        self._repo = repo
        self.commit = commit
        self._root = commit_of(repo, ObjectID(commit.encode())).tree
        self._trees: dict[ObjectID, Tree | None] = {}

    def find(self, path: str) -> Entry:
        """Return what lies at a path.

        Raises:
            RefusalError: nothing does.
        """
        name = b""
        mode, oid = stat.S_IFDIR, self._root
        for part in path.encode().split(b"/"):
            tree = self._tree(oid)
            if tree is None or part not in tree:
                raise no_entry(path, self.commit)
            name, (mode, oid) = part, tree[part]
        return self._entry(path.removesuffix(name.decode()), name, mode, oid)

    def _tree(self, oid: ObjectID) -> Tree | None:
        """Return a folder; nothing if the id is a file's, or a submodule's, whose commit lies elsewhere."""
        if oid not in self._trees:
            found = object_of(self._repo, oid)
            self._trees[oid] = found if isinstance(found, Tree) else None
        return self._trees[oid]

    def below(self, folder: str, *, recursive: bool) -> Iterator[Entry]:
        """Yield what lies in a folder, sorted as git sorts; ``""`` for the root.

        Raises:
            RefusalError: there is no such folder.
        """
        oid = self._root
        if folder:
            found = self.find(folder)
            if not found.folder:
                raise no_entry(folder, self.commit)
            oid = ObjectID(found.oid.encode())
        yield from self._walk(f"{folder}/" if folder else "", oid, recursive=recursive)

    def _walk(self, prefix: str, oid: ObjectID, *, recursive: bool) -> Iterator[Entry]:
        tree = self._tree(oid)
        for item in tree.items() if tree is not None else ():
            entry = self._entry(prefix, item.path, item.mode, item.sha)
            yield entry
            if recursive and entry.folder:
                yield from self._walk(f"{entry.path}/", item.sha, recursive=True)

    def _entry(self, prefix: str, name: bytes, mode: int, oid: ObjectID) -> Entry:
        path = prefix + name.decode("utf-8", "replace")
        if stat.S_ISDIR(mode):
            return Entry(path=path, oid=oid.decode(), folder=True)
        data = content_of(self._repo, oid)
        pointer = LFSPointer.from_bytes(data) if len(data) < _LARGEST_POINTER else None
        if pointer is None or not _OID.fullmatch(pointer.oid):
            return Entry(path=path, oid=oid.decode(), folder=False, size=len(data))
        large = LargeObject(oid=pointer.oid, size=pointer.size, pointer_size=len(data))
        return Entry(path=path, oid=oid.decode(), folder=False, size=pointer.size, large=large)

    def read(self, entry: Entry) -> bytes:
        """Return the bytes of a file in git; of a pointer file, the pointer."""
        return content_of(self._repo, ObjectID(entry.oid.encode()))

    def read_or_nothing(self, path: str) -> bytes:
        """Return the bytes of a small file; nothing where there is none."""
        tree = self._tree(self._root)
        name = path.encode()
        if tree is None or name not in tree:
            return b""
        return content_of(self._repo, tree[name][1])
