"""Branches and tags of a repository as a release knows them: from its last look, and from its own changes since."""

from __future__ import annotations

from collections.abc import Mapping

from rocmatrix.release.hub import References


class KnownReferences:
    """What the Hub showed, with the changes that it accepted since.

    Attributes:
        now: branches and tags; ``None`` if nothing is known.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self.now: References | None = None
        self._earlier: dict[str, set[str | None]] = {}
        self._latest: dict[str, str | None] = {}

    @property
    def changed(self) -> bool:
        """Whether anything was changed here."""
        return bool(self._latest)

    def take(self, shown: References | None) -> None:
        """Take what the Hub shows now."""
        self.now = shown

    def doubt(self) -> None:
        """Know of no branch and no tag where it is; what was changed until now stays known."""
        self.now = None

    def forget(self) -> None:
        """Know nothing any more."""
        self.now = None
        self._earlier.clear()
        self._latest.clear()

    def move_branch(self, branch: str, commit: str | None) -> None:
        """Note that a branch was created, moved or, with ``None``, deleted."""
        if self.now is not None:
            self._note(branch, self.now.branches.get(branch), commit)
            self.now = References(branches=_with(self.now.branches, branch, commit), tags=self.now.tags)

    def add_tag(self, tag: str, commit: str) -> None:
        """Note that a tag was created."""
        if self.now is not None:
            self._note(_tag(tag), self.now.tags.get(tag), commit)
            self.now = References(branches=self.now.branches, tags=_with(self.now.tags, tag, commit))

    def _note(self, name: str, before: str | None, after: str | None) -> None:
        self._earlier.setdefault(name, set()).add(before)
        self._latest[name] = after

    def behind(self, shown: References | None) -> tuple[str, ...]:
        """Return what a Hub shows as it was before it was changed here; others may have moved a branch on since."""
        found: dict[str, str | None] = {}
        if shown is not None:
            found = {**shown.branches, **{_tag(name): commit for name, commit in shown.tags.items()}}
        return tuple(
            name
            for name, latest in self._latest.items()
            if found.get(name) != latest and found.get(name) in self._earlier[name]
        )


def _tag(name: str) -> str:
    """Return a tag's name where no branch has the same."""
    return f"the tag {name}"


def _with(names: Mapping[str, str], name: str, commit: str | None) -> dict[str, str]:
    """Return references with one that is at a commit; without it for ``None``."""
    others = {each: at for each, at in names.items() if each != name}
    return others if commit is None else {**others, name: commit}
