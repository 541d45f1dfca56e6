"""A repository on a Hub as a release sees it: questions are repeated while the Hub fails, nothing is asked twice.

Commits and blobs are named by their content, so what is known of them is never stale. Branches and tags are known from
the last look and from the changes that the Hub accepted since; whatever goes wrong makes that void, and the next
question about them goes to the Hub. A change is safe on what is known: each is made under a condition that the Hub
itself holds (a parent, a name that is free), and where somebody else was first it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rocmatrix.errors import InputError, ReleaseError
from rocmatrix.metadata import METADATA_NAME
from rocmatrix.release.hub import Change, Hub, MovedError, References, TransientError
from rocmatrix.release.known import KnownReferences
from rocmatrix.release.persistence import GiveUp, Patience, Persistence, SystemClock, stopped, unreachable
from rocmatrix.release.trees import BUILD, LocalFile, Tree, file_of, variants_of

_OUR_BLOCK = "rocmatrix"
T = TypeVar("T")
_MOST_METADATA = 1 << 20
"""Bytes; what the audit reads of a variant's metadata too (``audit.client_metadata``)."""


class View:
    """One repository, and what is known of it by now.

    Attributes:
        hub: where it is.
        persistence: what repeats.
        repository: ``namespace/name``.
    """

    def __init__(self, *, hub: Hub, persistence: Persistence, repository: str) -> None:
        """Know nothing of a repository yet."""
        self.hub = hub
        self.persistence = persistence
        self.repository = repository
        self._trees: dict[str, Tree] = {}
        self._contents: dict[str, bytes] = {}
        self._known = KnownReferences()

    # -- branches and tags ---------------------------------------------------------------------------------------

    def look(self) -> References | None:
        """Ask the Hub for branches and tags; ``None`` if there is no such repository.

        Raises:
            RocmatrixError: it does not answer, as long as patience goes, or not to this credential.
        """
        found = self.persistence.ask("branches and tags", lambda: self.hub.references(self.repository))
        self._known.take(found)
        return found

    def references(self) -> References:
        """Return branches and tags as they are known: the Hub is asked only if nothing is.

        Raises:
            ReleaseError: the repository does not exist.
        """
        found = self._known.now or self.look()
        if found is None:
            fix = "Look at general.hub.repo-id in build.toml; a private repository needs a token that may read it."
            raise ReleaseError("there is no such repository", where=self.repository, fix=fix)
        return found

    def named_references(self) -> References:
        """Return branches and tags of a repository that is only looked at.

        Raises:
            InputError: the repository that was named does not exist.
        """
        found = self._known.now or self.look()
        if found is None:
            fix = "Check the name; a private one needs a token that may read it (`hf auth login`, or HF_TOKEN)."
            raise InputError("the Hub has no such kernel, or does not show it", where=self.repository, fix=fix)
        return found

    def head(self, branch: str) -> str:
        """Return the commit that a branch is at which was seen before.

        Raises:
            MovedError: it is gone.
            ReleaseError: so is the repository.
        """
        found = self.references().branches.get(branch)
        if found is None:
            raise MovedError(f"{branch} is gone")
        return found

    def undisturbed(self, attempt: Callable[[], T]) -> T:
        """Return what an attempt comes to that nobody disturbed.

        Where somebody else changed the repository meanwhile, it waits as for a Hub that fails, and begins again from a
        new look: a Hub that is late does not show yet what the attempt ran into.

        Args:
            attempt: goes on from wherever an earlier one stopped; raises ``MovedError`` where it was disturbed.

        Raises:
            RocmatrixError: that of ``give_up``: it was disturbed too often, or time is up.
        """

        def once() -> T:
            self._known.forget()  # what it changes is what it finds in its own look, and changes after that
            try:
                return attempt()
            except MovedError as err:
                raise TransientError(f"somebody else changed it meanwhile ({err})") from err

        return self.persistence.ask(self.repository, once)

    def require_shown(self) -> None:
        """Wait until the Hub shows what it accepted: all branches and tags that were changed here.

        Raises:
            MovedError: somebody else moved a tag or deleted a branch of them.
            RocmatrixError: the Hub does not show it, as long as patience goes.
        """
        if not self._known.changed:
            return

        def look() -> None:
            shown = self.hub.references(self.repository)
            if taken := self._known.taken(shown):
                raise MovedError(f"{', '.join(taken)}: no longer where it was put")
            if behind := self._known.behind(shown):
                raise TransientError(f"the Hub accepted it, and does not show it yet: {', '.join(behind)}")

        self.persistence.ask("branches and tags", look)

    # -- changes -------------------------------------------------------------------------------------------------

    def create_branch(self, branch: str, commit: str) -> None:
        """Let a new branch begin at a commit.

        Raises:
            MovedError: there is one of this name.
            TransientError: it failed; the branch may have been made.
            ReleaseError: only a person can mend it.
        """
        with self._changing(lambda: self._known.doubt_branch(branch)):
            self.hub.create_branch(self.repository, branch, commit)
        self._known.move_branch(branch, commit)

    def delete_branch(self, branch: str) -> None:
        """Delete a branch.

        Raises:
            MovedError: it is gone already.
            TransientError: it failed; the branch may be gone.
            ReleaseError: only a person can mend it.
        """
        with self._changing(lambda: self._known.doubt_branch(branch)):
            self.hub.delete_branch(self.repository, branch)
        self._known.move_branch(branch, None)

    def create_tag(self, tag: str, commit: str, message: str) -> None:
        """Tag a commit.

        Raises:
            MovedError: there is such a tag.
            TransientError: it failed; the tag may have been made.
            ReleaseError: only a person can mend it.
        """
        with self._changing(lambda: self._known.doubt_tag(tag)):
            self.hub.create_tag(self.repository, tag, commit, message)
        self._known.add_tag(tag, commit)

    def commit(self, branch: str, change: Change, *, parent: str) -> None:
        """Commit to a branch whose head is ``parent``.

        Raises:
            MovedError: its head is another one.
            TransientError: it failed; the commit may have been made.
            ReleaseError: only a person can mend it.
        """
        with self._changing(lambda: self._known.doubt_branch(branch)):
            head = self.hub.commit(self.repository, branch, change, parent=parent)
        self._known.move_branch(branch, head)

    @contextmanager
    def _changing(self, doubt: Callable[[], None]) -> Iterator[None]:
        """What is known of branches and tags is void once a change did not end well: it may have been made."""
        try:
            yield
        except BaseException:
            doubt()
            raise

    # -- files ---------------------------------------------------------------------------------------------------

    def tree(self, commit: str) -> Tree:
        """Return all files of a commit.

        Raises:
            RocmatrixError: the Hub does not list them.
        """
        if commit not in self._trees:
            self._trees[commit] = self.persistence.ask("files", lambda: self.hub.tree(self.repository, commit))
        return self._trees[commit]

    def read(self, commit: str, path: str) -> bytes:
        """Return the bytes of a small file of a commit; nothing if it has none.

        Raises:
            RocmatrixError: the Hub does not give it.
        """
        return self._read(commit, [path]).get(path, b"")

    def _read(self, commit: str, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of those small files that a commit has; blobs that were read before are not asked for."""
        tree = self.tree(commit)
        there = [path for path in paths if path in tree]
        lacking = {tree[path].oid: path for path in there if tree[path].oid not in self._contents}
        if lacking:
            what = next(iter(lacking.values())) if len(lacking) == 1 else f"{len(lacking)} small files"
            wanted = tuple(lacking.values())
            found = self.persistence.ask(what, lambda: self.hub.read(self.repository, commit, wanted))
            self._contents.update((oid, found[path]) for oid, path in lacking.items())
        return {path: self._contents[tree[path].oid] for path in there}

    def download(self, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Fetch files of a commit anew, to the same paths below a folder.

        Raises:
            RocmatrixError: the Hub does not give them, or they cannot be written.
        """
        wanted = tuple(paths)
        self.persistence.ask("files", lambda: self.hub.download(self.repository, commit, wanted, folder))

    def our_variants(
        self, commit: str, *, here: Mapping[str, LocalFile] | None = None, also: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """Return the variants of a commit whose metadata has our block; all others are other people's.

        Metadata that cannot be read, or has more than a MiB, is not ours to replace.

        Args:
            commit: which one.
            here: path -> file of this machine; metadata of the same bytes is read here and not on the Hub.
            also: small files that will be read next, and are asked for at the same time.
        """
        tree = self.tree(commit)
        there = (path for name in variants_of(tree) if (path := f"{BUILD}/{name}/{METADATA_NAME}") in tree)
        paths = [path for path in there if tree[path].size <= _MOST_METADATA]
        for path in paths:
            file = here.get(path) if here else None
            if file is not None and file.matches(tree[path]):
                content = file.read()
                if file_of(content).matches(tree[path]):  # nobody wrote to it since it was hashed
                    self._contents[tree[path].oid] = content
        found = self._read(commit, [*paths, *also])
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
    except (ValueError, RecursionError):
        return False
    return isinstance(metadata, dict) and isinstance(metadata.get(_OUR_BLOCK), dict)
