"""What a release needs of a Hub. Two transports implement it: the Hub's API, and git with git-lfs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rocmatrix.release.trees import LocalFile, Tree


@dataclass(frozen=True, kw_only=True)
class References:
    """Branches and tags of a repository: name -> commit, tags peeled."""

    branches: Mapping[str, str]
    tags: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one commit does.

    Attributes:
        additions: path -> file; a path that is there gets other bytes.
        deletions: paths of files.
        message: first line, and after an empty line what else is to be said.
    """

    additions: Mapping[str, LocalFile]
    deletions: tuple[str, ...]
    message: str

    def __bool__(self) -> bool:
        """Whether it does anything."""
        return bool(self.additions or self.deletions)


class TransientError(Exception):
    """A request failed in a way that may pass: the state has to be looked at before anything is repeated.

    Attributes:
        wait: seconds that the server asked to wait for; ``None`` if it did not say.
    """

    def __init__(self, what: str, *, wait: float | None = None) -> None:
        """Keep the sentence, in which no secret may be, and the wait."""
        super().__init__(what)
        self.wait = wait


class MovedError(Exception):
    """A branch is not where the change was made for, or a name is taken: somebody else was here."""


class Hub(Protocol):
    """A place for releases.

    Every method raises ``TransientError`` for what may pass, ``MovedError`` where somebody else was first, and
    ``ReleaseError`` for what only a person can mend; none repeats a change by itself.
    """

    @property
    def name(self) -> str:
        """Its address, for people."""

    def references(self, repository: str) -> References | None:
        """Return branches and tags; ``None`` if there is no such repository."""

    def create_repository(self, repository: str) -> None:
        """Make an empty kernel repository."""

    def create_branch(self, repository: str, branch: str, commit: str) -> None:
        """Let a new branch begin at a commit."""

    def delete_branch(self, repository: str, branch: str) -> None:
        """Delete a branch."""

    def create_tag(self, repository: str, tag: str, commit: str, message: str) -> None:
        """Tag a commit."""

    def tree(self, repository: str, commit: str) -> Tree:
        """Return all files of a commit."""

    def read(self, repository: str, commit: str, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of small files that a commit has: path -> bytes."""

    def commit(self, repository: str, branch: str, change: Change, *, parent: str) -> str:
        """Commit to a branch whose head is ``parent``, and return the new head."""

    def download(self, repository: str, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Fetch files of a commit anew, past all caches, to the same paths below a folder."""
