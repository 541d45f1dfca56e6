"""A repository on a Hub as a release looks at it: questions are repeated while the Hub fails, commits are read once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rocmatrix.errors import InputError, ReleaseError
from rocmatrix.metadata import METADATA_NAME
from rocmatrix.release.hub import Hub, References
from rocmatrix.release.persistence import GiveUp, Patience, Persistence, SystemClock, stopped, unreachable
from rocmatrix.release.trees import BUILD, Tree, variants_of

_OUR_BLOCK = "rocmatrix"


@dataclass(frozen=True, kw_only=True)
class View:
    """One repository.

    Attributes:
        hub: where it is.
        persistence: what repeats.
        repository: ``namespace/name``.
    """

    hub: Hub
    persistence: Persistence
    repository: str
    _trees: dict[str, Tree] = field(default_factory=dict, repr=False)

    def references(self) -> References:
        """Return branches and tags as they are now.

        Raises:
            ReleaseError: the repository does not exist.
        """
        found = self.persistence.ask("branches and tags", lambda: self.hub.references(self.repository))
        if found is None:
            fix = "Look at general.hub.repo-id in build.toml; a private repository needs a token that may read it."
            raise ReleaseError("there is no such repository", where=self.repository, fix=fix)
        return found

    def named_references(self) -> References:
        """Return branches and tags of a repository that is only looked at.

        Raises:
            InputError: the repository that was named does not exist.
        """
        found = self.persistence.ask("branches and tags", lambda: self.hub.references(self.repository))
        if found is None:
            fix = "Check the name; a private one needs a token that may read it (`hf auth login`, or HF_TOKEN)."
            raise InputError("the Hub has no such kernel, or does not show it", where=self.repository, fix=fix)
        return found

    def tree(self, commit: str) -> Tree:
        """Return all files of a commit."""
        if commit not in self._trees:
            self._trees[commit] = self.persistence.ask("files", lambda: self.hub.tree(self.repository, commit))
        return self._trees[commit]

    def read(self, commit: str, path: str) -> bytes:
        """Return the bytes of a small file of a commit; nothing if it has none."""
        if path not in self.tree(commit):
            return b""
        return self.persistence.ask(path, lambda: self.hub.read(self.repository, commit, [path]))[path]

    def download(self, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Fetch files of a commit anew."""
        wanted = tuple(paths)
        self.persistence.ask("files", lambda: self.hub.download(self.repository, commit, wanted, folder))

    def our_variants(self, commit: str) -> tuple[str, ...]:
        """Return the variants of a commit whose metadata has our block; all others are other people's.

        Metadata that cannot be read is not ours to replace.
        """
        tree = self.tree(commit)
        paths = [path for name in variants_of(tree) if (path := f"{BUILD}/{name}/{METADATA_NAME}") in tree]
        if not paths:
            return ()
        found = self.persistence.ask("metadata", lambda: self.hub.read(self.repository, commit, paths))
        return tuple(path.split("/")[1] for path in paths if _has_our_block(found[path]))


def patient_view(
    hub: Hub,
    repository: str,
    *,
    tell: Callable[[str], None] = lambda _: None,
    patience: Patience | None = None,
    give_up: GiveUp = stopped,
) -> View:
    """Return a repository whose Hub is asked as often as patience allows, from now on.

    Args:
        hub: where it is.
        repository: ``namespace/name``.
        tell: called with a sentence before each wait.
        patience: the limits.
        give_up: makes the error that ends it: ``stopped`` for a release, ``unreachable`` for what only looks.
    """
    persistence = Persistence(SystemClock(), patience or Patience(), tell, give_up=give_up)
    return View(hub=hub, persistence=persistence, repository=repository)


def glance(hub: Hub, repository: str) -> View:
    """Return a repository that is only looked at, by somebody who waits."""
    return patient_view(hub, repository, patience=Patience(attempts=3), give_up=unreachable)


def _has_our_block(content: bytes) -> bool:
    try:
        metadata = json.loads(content)
    except ValueError:
        return False
    return isinstance(metadata, dict) and isinstance(metadata.get(_OUR_BLOCK), dict)
