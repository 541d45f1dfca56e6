"""``rocmatrix gate``: whether the jobs of a workflow did what its plan promised."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.cli.options import Verb, named_path
from rocmatrix.errors import ExitCode, InputError

if TYPE_CHECKING:
    from rocmatrix.gating import Job

_LARGEST = 64 << 20
"""Bytes of the results that are read: GitHub allows 50 MB of outputs for all jobs of a run."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument(
        "--results",
        type=named_path,
        required=True,
        metavar="FILE",
        help="JSON of the workflow's `needs` context (toJSON(needs)); - for standard input",
    )
    parser.add_argument(
        "--mode",
        choices=("plan", "build", "check", "release"),
        required=True,
        help="how far the workflow was to go",
    )
    parser.add_argument("--gpu", action="store_true", help="a check on a GPU was asked for")


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Judge; a run that did not do what was planned ends with the code of what went wrong first."""
    from rocmatrix.gating import Mode, judge  # noqa: PLC0415 - `--help` needs none of them
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.gate_view import append_gate_summary, gate_annotations, show_gate  # noqa: PLC0415
    from rocmatrix.report.text import one_line  # noqa: PLC0415 - as above
    from rocmatrix.report.workflow_commands import in_actions  # noqa: PLC0415

    judgement = judge(read_jobs(arguments.results), mode=Mode(arguments.mode), gpu=arguments.gpu)
    people = make_console(sys.stderr if arguments.json else sys.stdout)
    if arguments.json:
        write_document(judgement, sys.stdout)
    show_gate(judgement, people)
    if in_actions():
        for command in gate_annotations(judgement):
            make_console(sys.stderr).print(command, soft_wrap=True)
        if path := os.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                append_gate_summary(judgement, Path(path))
            except OSError as err:
                people.print(f"warning: {one_line(path)}: no summary was written: {err.strerror}", soft_wrap=True)
    return judgement.exit_code


def read_jobs(path: Path) -> dict[str, Job]:
    """Return the jobs of a ``needs`` context by name.

    Raises:
        InputError: the text is not one.
    """
    from rocmatrix import document  # noqa: PLC0415
    from rocmatrix.gating import Job  # noqa: PLC0415
    from rocmatrix.input_file import read_input_or_stdin  # noqa: PLC0415

    where, text = read_input_or_stdin(path, largest=_LARGEST)
    try:
        return document.from_json(text, dict[str, Job])
    except document.DocumentError as err:
        fix = "Hand over toJSON(needs) of a job that needs all the others."
        raise InputError(f"this is no `needs` context: {err}", where=where, fix=fix) from err


VERB = Verb(
    name="gate",
    summary="judge the results of a workflow's jobs: nothing skipped, cancelled, empty or left out looks green",
    declare=declare,
    execute=execute,
)
