"""``rocmatrix collect``: collect audited units into the set to publish, with metadata.json and coverage.json."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocmatrix.cli.digest import add_stated, read_stated
from rocmatrix.cli.options import UsageError, Verb, add_reuse, named_path
from rocmatrix.errors import ExitCode

if TYPE_CHECKING:
    from rocmatrix.report.subject import Subject


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_reuse(parser)
    parser.add_argument(
        "--from",
        dest="parts",
        nargs="+",
        action="extend",
        type=named_path,
        default=[],
        metavar="DIR",
        help="first merge these output folders of other machines into --out",
    )
    parser.add_argument(
        "--checks-from",
        dest="checks",
        nargs="+",
        action="extend",
        type=named_path,
        default=[],
        metavar="DIR",
        help="as --from, of machines that only check: nothing but their check.json is taken",
    )
    add_stated(parser, "--digests", "refuse a folder of --from that does not have its digest, or is not given")


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do the verb and return its exit code."""
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them
    from rocmatrix.cli.following import present  # noqa: PLC0415
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415
    from rocmatrix.collect.folder_digests import require_all, require_digests  # noqa: PLC0415
    from rocmatrix.collect.parts import Parts, merge_parts, plan_of  # noqa: PLC0415
    from rocmatrix.project_listing import require_current_plan  # noqa: PLC0415
    from rocmatrix.store import Store  # noqa: PLC0415

    if arguments.digests is not None and not arguments.parts:
        raise UsageError("--digests says what folders of --from are, and there is none", fix="Give --from DIR too.")
    if arguments.parts or arguments.checks:
        if arguments.digests is not None:
            stated = read_stated(arguments.digests)
            require_digests(arguments.parts, stated)
            require_all(arguments.parts, stated)
        parts, store = Parts(whole=arguments.parts, checks=arguments.checks), Store(arguments.out)
        plan = plan_of(parts, store)
        require_current_plan(plan, arguments.matrix, where=str((arguments.parts or arguments.checks)[0] / "plan.json"))
        with store.exclusive(), reporter_of(arguments) as reporter:
            merge_parts(parts, store, reporter.emit)
    return present(arguments, pipeline.collect, then=_tell_later_jobs)


def _tell_later_jobs(subject: Subject) -> None:
    """Write how many units can be published, and the coverage, as outputs of the step."""
    from rocmatrix.report.documents import one_line_json  # noqa: PLC0415
    from rocmatrix.report.step_outputs import write_step_outputs  # noqa: PLC0415

    coverage = tuple(subject.result.coverage.values())
    units = sum(len(each.variants) for each in coverage)
    digests = {variant.unit: variant.artifact_digest for each in coverage for variant in each.variants}
    write_step_outputs({"units": str(units), "coverage": one_line_json(coverage), "digests": one_line_json(digests)})


VERB = Verb(
    name="collect",
    summary="collect audited units into the set to publish, with metadata.json and coverage.json",
    declare=declare,
    execute=execute,
)
