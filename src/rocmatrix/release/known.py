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

    def doubt_branch(self, branch: str) -> None:
        """Know of no branch and no tag where it is: a change of this branch failed, and may have been made."""
        self._doubt(branch)

    def doubt_tag(self, tag: str) -> None:
        """Know nothing, as above: a tag may have been made."""
        self._doubt(_tag(tag))

    def _doubt(self, name: str) -> None:
        self.now = None
        self._latest.pop(name, None)  # what it was before is no longer what the Hub has to show; the next look tells

    def forget(self) -> None:
        """Know nothing any more."""
        self.now = None
        self._earlier.clear()
        self._latest.clear()

    def move_branch(self, branch: str, commit: str | None) -> None:
        """Note that a branch was created, moved or, with ``None``, deleted.

        While nothing is known nothing is noted: from where it was moved is not known, and the next look decides.
        """
        if self.now is not None:
            self._note(branch, self.now.branches.get(branch), commit)
            self.now = References(branches=_with(self.now.branches, branch, commit), tags=self.now.tags)

    def add_tag(self, tag: str, commit: str) -> None:
        """Note that a tag was created; nothing is noted while nothing is known, as above."""
        if self.now is not None:
            self._note(_tag(tag), self.now.tags.get(tag), commit)
            self.now = References(branches=self.now.branches, tags=_with(self.now.tags, tag, commit))

    def _note(self, name: str, before: str | None, after: str | None) -> None:
        self._earlier.setdefault(name, set()).add(before)
        self._latest[name] = after

    def behind(self, shown: References | None) -> tuple[str, ...]:
        """Return what a Hub shows as it was before it was changed here; others may have moved a branch on since."""
        found = _by_name(shown)
        return tuple(
            name
            for name, latest in self._latest.items()
            if found.get(name) != latest and found.get(name) in self._earlier[name]
        )

    def taken(self, shown: References | None) -> tuple[str, ...]:
        """Return what others took away since it was changed here: tags that they moved, branches that they deleted."""
        found = _by_name(shown)
        return tuple(
            name
            for name, latest in self._latest.items()
            if found.get(name) not in {latest, *self._earlier[name]} and (name not in found or name.startswith(_TAG))
        )


_TAG = "the tag "


def _by_name(shown: References | None) -> Mapping[str, str]:
    """Return where branches and tags are, each by the name that it has here."""
    return {} if shown is None else {**shown.branches, **{_tag(name): at for name, at in shown.tags.items()}}


def _tag(name: str) -> str:
    """Return a tag's name where no branch has the same: in those of branches no space can be."""
    return f"{_TAG}{name}"


def _with(names: Mapping[str, str], name: str, commit: str | None) -> dict[str, str]:
    """Return references with one that is at a commit; without it for ``None``."""
    others = {each: at for each, at in names.items() if each != name}
    return others if commit is None else {**others, name: commit}
