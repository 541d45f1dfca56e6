"""Outputs of a step of a GitHub Actions job: what later jobs are told, by a file that the runner names.

Source: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands, "Setting an output parameter"
and "Multiline strings": a delimiter that nobody can guess keeps a value from setting outputs of its own.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from rocmatrix.errors import MissingRequirementError
from rocmatrix.report.workflow_commands import in_actions

VARIABLE = "GITHUB_OUTPUT"
_NAME = re.compile(r"[a-z][a-z0-9-]*")


def write_step_outputs(outputs: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> None:
    """Add outputs to those of the step; nothing happens outside of a GitHub Actions job.

    Raises:
        MissingRequirementError: the runner's file cannot be written.
        ValueError: a name is none.
    """
    path = environment.get(VARIABLE)
    if not in_actions(environment) or not path:
        return
    lines = []
    for name, value in outputs.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name an output")
        delimiter = f"end-{secrets.token_hex(16)}"
        lines.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(lines)
    except OSError as err:
        fix = "The runner names this file; look at its disk and at what earlier steps did to it."
        raise MissingRequirementError(f"no output was written: {err.strerror}", where=path, fix=fix) from err
