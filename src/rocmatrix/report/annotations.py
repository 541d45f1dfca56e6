"""Annotations of a GitHub Actions run: each failure at the line of the author's own file that it comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from rocmatrix.errors import RocmatrixError
from rocmatrix.events import Stage
from rocmatrix.plan.model import UnitId
from rocmatrix.records import Severity
from rocmatrix.report.board import StageView
from rocmatrix.report.compiler_errors import compiler_errors, in_project
from rocmatrix.report.subject import Subject
from rocmatrix.report.workflow_commands import Location, error_annotation, first_location, in_workspace

MOST = 10
"""Annotations of one kind and step that GitHub shows; docs.github.com, "Usage limits" of workflow commands."""

_FILE_AND_LINE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?$")


def failure_annotations(subject: Subject, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return one workflow command for each error of a compiler or an audit, and for each other unit that failed.

    Compilers name files relative to the kernel's project or in their private copy of it; a file that is not in the
    repository (a header of a toolchain) is left out of the annotation, since a runner would not find it. What several
    units say alike is said once.
    """
    commands: dict[str, str] = {}
    for unit, view in subject.board.failures:
        for said, location in _faults(subject, unit, view):
            place = f"{location.file}:{location.line}" if location else unit
            named = _placed(location, subject, unit, environment) if location else None
            title = f"{view.stage.value} failed: {unit}"
            commands.setdefault(f"{place}: {said}", error_annotation(said, title=title, location=named))
    return list(commands.values())[:MOST]


def _faults(subject: Subject, unit: UnitId, view: StageView) -> Iterator[tuple[str, Location | None]]:
    """Yield what is wrong with a unit, each with its place if it has one."""
    message = view.error or view.reason
    errors = compiler_errors(Path(view.log)) if view.stage is Stage.BUILD and view.log else ()
    record = subject.result.audits.get(unit) if view.stage is Stage.AUDIT else None
    if errors:
        first = first_location(message)
        for error in errors:
            same = first is not None and (first.line, first.column) == (error.location.line, error.location.column)
            yield message if same else f"{error.location.file}:{error.location.line}: {error.what}", error.location
    elif record:
        for finding in record.findings:
            if finding.severity is Severity.ERROR:
                named = _FILE_AND_LINE.match(finding.where)
                location = Location(file=named["file"], line=int(named["line"])) if named else None
                yield f"{finding.rule}: {finding.where}: {finding.what}\n{finding.fix}", location
    else:
        yield message, first_location(message)


def _placed(location: Location, subject: Subject, unit: UnitId, environment: Mapping[str, str]) -> Location | None:
    root = subject.options.matrix.absolute().parent
    kernel = subject.result.plan.kernel(subject.result.plan.unit(unit).kernel)
    project = root / kernel.path
    package = project / "torch-ext" / kernel.name.replace("-", "_")
    return in_workspace(in_project(location, project), (project, package, root), workspace(environment))


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
