"""What people see while an environment is made: one line a package, with sizes; on a terminal the line moves."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TextIO

from private_environment.machine import size


@dataclass(frozen=True, kw_only=True)
class Package:
    """One distribution that pip has got hold of.

    Attributes:
        name: as in the wheel's file name.
        version: as in the wheel's file name.
        bytes: size of the wheel; exact where pip told every byte, else as exact as pip printed it; ``None``: unknown.
        downloaded: false when it came from pip's cache or from a folder of this machine.
    """

    name: str
    version: str
    bytes: int | None
    downloaded: bool


class Display:
    """Writes to ``stream`` (standard error by default), which is never the stream of a ``--json`` document."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._moves = self._stream.isatty()
        self._packages: list[Package] = []
        self._open_line = False
        self._started = time.monotonic()

    def say(self, text: str) -> None:
        """Write one line."""
        self._clear()
        print(text, file=self._stream, flush=True)

    def moving(self, name: str, version: str, done: int, total: int) -> None:
        """Show how far a download is, in bytes; nothing where lines cannot move."""
        if self._moves:
            print(f"\r\033[K  {name} {version}  {size(done)} of {size(total)}", end="", file=self._stream, flush=True)
            self._open_line = True

    def arrived(self, package: Package) -> None:
        """Show a package that is here, with its size."""
        self._packages.append(package)
        how_large = "size unknown" if package.bytes is None else size(package.bytes)
        origin = "" if package.downloaded else "  (no download)"
        self.say(f"  {package.name + ' ' + package.version:<36} {how_large:>10}{origin}")

    def total(self) -> str:
        """Return the sum of it all so far: packages, bytes downloaded and not, seconds."""
        fetched = sum(package.bytes or 0 for package in self._packages if package.downloaded)
        local = sum(package.bytes or 0 for package in self._packages if not package.downloaded)
        seconds = time.monotonic() - self._started
        origins = f"{size(fetched)} downloaded, {size(local)} from this machine"
        return f"{len(self._packages)} packages: {origins}, {seconds:.0f} s"

    def _clear(self) -> None:
        if self._open_line:
            print("\r\033[K", end="", file=self._stream)
            self._open_line = False
