"""Reads what pip prints while it installs: which package, how many bytes, and in the end what was missing.

The lines are those of the pip that requirements/pip.txt pins, called with ``--progress-bar raw``. A line that is not
understood is kept as the last one said and otherwise ignored.
"""

from __future__ import annotations

import re
from pathlib import Path

from private_environment.display import Display, Package

_COLLECTING = re.compile(r"^Collecting (?P<requirement>[^ (]+)")
_TRANSFER = re.compile(r"^ +(?P<how>Downloading|Using cached) (?P<file>\S+)(?: \((?P<size>[^)]*)\))?$")
_LOCAL = re.compile(r"^Processing (?P<path>.+?\.whl)(?: \(from .*\))?$")
_PROGRESS = re.compile(r"^Progress (?P<done>\d+) of (?P<total>\d+)$")
_INSTALLING = re.compile(r"^Installing collected packages: (?P<names>.+)$")
_BROKEN = re.compile(r"^WARNING: Retrying .* after connection broken by (?P<why>.+?): /\S*$")
_NOT_FOUND = re.compile(r"^ERROR: No matching distribution found for (?P<requirement>\S+)")
_WRONG_HASH = re.compile(r"^ {4}(?P<requirement>\S+) from \S+(?: \(from .*\))?:$")
_UNITS = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


class PipOutput:
    """One run of pip, line by line.

    Attributes:
        missing: the requirement that pip could not get, as the last lines said; empty when none was named yet.
        last_error: pip's last line that begins with ``ERROR:``, without that word, else its last line.
        connection: why the last connection broke; empty when none did.
    """

    def __init__(self, display: Display, folder: Path) -> None:
        self._display = display
        self._folder = folder
        self._current: Package | None = None
        self._last_line = ""
        self._errors: list[str] = []
        self._collecting = ""
        self._named = ""
        self.connection = ""

    @property
    def missing(self) -> str:
        """Return the requirement that the failure is about."""
        return self._named or self._collecting

    @property
    def last_error(self) -> str:
        """Return what pip said last about why it stopped."""
        return self._errors[-1] if self._errors else self._last_line

    def feed(self, line: str) -> None:
        """Take the next line, without its line end."""
        if match := _PROGRESS.match(line):
            self._progress(int(match["done"]), int(match["total"]))
            return
        self.finish()
        if line.strip():
            self._last_line = line.strip()
        if match := _TRANSFER.match(line):
            self._current = _package(match["file"], _bytes(match["size"]), downloaded=match["how"] == "Downloading")
        elif match := _LOCAL.match(line):
            self._current = _package(match["path"], _size_of(self._folder / match["path"]), downloaded=False)
        elif match := _COLLECTING.match(line):
            self._collecting = match["requirement"]
        elif match := _INSTALLING.match(line):
            self._collecting = ""
            names = match["names"].split(", ")
            self._display.say(f"  installing {len(names)} packages" if len(names) > 1 else f"  installing {names[0]}")
        else:
            self._trouble(line)

    def finish(self) -> None:
        """Count the package whose lines have ended; also to be called after the last line."""
        if self._current is not None:
            self._display.arrived(self._current)
            self._current = None

    def _progress(self, done: int, total: int) -> None:
        if self._current is not None and total:
            name, version = self._current.name, self._current.version
            self._current = Package(name=name, version=version, bytes=total, downloaded=self._current.downloaded)
            self._display.moving(name, version, done, total)

    def _trouble(self, line: str) -> None:
        if match := _BROKEN.match(line):
            if not self.connection:
                self._display.say(f"  pip tries again: {match['why']}")
            self.connection = match["why"]
        elif match := _NOT_FOUND.match(line) or (_WRONG_HASH.match(line) if self._errors else None):
            self._named = match["requirement"]
        if line.startswith("ERROR: "):
            self._errors.append(line.removeprefix("ERROR: ").strip())


def _package(file: str, size: int | None, *, downloaded: bool) -> Package | None:
    """Return what a wheel's file name says (PEP 427), or ``None`` for another file, such as metadata of an index."""
    name = file.rsplit("/", 1)[-1]
    if not name.endswith(".whl"):
        return None
    distribution, version = name.split("-")[:2]
    return Package(name=distribution, version=version, bytes=size, downloaded=downloaded)


def _bytes(text: str | None) -> int | None:
    number, _, unit = (text or "").partition(" ")
    try:
        return round(float(number) * _UNITS[unit])
    except (ValueError, KeyError):  # a form that pip does not print today: the size is unknown, no more
        return None


def _size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
