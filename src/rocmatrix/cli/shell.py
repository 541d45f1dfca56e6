"""``rocmatrix shell``: a shell in a unit's toolchain, with its sources and headers."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from rocmatrix.cli.options import Verb, add_building, pipeline_options
from rocmatrix.errors import ExitCode, InputError


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_building(parser)
    parser.add_argument("unit", metavar="UNIT", help="id of the unit, or a pattern that matches one")


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Do the verb and return its exit code: done, whatever the last command in the shell returned."""
    from rocmatrix.engine.terminal import require_terminal  # noqa: PLC0415 - `--help` must not wait for all this
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.lines import describe  # noqa: PLC0415
    from rocmatrix.unit_shell import open_unit_shell  # noqa: PLC0415

    if arguments.json:
        raise InputError("a shell prints no JSON document", where="--json", fix="Leave it out.")
    require_terminal()
    options = pipeline_options(arguments)
    console = make_console(sys.stderr)
    open_unit_shell(
        replace(options, only=(*options.only, arguments.unit)),
        lambda event: console.print(describe(event), soft_wrap=True),
    )
    return ExitCode.DONE


VERB = Verb(
    name="shell",
    summary="open a shell in a unit's toolchain, with its sources, headers and build graph",
    declare=declare,
    execute=execute,
)
