"""What is to be released, and how it ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rocmatrix.release.source_tag import Release, later_releases
from rocmatrix.release.verification import Expectations


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be released.

    Attributes:
        release: the tag.
        expectations: the set, and what it is held against.
        message: of the commits and the tag.
        card: bytes of README.md on ``main``.
        source_commit: of the sources.
        builds_on_main: whether ``main`` gets the variants too: clients before versions look there.
    """

    release: Release
    expectations: Expectations
    message: str
    card: bytes
    source_commit: str
    builds_on_main: bool = False

    @property
    def branch(self) -> str:
        """The branch that loaders look at for this major version."""
        return f"v{self.release.major}"

    @property
    def staging(self) -> str:
        """A branch that loaders ignore: they know ``v<number>`` only."""
        return f"{'pre' if self.release.preliminary else 'staging'}/{self.release.tag}"

    def later(self, tags: Iterable[str], withdrawn: Collection[str]) -> tuple[Release, ...]:
        """Return the releases after this one, as ``later_releases`` does."""
        return later_releases(tags, self.release, withdrawn)


@dataclass(frozen=True, kw_only=True)
class Released:
    """How a release ended: the tagged commit, and whether it was there before."""

    commit: str
    already: bool
