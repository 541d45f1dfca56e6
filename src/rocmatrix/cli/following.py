"""What the verbs of the main job share: follow the work, then present what it came to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rocmatrix.cli.options import pipeline_options
from rocmatrix.errors import ExitCode

if TYPE_CHECKING:
    from rocmatrix.events import Emit
    from rocmatrix.pipeline import Options, RunResult
    from rocmatrix.report.reporter import Verbosity

Work = Callable[["Options", "Emit"], "RunResult"]
"""One of the pipeline's functions."""


def follow(arguments: argparse.Namespace, work: Work) -> ExitCode:
    """Do the work with progress on stderr, then print its result: for people, or one JSON document on stdout."""
    from rocmatrix.report.console import make_console  # noqa: PLC0415 - rich only where something is shown
    from rocmatrix.report.documents import run_document, write_document  # noqa: PLC0415
    from rocmatrix.report.reporter import make_reporter  # noqa: PLC0415
    from rocmatrix.report.summary import Subject, summarize  # noqa: PLC0415

    options = pipeline_options(arguments)
    progress = make_console(sys.stderr)
    with make_reporter(progress, verbosity(arguments)) as reporter:
        result = work(options, reporter.emit)
    subject = Subject(command=arguments.name, options=options, result=result, board=reporter.board)
    people = progress if arguments.json else make_console(sys.stdout)
    summarize(subject, people, explain=arguments.explain, brief=arguments.quiet)
    if arguments.json:
        write_document(run_document(subject), sys.stdout)
    return result.exit_code


def verbosity(arguments: argparse.Namespace) -> Verbosity:
    """Return how much is said while the work is on."""
    from rocmatrix.report.reporter import Verbosity  # noqa: PLC0415

    if arguments.quiet:
        return Verbosity.QUIET
    return Verbosity.VERBOSE if arguments.verbose else Verbosity.NORMAL
