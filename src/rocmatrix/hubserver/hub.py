"""The server's state: a folder of repositories, accounts, limits, and the key that upload addresses are signed with."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dulwich.file import FileLocked
from filelock import FileLock, Timeout

from rocmatrix import atomic
from rocmatrix.errors import InputError
from rocmatrix.hubserver.accounts import Accounts, Caller
from rocmatrix.hubserver.large_objects import LargeObjects
from rocmatrix.hubserver.names import RepoName, RepoType
from rocmatrix.hubserver.refusals import RefusalError, no_repository, please_log_in
from rocmatrix.hubserver.repository import Repository, make_repository

_LOCKS = ("*.lock", "refs/**/*.lock", "objects/??/*.lock", "objects/pack/*.lock", "objects/info/*.lock")
_DEAD_SERVER_SECONDS = 30.0
"""How long a new server waits for git of one that was killed."""
_ADDRESS_SECONDS = 3600
"""How long an upload address can be used."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may bring, and how answers are cut.

    Attributes:
        body: bytes of a JSON document or of a commit's lines.
        large_object: bytes of an LFS object.
        part: bytes of a part; a larger object is uploaded in parts.
        regular: bytes from which a file belongs into LFS.
        page: rows of a listing in one answer.
        batch: files of one preupload request or LFS batch (huggingface_hub 2.4.0 asks for 256 at most).
    """

    body: int = 64 << 20
    large_object: int = 5 << 30
    part: int = 5_000_000
    regular: int = 10 << 20
    page: int = 1000
    batch: int = 256


class Hub:
    """All repositories below one folder; one server for each folder."""

    def __init__(self, root: Path, accounts: Accounts, limits: Limits | None = None) -> None:
        """Take over a folder, and mend what a server that was killed left in it.

        Raises:
            InputError: another server has the folder.
        """
        self.root = root
        self.accounts = accounts
        self.limits = limits or Limits()
        self._key = secrets.token_bytes(32)
        self._lock = FileLock(root / "hub.lock")
        self._writing = threading.Lock()
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except OSError as err:
            if isinstance(err, Timeout):
                raise InputError(
                    "another Hub serves this folder", where=str(root), fix="Stop it, or serve another folder."
                ) from err
            raise unusable(root, err) from err
        self._children = os.open(root / "git.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait_for_git()
        except BaseException:
            self.close()
            raise
        self._mend()

    def close(self) -> None:
        """Let another server have the folder."""
        os.close(self._children)
        self._lock.release()

    @property
    def inherited(self) -> int:
        """A descriptor for each git that this server starts: the lock on it is held while one of them runs."""
        return self._children

    def _wait_for_git(self) -> None:
        """Wait for git that a server started which was killed since: it may write yet, and its locks are its own.

        Raises:
            InputError: it does not end.
        """
        end = time.monotonic() + _DEAD_SERVER_SECONDS
        while True:
            try:
                fcntl.flock(self._children, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise InputError(
                        "git of a Hub that was killed still writes there",
                        where=str(self.root),
                        fix="Wait until it is through (`fuser` names it), then start the Hub again.",
                    ) from None
                time.sleep(0.05)
            else:
                return

    def _mend(self) -> None:
        atomic.recover(folder for kind in RepoType for folder in (self.root / kind.value).glob("*"))
        for repository in self.root.glob("*/*/*.git"):
            for lock in (path for place in _LOCKS for path in repository.glob(place)):
                lock.unlink()  # nobody else writes here: the lock's owner is dead
            shutil.rmtree(repository / "lfs" / "partial", ignore_errors=True)

    # -- repositories --------------------------------------------------------------------------------------------

    def folder(self, name: RepoName) -> Path:
        """Return where a repository lies, or would."""
        return self.root / name.type.value / name.namespace / f"{name.name}.git"

    @contextmanager
    def readable(self, name: RepoName, caller: Caller) -> Iterator[Repository]:
        """Open a repository that the caller may read.

        Raises:
            RefusalError: there is none, or the caller must not know of it.
        """
        if not self.folder(name).is_dir():
            raise no_repository(name)
        with Repository.opened(self.folder(name), name) as repository:
            if not caller.may_read(name, private=repository.settings.private):
                raise no_repository(name)
            yield repository

    @contextmanager
    def readable_by_git(self, name: RepoName, caller: Caller) -> Iterator[Repository]:
        """Open a repository for git or git-lfs, which show their credential only when they are asked for it.

        Raises:
            RefusalError: 401, if a credential may help; 404 as above.
        """
        if not caller.known:
            try:
                with self.readable(name, caller):
                    pass
            except RefusalError as refusal:
                raise please_log_in() from refusal
        with self.readable(name, caller) as repository:
            yield repository

    @contextmanager
    def writable(self, name: RepoName, caller: Caller) -> Iterator[Repository]:
        """Open a repository that the caller may change; one writer at a time.

        Raises:
            RefusalError: there is none, or the caller may not.
        """
        with self.readable(name, caller) as repository:
            self.require_writer(name, caller)
            with self._writing:
                try:
                    yield repository
                except FileLocked as err:  # git, for a push, has the reference just now
                    raise RefusalError(503, "a push is under way", headers={"Retry-After": "1"}) from err

    @staticmethod
    def require_writer(name: RepoName, caller: Caller) -> None:
        """Refuse a caller who may not change a repository.

        Raises:
            RefusalError: 401 for nobody, 403 for somebody without the right.
        """
        if not caller.known:
            raise please_log_in()
        if not caller.may_write(name):
            message = (
                f"{caller.name} has no write access to {name}; ask for a token with the role write in {name.namespace}"
            )
            raise RefusalError(403, message)

    def create(self, name: RepoName, caller: Caller, *, private: bool) -> None:
        """Make an empty repository.

        Raises:
            RefusalError: 409 if it exists, 403 without the right.
        """
        self.require_writer(name, caller)
        if name.type is RepoType.KERNEL and not (caller.user and caller.user.may_create_kernels):
            raise RefusalError(403, "Kernel repositories need approval: ask for it in the settings of the account.")
        with self._writing:
            try:
                make_repository(self.folder(name), name, private=private)
            except FileExistsError as err:
                raise RefusalError(409, "You already created this kernel repo") from err

    def delete(self, name: RepoName, caller: Caller) -> None:
        """Remove a repository with all that it holds."""
        with self.writable(name, caller):
            aside = self.folder(name).with_name(f"{name.name}.git{atomic.PARTIAL}{time.monotonic_ns()}")
            self.folder(name).rename(aside)
            shutil.rmtree(aside)

    def objects(self, name: RepoName) -> LargeObjects:
        """Return the LFS objects of a repository.

        Raises:
            RefusalError: there is no such repository: an upload address outlives it.
        """
        if not self.folder(name).is_dir():
            raise no_repository(name)
        return LargeObjects(self.folder(name))

    # -- addresses that carry a right ----------------------------------------------------------------------------

    def sign(self, path: str) -> str:
        """Return a path and query that may be used without a token for an hour: uploads carry none."""
        expires = str(int(time.time()) + _ADDRESS_SECONDS)
        return f"{path}?expires={expires}&signature={self._signature(path, expires)}"

    def require_signature(self, path: str, expires: str | None, signature: str | None) -> None:
        """Refuse an address that this server did not sign, or that is too old.

        Raises:
            RefusalError: 403.
        """
        if not expires or not signature or not self._is_signature(path, expires, signature):
            raise RefusalError(403, "the upload address is not valid")
        if int(expires) < time.time():
            raise RefusalError(403, "the upload address has expired")

    def _is_signature(self, path: str, expires: str, signature: str) -> bool:
        return hmac.compare_digest(self._signature(path, expires).encode(), signature.encode())

    def _signature(self, path: str, expires: str) -> str:
        return hmac.new(self._key, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()


def unusable(root: Path, err: OSError) -> InputError:
    """Say that a folder cannot be served, and why."""
    return InputError(
        f"it cannot hold a Hub: {err.strerror or err}",
        where=str(root),
        fix="Name a folder that you may write to, or one that does not exist yet.",
    )
