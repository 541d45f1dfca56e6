"""What the verbs of the main job share: follow the work, then present what it came to.

Verbs import this module when they are executed, not before: it brings in rich and the stages.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from rocmatrix.cli.options import pipeline_options
from rocmatrix.cli.progress import reporter_of
from rocmatrix.errors import ExitCode
from rocmatrix.events import Emit, Stage
from rocmatrix.pipeline import Options, RunResult
from rocmatrix.report.annotations import failure_annotations
from rocmatrix.report.console import make_console
from rocmatrix.report.documents import run_document, write_document
from rocmatrix.report.log_groups import group, show_build_logs
from rocmatrix.report.step_summary import append_step_summary, write_summary
from rocmatrix.report.subject import Subject
from rocmatrix.report.summary import summarize
from rocmatrix.report.text import one_line
from rocmatrix.report.workflow_commands import in_actions
from rocmatrix.store import Store

Work = Callable[[Options, Emit], RunResult]
"""One of the pipeline's functions."""


def follow(arguments: argparse.Namespace, work: Work) -> Subject:
    """Do the work with progress on stderr and return what it came to.

    Raises:
        RocmatrixError: the work could not be begun or went no further.
    """
    options = pipeline_options(arguments)
    progress = group(f"rocmatrix {arguments.name}: progress", make_console(sys.stderr))
    with progress, reporter_of(arguments) as reporter:
        result = work(options, reporter.emit)
    return Subject(command=arguments.name, options=options, result=result, board=reporter.board)


def present(arguments: argparse.Namespace, work: Work, *, then: Callable[[Subject], None] | None = None) -> ExitCode:
    """Do the work, then print its summary for people, or on stderr beside one JSON document on stdout.

    ``then`` is called with what it came to before the document is printed, for what only one verb writes.

    Raises:
        RocmatrixError: the work could not be begun or went no further.
    """
    subject = follow(arguments, work)
    people = make_console(sys.stderr if arguments.json else sys.stdout)
    summarize(subject, people, explain=arguments.explain, brief=arguments.quiet)
    if Stage.COLLECT in subject.board.expected:  # it knows what became of every promise
        write_summary(subject, Store(subject.options.out).summary_path)
    if in_actions():
        _tell_actions(subject)
    if then:
        then(subject)
    if arguments.json:
        write_document(run_document(subject), sys.stdout)
    return subject.result.exit_code


def _tell_actions(subject: Subject) -> None:
    """Show the logs of builds, annotate failures, and add the summary to the page of the run if it has one."""
    show_build_logs(subject, make_console(sys.stderr))
    for command in failure_annotations(subject):
        make_console(sys.stderr).print(command, soft_wrap=True)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            append_step_summary(subject, Path(path))
        except OSError as err:
            make_console(sys.stderr).print(f"warning: {one_line(path)}: no summary was written: {err.strerror}")
