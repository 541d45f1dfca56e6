"""What the reusable workflow was called with, judged by its first job: what cannot end well is not begun."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmatrix.cli.options import Parser, UsageError, add_building, add_reuse, positive

if TYPE_CHECKING:
    from rocmatrix.plan.model import Plan

DEFAULT_MAX_JOBS = 64
"""Jobs that a plan is packed into."""

_MAX_JOBS = "--max-jobs"
_ELSEWHERE = {
    "--only": "each job builds the units of its row: narrow the matrix, or name another one as `matrix`",
    "--matrix": "that is the input `matrix`",
    "--out": "the workflow hands `dist` from job to job",
    "--keep": "nobody can enter the container that a job leaves: build on your machine",
    "--format": "the workflow reads rows",
    "--mode": "that is the input `mode`",
    "--tag": "that is the input `tag`",
}
"""Option -> why a caller of the workflow cannot give it."""

_RELEASE = "release"
MODES = ("plan", "build", "check", _RELEASE)


def add_workflow_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options that hand the inputs of build-kernel.yml over."""
    parser.add_argument("--mode", choices=MODES, help="how far the workflow is to go")
    parser.add_argument("--tag", metavar="TAG", help="the tag that the workflow is to release; needed by mode release")
    parser.add_argument(
        "--arguments",
        metavar="WORDS",
        help="options of `rocmatrix build`, quoted as for a shell, that the workflow is to build with; plan by them",
    )


def add_max_jobs(parser: argparse.ArgumentParser) -> None:
    """Add ``--max-jobs``."""
    parser.add_argument(
        _MAX_JOBS,
        type=positive,
        default=DEFAULT_MAX_JOBS,
        metavar="N",
        help="with --format github, pack the units into at most N jobs (default: %(default)s)",
    )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a caller's ``arguments`` say.

    Attributes:
        toolchain: for the plan; ``None`` for what matrix.yaml says.
        max_jobs: for the plan.
        building: words for ``rocmatrix build``, the toolchain among them; none has a line break.
    """

    toolchain: str | None
    max_jobs: int
    building: tuple[str, ...]


def read_words(text: str) -> Asked:
    """Return what belongs to which command, whatever lines it is written on.

    Raises:
        InputError: a word is none of these commands', or none that a workflow can hand over.
    """
    from rocmatrix.engine.limits import parse_limits  # noqa: PLC0415 - `--help` needs none of it

    try:
        words = shlex.split(text)
    except ValueError as err:
        raise _refused(f"{err}", "Quote as for a shell.") from err
    for word in words:
        option = word.partition("=")[0]
        if option in _ELSEWHERE:
            raise _refused(f"{option} cannot be given: {_ELSEWHERE[option]}", "Leave it out.")
        if not word.isprintable():
            raise _refused(f"{word!r} is no word of a command line", "Leave it out.")
    jobs = Parser(prog="rocmatrix plan", add_help=False, allow_abbrev=False)
    add_max_jobs(jobs)
    build = Parser(prog="rocmatrix build", add_help=False, allow_abbrev=False)
    add_building(build)
    add_reuse(build)
    try:
        plan, building = jobs.parse_known_args(words)
        chosen = build.parse_args(building)
    except UsageError as err:
        fix = "Give options of `rocmatrix build`, and --max-jobs; `rocmatrix build --help` has them."
        raise _refused(err.what, fix) from err
    parse_limits(chosen.limit)
    return Asked(toolchain=chosen.toolchain, max_jobs=plan.max_jobs, building=tuple(building))


def output_of(words: Sequence[str]) -> str:
    """Return words as an output of a step: one on each line."""
    return "\n".join(words)


def _refused(what: str, fix: str) -> UsageError:
    return UsageError(f"the workflow's input `arguments`: {what}", fix=fix)


def require_tag(arguments: argparse.Namespace, plan: Plan) -> None:
    """Refuse a tag that the job `release`, hours later, would refuse: its name, how it was made, or its commit.

    Raises:
        InputError: there is no tag, none of these kernels is released by it, it is not annotated, or another commit is
            checked out.
    """
    if arguments.mode != _RELEASE:
        return
    from rocmatrix.workflows.tag_ahead import require_tag_ahead  # noqa: PLC0415 - `--help` needs none of it

    if not arguments.tag:
        fix = "Give the annotated tag that is released as `tag`, e.g. ${{ github.ref_name }} in a run for a tag."
        raise UsageError("mode release needs a tag", fix=fix)
    require_tag_ahead(plan, arguments.tag, arguments.matrix.absolute().parent)
