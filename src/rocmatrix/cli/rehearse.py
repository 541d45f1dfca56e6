"""``rocmatrix rehearse``: the whole way from a tag to a user's download, on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rocmatrix.cli.options import (
    Parser,
    UsageError,
    Verb,
    add_building,
    add_checking,
    add_common,
    add_reuse,
    named_path,
)
from rocmatrix.errors import ExitCode

DEFAULT_WORKFLOW = Path(".github/workflows/release.yml")
_OF_WORKFLOWS = frozenset({"matrix", "tag", "workflow", "json", "verbose", "quiet", "verb", "name", "said"})
"""Arguments that mean something with ``--workflow``: all else is what the file and matrix.yaml say."""


class _Said(argparse.Action):
    """Takes a value, and remembers that it was given: one that is the default says as much as any other."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - what argparse calls it with
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Set the value."""
        setattr(namespace, self.dest, values)
        namespace.said = getattr(namespace, "said", frozenset()) | {self.dest}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.register("action", None, _Said)  # of options that take one value
    add_building(parser)
    add_checking(parser)
    add_reuse(parser)
    parser.add_argument("--tag", required=True, metavar="TAG", help="the tag, e.g. v1.2.0; it need not exist")
    parser.add_argument("--no-run", action="store_true", help="take what the output folder holds, build nothing")
    parser.add_argument(
        "--workflow",
        nargs="?",
        type=named_path,
        const=DEFAULT_WORKFLOW,
        metavar="FILE",
        help="rehearse by this workflow of the repository, run as it is by act, instead of by this command itself "
        f"(without FILE: {DEFAULT_WORKFLOW})",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do the main job, release onto a Hub of its own, and let the real client download every promise."""
    from rocmatrix.machine.extras import HUB, RELEASE, require_extras  # noqa: PLC0415 - `--help` looks at nothing

    require_extras("rehearse", RELEASE, HUB)
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # before the client is imported: by Xet it commits several times
    if arguments.workflow and (unused := _unused(arguments)):
        what = f"{', '.join(unused)}: with --workflow the file and matrix.yaml say how it is built and checked"
        raise UsageError(what, fix="Leave it out, or write it there: docs/workflows.md has what `arguments` takes.")
    return _by_workflow(arguments) if arguments.workflow else _by_itself(arguments)


def _unused(arguments: argparse.Namespace) -> list[str]:
    """Return the options that were given and that a run of a workflow does not look at."""
    parser = Parser(prog="rocmatrix rehearse", allow_abbrev=False)
    add_common(parser)
    declare(parser)
    plain = vars(parser.parse_args([f"--tag={arguments.tag}"]))
    said: frozenset[str] = getattr(arguments, "said", frozenset())
    values = vars(arguments).items()
    given = [name for name, value in values if name in said or name not in plain or value != plain[name]]
    return [f"--{name.replace('_', '-')}" for name in given if name not in _OF_WORKFLOWS]


def _by_workflow(arguments: argparse.Namespace) -> ExitCode:
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415 - `--help` must not wait for them
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.workflow_view import show_workflow, workflow_document  # noqa: PLC0415
    from rocmatrix.workflows.rehearsal import rehearse_workflow  # noqa: PLC0415

    with reporter_of(arguments) as reporter:
        rehearsal = rehearse_workflow(
            arguments.workflow, matrix=arguments.matrix, tag=arguments.tag, emit=reporter.emit
        )
    if arguments.json:
        write_document(workflow_document(rehearsal), sys.stdout)
    show_workflow(rehearsal, make_console(sys.stderr if arguments.json else sys.stdout))
    return ExitCode.DONE if rehearsal.passed else ExitCode.RELEASE


def _by_itself(arguments: argparse.Namespace) -> ExitCode:
    from rocmatrix import pipeline  # noqa: PLC0415 - `--help` must not wait for them
    from rocmatrix.cli.following import follow  # noqa: PLC0415
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415
    from rocmatrix.releasing.model import Options  # noqa: PLC0415
    from rocmatrix.releasing.rehearsal import rehearse  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.release_view import show_rehearsal  # noqa: PLC0415
    from rocmatrix.report.summary import summarize  # noqa: PLC0415
    from rocmatrix.workflows.tag_ahead import read_tag_ahead  # noqa: PLC0415 - as above

    people = make_console(sys.stderr if arguments.json else sys.stdout)
    read_tag_ahead(pipeline.load_plan(arguments.matrix, toolchain=arguments.toolchain), arguments.tag)
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
