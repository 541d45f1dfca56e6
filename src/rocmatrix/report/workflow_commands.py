"""GitHub Actions workflow commands: writing our own, and letting nobody else's through.

A runner executes any line of a log that looks like a command, whichever stream it came from. Sources:
https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands, and ``ActionCommand.cs`` of
actions/runner: ``::`` counts at the start of a line after white space, the older ``##[`` anywhere in it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rocmatrix.report.text import visible

_COMMAND_LIKE = re.compile(r"^\s*::|##\[", re.MULTILINE)
_LOCATION = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<column>\d+))?:", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Location:
    """A place in a source file: path as the tool printed it, line and column counted from 1."""

    file: str
    line: int
    column: int | None = None


def in_actions(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the log is read by a GitHub Actions runner."""
    return environment.get("GITHUB_ACTIONS") == "true"


def guarded(text: str) -> str:
    """Return a text in which no line is taken for a command.

    A text without such lines is returned as it is; else it is put between ``::stop-commands::<token>`` and the token,
    which nobody can guess.
    """
    if not _COMMAND_LIKE.search(text):
        return text
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{text}\n::{token}::"


def first_location(error: str) -> Location | None:
    """Return the first ``file:line[:column]:`` at the start of a line, as compilers print it."""
    found = _LOCATION.search(error)
    if not found:
        return None
    column = found["column"]
    return Location(file=found["file"], line=int(found["line"]), column=int(column) if column else None)


def error_annotation(message: str, *, title: str, location: Location | None = None) -> str:
    """Return the command that marks a line of a file, or the run if there is no location, with an error."""
    properties = {"title": title}
    if location:
        properties |= {"file": location.file, "line": str(location.line)}
        if location.column:
            properties["col"] = str(location.column)
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {listed}::{_data(visible(message))}"


def in_workspace(location: Location, folders: tuple[Path, ...], workspace: Path) -> Location | None:
    """Return the location relative to the checked-out repository, or ``None`` if its file is not there.

    Args:
        location: as a tool printed it.
        folders: what a relative path may be relative to, tried in order.
        workspace: the top of the checked-out repository.
    """
    for folder in folders:
        path = (folder / location.file).resolve()
        if path.is_file() and path.is_relative_to(workspace.resolve()):
            relative = PurePosixPath(path.relative_to(workspace.resolve()))
            return Location(file=str(relative), line=location.line, column=location.column)
    return None


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
