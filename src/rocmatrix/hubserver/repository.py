"""One repository: a bare git repository, its LFS objects beside it, and what the Hub knows of it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dulwich.config import ConfigFile
from dulwich.objects import Commit, ObjectID, Tag, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from rocmatrix import atomic, document
from rocmatrix.hubserver.entries import Listing
from rocmatrix.hubserver.names import RepoName, is_reference, reference
from rocmatrix.hubserver.recent_objects import object_of
from rocmatrix.hubserver.refusals import RefusalError, no_revision

_SETTINGS = "hub.json"
_FULL_ID = re.compile(r"[0-9a-f]{40}")
_MAIN = "main"
IDENTITY = b"Embedded Hub <hub@localhost>"
_CONFIG = {
    (b"http", b"receivepack"): b"true",  # the server has asked for a token before git sees the request
    (b"receive", b"denyDeleteCurrent"): b"refuse",
    (b"receive", b"fsckObjects"): b"true",
    (b"core", b"fsync"): b"committed",
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is not in git.

    Attributes:
        private: whether only members of its namespace may know of it.
        created: seconds since the epoch.
    """

    private: bool = False
    created: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A branch, a tag or a pull request.

    Attributes:
        name: without ``refs/…/``.
        full: the whole name.
        commit: where it points, tags peeled.
    """

    name: str
    full: str
    commit: str


class _Repo(Repo):
    """A repository of git whose settings are parsed once: each request opens one, and parsing took half of that."""

    def get_config(self) -> ConfigFile:
        """Return the settings, which the repository was made with; nobody may change what is returned."""
        path = Path(self.commondir()) / "config"
        status = path.stat()
        return _settings(path, (status.st_ino, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=256)
def _settings(path: Path, identity: tuple[int, int, int]) -> ConfigFile:
    del identity  # of the file: one that is written anew is another
    return ConfigFile.from_path(str(path))


class Repository:
    """A repository that is open; close it by leaving ``opened``."""

    def __init__(self, folder: Path, name: RepoName) -> None:
        """Open the bare repository in ``folder``."""
        self.folder = folder
        self.name = name
        self.git = _Repo(str(folder))
        self.git.object_store.fsync_object_files = True
        self.settings = document.from_json((folder / _SETTINGS).read_bytes(), Settings)

    @staticmethod
    @contextmanager
    def opened(folder: Path, name: RepoName) -> Iterator[Repository]:
        """Open a repository for one request."""
        repository = Repository(folder, name)
        try:
            yield repository
        finally:
            repository.git.close()

    # -- revisions -----------------------------------------------------------------------------------------------

    def references(self, folder: str) -> list[Reference]:
        """Return all references in ``refs/<folder>`` that lead to a commit, sorted by name."""
        prefix = f"refs/{folder}/".encode()
        found = []
        for full in sorted(self.git.refs.keys()):
            commit = self._commit_at(full) if full.startswith(prefix) else None
            if commit is not None:
                name = full.decode("utf-8", "replace")
                found.append(Reference(name=name[len(prefix) :], full=name, commit=commit))
        return found

    def _commit_at(self, full: Ref) -> str | None:
        """Return the commit that a reference leads to; ``None`` for a tag of a file or a folder, which git allows."""
        peeled = self.git.get_peeled(full)
        return peeled.decode() if isinstance(object_of(self.git, peeled), Commit) else None

    def resolve(self, revision: str) -> str:
        """Return the commit that a revision means: a commit's full id, a full reference, a branch or a tag.

        Raises:
            RefusalError: there is no such revision.
        """
        if _FULL_ID.fullmatch(revision):
            if isinstance(object_of(self.git, ObjectID(revision.encode())), Commit):
                return revision
            raise no_revision(revision)
        names = [revision] if revision.startswith("refs/") else [f"refs/heads/{revision}", f"refs/tags/{revision}"]
        for name in names:
            if is_reference(name) and Ref(name.encode()) in self.git.refs:
                commit = self._commit_at(Ref(name.encode()))
                if commit is not None:
                    return commit
        raise no_revision(revision[:200])

    def branch_reference(self, revision: str) -> Ref:
        """Return the reference that a commit to ``revision`` moves: a branch, or a pull request by its full name.

        Raises:
            RefusalError: there is no such branch.
        """
        if revision.startswith("refs/"):
            full = Ref(revision.encode())
            writable = revision.startswith(("refs/heads/", "refs/pr/")) and is_reference(revision)
        else:
            full, writable = reference("heads", revision), True
        if not writable or full not in self.git.refs:
            raise no_revision(revision)
        return full

    def listing(self, revision: str) -> Listing:
        """Return the tree of a revision."""
        return Listing(self.git, self.resolve(revision))

    # -- changes of references -----------------------------------------------------------------------------------

    def create(self, folder: str, name: str, revision: str) -> None:
        """Let a new branch (``heads``) or lightweight tag (``tags``) point at a revision.

        Raises:
            RefusalError: 409, if there is one of that name; 404, if there is no such revision.
        """
        full = self._free(folder, name)
        commit = ObjectID(self.resolve(revision).encode())
        if not self.git.refs.add_if_new(full, commit):
            raise self._exists(full)

    def create_annotated_tag(self, name: str, revision: str, message: str) -> None:
        """Create a tag object, and the tag that points at it.

        Raises:
            RefusalError: as ``create``.
        """
        full = self._free("tags", name)
        commit = ObjectID(self.resolve(revision).encode())
        tag = Tag()
        tag.name, tag.message, tag.tagger = name.encode(), message.encode() + b"\n", IDENTITY
        tag.object = (Commit, commit)
        tag.tag_time, tag.tag_timezone = int(time.time()), 0
        self.git.object_store.add_object(tag)
        if not self.git.refs.add_if_new(full, tag.id):
            raise self._exists(full)

    def delete(self, folder: str, name: str) -> None:
        """Delete a branch or a tag.

        Raises:
            RefusalError: 404, if there is none; 403 for the main branch.
        """
        full = reference(folder, name)
        if full not in self.git.refs:
            raise no_revision(name)
        if (folder, name) == ("heads", _MAIN):
            raise RefusalError(403, f"the branch {_MAIN} cannot be deleted")
        self.git.refs.remove_if_equals(full, self.git.refs[full])

    def _free(self, folder: str, name: str) -> Ref:
        """Return a reference's whole name; refuse one below or above another: to git they are a file and a folder."""
        full = reference(folder, name)
        for other in self.git.refs.keys():  # noqa: SIM118 - no mapping: it has no iterator of its own
            if other.startswith(full + b"/") or full.startswith(other + b"/"):
                raise RefusalError(409, f"{full.decode()} cannot be beside {other.decode('utf-8', 'replace')}")
        return full

    def _exists(self, full: Ref) -> RefusalError:
        return RefusalError(409, f"{full.decode()} already exists, and points at {self.git.get_peeled(full).decode()}")


def make_repository(folder: Path, name: RepoName, *, private: bool) -> None:
    """Make a repository with one commit on ``main`` that has no files yet.

    The folder is complete before it has its name, so that a server that dies leaves none that is half made.

    Raises:
        FileExistsError: there is one already.
    """
    if folder.exists():
        raise FileExistsError(name)
    making = folder.with_name(f"{folder.name}{atomic.PARTIAL}{time.monotonic_ns()}")
    making.mkdir(parents=True)
    with Repo.init_bare(str(making), default_branch=_MAIN.encode()) as git:
        config = git.get_config()
        for (section, key), value in _CONFIG.items():
            config.set((section,), key, value)
        config.write_to_path()
        tree, commit = Tree(), Commit()
        commit.tree, commit.message = tree.id, b"initial commit\n"
        commit.author = commit.committer = IDENTITY
        commit.author_time = commit.commit_time = int(time.time())
        commit.author_timezone = commit.commit_timezone = 0
        git.object_store.add_object(tree)
        git.object_store.add_object(commit)
        git.refs.add_if_new(Ref(f"refs/heads/{_MAIN}".encode()), commit.id)
    atomic.write_file(making / _SETTINGS, document.to_json(Settings(private=private, created=time.time())))
    making.rename(folder)
