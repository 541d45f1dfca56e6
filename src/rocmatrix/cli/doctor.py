"""``rocmatrix doctor``: what this machine has, and what is missing for which verb."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.cli.options import Verb
from rocmatrix.errors import ExitCode

if TYPE_CHECKING:
    from rocmatrix.machine import Probe


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument("--online", action="store_true", help="also ask the package index whether it answers")
    parser.add_argument(
        "--gpu", action="store_true", help="also look at what `check --on gpu` needs; exit 3 if something is missing"
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Look at this machine; exit 3 if the main job cannot work on it, or what was asked for besides."""
    from rocmatrix import machine  # noqa: PLC0415 - `--help` looks at nothing
    from rocmatrix.machine.cache import cache_folder  # noqa: PLC0415
    from rocmatrix.plan.matrix_model import RECIPES  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.doctor_view import DoctorDocument, blockers, missing, show_probes  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415

    probes = machine.probe_all(out=arguments.out, cache=cache_folder(), recipes=RECIPES, online=arguments.online)
    gpu = _probe_gpu(arguments.matrix) if arguments.gpu else ()
    code = ExitCode.ENVIRONMENT if blockers(probes) or missing(gpu) else ExitCode.DONE
    if arguments.json:
        write_document(DoctorDocument(probes=(*probes, *gpu), exit_code=int(code)), sys.stdout)
    show_probes(probes, make_console(sys.stderr if arguments.json else sys.stdout), gpu=gpu)
    return code


def _probe_gpu(matrix: Path) -> tuple[Probe, ...]:
    from rocmatrix.check.on_gpu.probes import probe_gpu  # noqa: PLC0415 - as above
    from rocmatrix.project_listing import read_matrix  # noqa: PLC0415

    return probe_gpu(lambda: read_matrix(matrix).check_images)


VERB = Verb(
    name="doctor",
    summary="list what this machine has, and what is missing for which verb",
    declare=declare,
    execute=execute,
)
