"""Every error that compilers put into a build's log, with its place, each once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.report.workflow_commands import Location

_LARGEST = 4 << 20
"""Bytes of a log that are read, its end."""

_ERROR = re.compile(
    r"^(?P<file>[^\s:<][^:\n]*):(?P<line>\d{1,9}):(?P<column>\d{1,9}): (?:fatal )?error: (?P<what>.+)$", re.MULTILINE
)
"""As clang and gcc print them."""


@dataclass(frozen=True, kw_only=True)
class CompilerError:
    """One error: where, as the compiler named the file, and what."""

    location: Location
    what: str


def compiler_errors(log: Path) -> tuple[CompilerError, ...]:
    """Return the errors of a log in their order, each once; none if it cannot be read: the first is in the record."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - _LARGEST))
            text = stream.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ()
    found = (
        CompilerError(
            location=Location(file=match["file"], line=int(match["line"]), column=int(match["column"])),
            what=match["what"].strip(),
        )
        for match in _ERROR.finditer(text.replace("\r\n", "\n"))
    )
    return tuple(dict.fromkeys(found))


def in_project(location: Location, project: Path) -> Location:
    """Return a place in the private copy that was compiled as one in the project, by the longest end of its path."""
    parts = Path(location.file).parts
    for start in range(len(parts)):
        path = Path(*parts[start:])
        if not path.is_absolute() and (project / path).is_file():
            return Location(file=str(path), line=location.line, column=location.column)
    return location
