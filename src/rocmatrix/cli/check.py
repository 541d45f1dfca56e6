"""``rocmatrix check``: check the numbers of what was built against float64 references."""

from __future__ import annotations

import argparse

from rocmatrix.cli.options import Verb, add_checking, add_reuse
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_checking(parser)
    add_reuse(parser)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do the verb and return its exit code."""
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them
    from rocmatrix.cli.following import present  # noqa: PLC0415

    return present(arguments, pipeline.check)


VERB = Verb(
    name="check",
    summary="check the numbers of what was built against float64 references",
    declare=declare,
    execute=execute,
)
