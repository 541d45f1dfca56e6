"""``rocmatrix doctor``: what this machine has, and what is missing for which verb."""

from __future__ import annotations

import argparse
import sys

from rocmatrix.cli.options import Verb
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("--online", action="store_true", help="also ask the package index whether it answers")


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Look at this machine; exit 3 if the main job cannot work on it."""
    from rocmatrix import machine  # noqa: PLC0415 - `--help` looks at nothing
    from rocmatrix.machine.cache import cache_folder  # noqa: PLC0415
    from rocmatrix.plan.matrix_model import RECIPES  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.doctor_view import DoctorDocument, blockers, show_probes  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415

    probes = machine.probe_all(out=arguments.out, cache=cache_folder(), recipes=RECIPES, online=arguments.online)
    code = ExitCode.ENVIRONMENT if blockers(probes) else ExitCode.DONE
    if arguments.json:
        write_document(DoctorDocument(probes=probes, exit_code=int(code)), sys.stdout)
    show_probes(probes, make_console(sys.stderr if arguments.json else sys.stdout))
    return code


VERB = Verb(
    name="doctor",
    summary="list what this machine has, and what is missing for which verb",
    declare=declare,
    execute=execute,
)
