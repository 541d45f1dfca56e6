"""Annotations of a GitHub Actions run: each failure at the line of the author's own file that it comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from rocmatrix.errors import RocmatrixError
from rocmatrix.report.subject import Subject
from rocmatrix.report.workflow_commands import Location, error_annotation, first_location, in_workspace

_FILE_AND_LINE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?$")


def failure_annotations(subject: Subject, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return one workflow command for each unit that failed.

    Compilers name files relative to the kernel's project; a file that is not in the repository (a header of a
    toolchain) is left out of the annotation, since a runner would not find it.
    """
    root = subject.options.matrix.absolute().parent
    commands = []
    for unit, view in subject.board.failures:
        kernel = subject.result.plan.kernel(subject.result.plan.unit(unit).kernel)
        message = view.error or view.reason
        location = first_location(message)
        if location:
            location = in_workspace(location, (root / kernel.path, root), workspace(environment))
        commands.append(error_annotation(message, title=f"{view.stage.value} failed: {unit}", location=location))
    return commands


def refusal_annotation(error: RocmatrixError, environment: Mapping[str, str] = os.environ) -> str:
    """Return the workflow command for a command that was refused, at the file and line that the error names."""
    named = _FILE_AND_LINE.match(error.where or "")
    location = Location(file=named["file"], line=int(named["line"])) if named else None
    if location:
        location = in_workspace(location, (Path.cwd(),), workspace(environment))
    return error_annotation(str(error), title="rocmatrix", location=location)


def workspace(environment: Mapping[str, str]) -> Path:
    """Return the top of the checked-out repository as the runner names it, else the current folder."""
    return Path(environment.get("GITHUB_WORKSPACE") or Path.cwd())
