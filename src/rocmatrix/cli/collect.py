"""``rocmatrix collect``: collect audited units into the set to publish, with metadata.json and coverage.json."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocmatrix.cli.digest import add_stated, read_stated
from rocmatrix.cli.options import UsageError, Verb, add_reuse, named_path
from rocmatrix.cli.row_artifacts import add_row_artifacts, row_artifacts_of
from rocmatrix.errors import ExitCode

if TYPE_CHECKING:
    from rocmatrix.collect.row_artifacts import RowArtifacts
    from rocmatrix.report.subject import Subject

_PARTS = (
    ("--from", "parts", "first merge these output folders of other machines into --out"),
    (
        "--emulated-from",
        "emulated",
        "as --checks-from, of machines with the emulator; what a GPU says of a unit counts only beside their record",
    ),
    ("--checks-from", "checks", "as --from, of machines that check on a GPU: of these nothing but check.json is taken"),
)
"""Options that name output folders of other machines, what they are kept as, and what they mean."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_reuse(parser)
    for option, kept, shown in _PARTS:
        parser.add_argument(
            option, dest=kept, nargs="+", action="extend", type=named_path, default=[], metavar="DIR", help=shown
        )
    add_row_artifacts(parser, "the rows' are --from and --emulated-from, all others --checks-from")
    purpose = "refuse a folder of --from or --emulated-from that does not have its digest, or is not given"
    add_stated(parser, "--digests", purpose)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do the verb and return its exit code."""
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them
    from rocmatrix.cli.following import present  # noqa: PLC0415
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415
    from rocmatrix.collect.folder_digests import require_all, require_digests  # noqa: PLC0415
    from rocmatrix.collect.parts import merge_parts, plan_of  # noqa: PLC0415 - as above
    from rocmatrix.project_listing import require_current_plan  # noqa: PLC0415
    from rocmatrix.store import Store  # noqa: PLC0415

    artifacts = _artifacts(arguments)
    parts = artifacts.parts
    if arguments.digests is not None and not artifacts.hosted:
        raise UsageError("--digests says what folders of --from are, and there is none", fix="Give --from DIR too.")
    if parts.folders:
        if arguments.digests is not None:
            stated = read_stated(arguments.digests)
            require_digests(artifacts.hosted, stated, artifacts.names)
            require_all(artifacts.hosted, stated, artifacts.names)
        store = Store(arguments.out)
        plan = plan_of(parts, store)
        require_current_plan(plan, arguments.matrix, where=str(parts.folders[0] / "plan.json"))
        with store.exclusive(), reporter_of(arguments) as reporter:
            merge_parts(parts, store, reporter.emit)
    return present(arguments, pipeline.collect, then=_tell_later_jobs)


def _artifacts(arguments: argparse.Namespace) -> RowArtifacts:
    """Return the output folders of other machines, named one by one or by the rows of a workflow.

    Raises:
        UsageError: they are named in both ways.
        InputError: what ``--artifacts`` names has none of these rows.
    """
    from rocmatrix.collect.parts import Parts  # noqa: PLC0415 - as above
    from rocmatrix.collect.row_artifacts import RowArtifacts  # noqa: PLC0415 - as above

    named = Parts(whole=arguments.parts, emulated=arguments.emulated, checks=arguments.checks)
    artifacts = row_artifacts_of(arguments)
    if artifacts and named.folders:
        raise UsageError("folders are named by --artifacts and one by one", fix="Give either.")
    return artifacts or RowArtifacts(parts=named)


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
