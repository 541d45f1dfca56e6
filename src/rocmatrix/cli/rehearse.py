"""``rocmatrix rehearse``: the whole way from a tag to a user's download, on this machine."""

from __future__ import annotations

import argparse
import os
import sys

from rocmatrix.cli.options import Verb, add_building, add_checking, add_reuse
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_building(parser)
    add_checking(parser)
    add_reuse(parser)
    parser.add_argument("--tag", required=True, metavar="TAG", help="the tag, e.g. v1.2.0; it need not exist")
    parser.add_argument("--no-run", action="store_true", help="take what the output folder holds, build nothing")


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do the main job, release onto a Hub of its own, and let the real client download every promise."""
    from rocmatrix.machine.extras import HUB, RELEASE, require_extras  # noqa: PLC0415 - `--help` looks at nothing

    require_extras("rehearse", RELEASE, HUB)
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # before the client is imported: by Xet it commits several times
    from rocmatrix import pipeline  # noqa: PLC0415 - `--help` must not wait for them
    from rocmatrix.cli.following import follow  # noqa: PLC0415
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415
    from rocmatrix.releasing.model import Options  # noqa: PLC0415
    from rocmatrix.releasing.rehearsal import rehearse  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.release_view import show_rehearsal  # noqa: PLC0415
    from rocmatrix.report.summary import summarize  # noqa: PLC0415

    people = make_console(sys.stderr if arguments.json else sys.stdout)
    if not arguments.no_run:
        subject = follow(arguments, pipeline.run)
        summarize(subject, people, explain=arguments.explain, brief=arguments.quiet)
        if subject.result.exit_code is not ExitCode.DONE:
            return subject.result.exit_code
    options = Options(matrix=arguments.matrix, out=arguments.out, tag=arguments.tag, untested=True)
    with reporter_of(arguments) as reporter:
        rehearsal = rehearse(options, reporter.emit)
    if arguments.json:
        write_document(rehearsal, sys.stdout)
    show_rehearsal(rehearsal, people)
    return ExitCode.DONE if rehearsal.passed else ExitCode.RELEASE


VERB = Verb(
    name="rehearse",
    summary="from a tag to a user's download on this machine: main job, release onto a Hub of its own, the real client",
    declare=declare,
    execute=execute,
)
