"""``rocmatrix plan``: which builds keep every promise, and which promises cannot be kept."""

from __future__ import annotations

import argparse
import sys

from rocmatrix.cli.options import UsageError, Verb, add_toolchain
from rocmatrix.cli.workflow_inputs import add_max_jobs, add_workflow_inputs, output_of, read_words, require_tag
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_toolchain(parser)
    parser.add_argument(
        "--format",
        choices=("table", "json", "github"),
        default="table",
        help="table for people; json: plan.json; github: rows for a workflow's matrix (default: %(default)s)",
    )
    add_max_jobs(parser)
    add_workflow_inputs(parser)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Plan, write ``plan.json`` and print the plan; for people and GitHub only what ``--only`` selects."""
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them
    from rocmatrix.cli.following import follow  # noqa: PLC0415
    from rocmatrix.plan.github import github_matrix  # noqa: PLC0415
    from rocmatrix.plan.selectors import narrow  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import one_line_json, write_document, write_line  # noqa: PLC0415
    from rocmatrix.report.plan_view import show_plan  # noqa: PLC0415
    from rocmatrix.report.step_outputs import write_step_outputs  # noqa: PLC0415

    asked = read_words(arguments.arguments or "")
    if arguments.arguments is not None:
        if arguments.toolchain is not None:
            raise UsageError("--toolchain and --arguments both say how to build", fix="Put it into --arguments.")
        arguments.toolchain, arguments.max_jobs = asked.toolchain, asked.max_jobs
    result = follow(arguments, pipeline.plan).result
    require_tag(arguments, result.plan)
    if arguments.format == "github":
        rows = github_matrix(result.units, max_jobs=arguments.max_jobs)
        write_line(rows, sys.stdout)
        write_step_outputs(
            {"matrix": one_line_json(rows), "units": str(rows.units), "build": output_of(asked.building)}
        )
    elif arguments.json or arguments.format == "json":
        write_document(result.plan, sys.stdout)
    else:
        shown = narrow(result.plan, result.units) if arguments.only else result.plan
        show_plan(shown, make_console(sys.stdout))
    return result.exit_code


VERB = Verb(
    name="plan",
    summary="show which builds keep every promise of the matrix, and why some promises cannot be kept",
    declare=declare,
    execute=execute,
)
