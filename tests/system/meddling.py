"""A Hub on which somebody else does something at a certain moment of a release or a withdrawal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from huggingface_hub import CommitOperationAdd

from rocmatrix.release.api_hub import ApiHub
from rocmatrix.release.credentials import Credential
from rocmatrix.release.hub import Change
from tests.system.hub import WRITER, RunningHub
from tests.system.release_source import REPOSITORY

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Meddling:
    """What somebody else does, once.

    Attributes:
        when: ``before`` or ``after``.
        what: the call: ``commit``, ``create_tag``, ``delete_branch`` or ``download``.
        does: what happens.
        number: of the call, from 1.
    """

    when: str
    what: str
    does: Callable[[], object]
    number: int = 1


class MeddledHub(ApiHub):
    """The Hub's API, and somebody else."""

    def __init__(self, hub: RunningHub, meddling: Meddling) -> None:
        """Talk to a Hub as somebody who may write."""
        super().__init__(hub.endpoint, Credential(token=WRITER, source="a test"))
        self._meddling = meddling
        self._calls = 0

    def commit(self, repository: str, branch: str, change: Change, *, parent: str) -> str:
        """Commit, with somebody else before or after."""
        return self._meddled("commit", lambda: ApiHub.commit(self, repository, branch, change, parent=parent))

    def create_tag(self, repository: str, tag: str, commit: str, message: str) -> None:
        """Tag, as above."""
        self._meddled("create_tag", lambda: ApiHub.create_tag(self, repository, tag, commit, message))

    def delete_branch(self, repository: str, branch: str) -> None:
        """Delete a branch, as above."""
        self._meddled("delete_branch", lambda: ApiHub.delete_branch(self, repository, branch))

    def download(self, repository: str, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Download, as above."""
        self._meddled("download", lambda: ApiHub.download(self, repository, commit, paths, folder))

    def _meddled(self, what: str, call: Callable[[], T]) -> T:
        self._calls += what == self._meddling.what
        now = what == self._meddling.what and self._calls == self._meddling.number
        if now and self._meddling.when == "before":
            self._meddling.does()
        result = call()
        if now and self._meddling.when == "after":
            self._meddling.does()
        return result


def put(hub: RunningHub, branch: str, files: Mapping[str, bytes]) -> None:
    """Let somebody else commit files."""
    operations = [CommitOperationAdd(path, content) for path, content in files.items()]
    hub.api().create_commit(REPOSITORY, operations, commit_message="theirs", revision=branch, repo_type="kernel")


def delete_branch(hub: RunningHub, branch: str) -> None:
    """Let somebody else delete a branch."""
    hub.api().delete_branch(REPOSITORY, branch=branch, repo_type="kernel")


def delete_tag(hub: RunningHub, tag: str) -> None:
    """Let somebody else delete a tag."""
    hub.api().delete_tag(REPOSITORY, tag=tag, repo_type="kernel")


def move_tag(hub: RunningHub, tag: str, to: str) -> None:
    """Let somebody else move a tag, which a Hub does not allow but by deleting it."""
    delete_tag(hub, tag)
    hub.api().create_tag(REPOSITORY, tag=tag, revision=to, repo_type="kernel")
