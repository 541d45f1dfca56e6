"""``rocmatrix run``: the main job."""

from __future__ import annotations

import argparse

from rocmatrix.cli.options import Verb, add_building, add_checking, add_reuse
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_building(parser)
    add_checking(parser)
    add_reuse(parser)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do the verb and return its exit code."""
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them
    from rocmatrix.cli.following import present  # noqa: PLC0415

    return present(arguments, pipeline.run)


VERB = Verb(
    name="run",
    summary="the main job: plan, build, audit, check and collect everything the matrix promises",
    declare=declare,
    execute=execute,
)
