"""Annotations of a GitHub Actions run for the findings of an audit of a path."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from rocmatrix.audit.kernel_audit import AuditSet
from rocmatrix.records import Severity
from rocmatrix.report.annotations import workspace
from rocmatrix.report.workflow_commands import Location, error_annotation, in_workspace

_LINE = re.compile(r"(?P<file>[^:]+\.py):(?P<line>[0-9]{1,9})")
_MOST = 10
"""Annotations of one step that GitHub shows; docs.github.com, "Usage limits" of workflow commands."""


def finding_annotations(audited: AuditSet, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a workflow command for each error, at the line of the Python file that it names if it names one."""
    commands: list[str] = []
    for one in audited.audits:
        folder = Path(one.prefix)
        for finding in one.findings:
            if finding.severity is not Severity.ERROR or len(commands) >= _MOST:
                continue
            named = _LINE.fullmatch(finding.where)
            location = Location(file=named["file"], line=int(named["line"])) if named else None
            if location:
                location = in_workspace(location, (folder.absolute(),), workspace(environment))
            message = f"{finding.where}: {finding.what}\n{finding.fix}"
            title = f"audit[{finding.rule}]: {Path(one.path).name}"
            commands.append(error_annotation(message, title=title, location=location))
    return commands
