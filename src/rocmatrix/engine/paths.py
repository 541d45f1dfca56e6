"""How paths of this machine read where an engine runs its commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Place:
    """A file or folder of this machine that commands use.

    Attributes:
        host: its absolute path here.
        name: its path in an engine with a file system of its own, relative to what the engine keeps for commands, e.g.
            ``project`` or ``headers/torch-2.13.0``. It may get into a binary, so that it must not depend on this
            machine; in one room a name means one content.
        writable: whether commands may write there.
        sent: whether what is here is there too when a room's first command runs; else it begins empty.
        fetched: whether what a command that may write there (``Command.writable``) left is brought back once it ended
            well; what was here is replaced.
    """

    host: Path
    name: str
    writable: bool = False
    sent: bool = True
    fetched: bool = False


@dataclass(frozen=True)
class PathMap:
    """Translates texts that hold paths: pairs of a path here and where it is for commands. Empty: nothing changes."""

    pairs: tuple[tuple[str, str], ...] = ()

    def inward(self, text: str) -> str:
        """Return a text with paths of this machine written as commands see them."""
        return self._translated(text, self._inward) if self.pairs else text

    def outward(self, text: str) -> str:
        """Return what a command printed with the paths of this machine."""
        return self._translated(text, self._outward) if self.pairs else text

    @cached_property
    def _inward(self) -> tuple[re.Pattern[str], dict[str, str]]:
        return _pattern([here for here, _ in self.pairs]), dict(self.pairs)

    @cached_property
    def _outward(self) -> tuple[re.Pattern[str], dict[str, str]]:
        return _pattern([there for _, there in self.pairs]), {there: here for here, there in self.pairs}

    @staticmethod
    def _translated(text: str, rules: tuple[re.Pattern[str], dict[str, str]]) -> str:
        pattern, replacement = rules
        return pattern.sub(lambda match: replacement[match[0]], text)


def _pattern(prefixes: Sequence[str]) -> re.Pattern[str]:
    """Return what matches leading components of a path as a whole: ``/a/b`` is not in ``/a/bc``."""
    longest = sorted(prefixes, key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(map(re.escape, longest))})(?![A-Za-z0-9._+~-])")
