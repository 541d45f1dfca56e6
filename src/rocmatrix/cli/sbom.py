"""``rocmatrix sbom``: what the collected kernels are made of, in CycloneDX."""

from __future__ import annotations

import argparse

from rocmatrix.cli.options import UsageError, Verb, named_path
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument(
        "--dest",
        type=named_path,
        metavar="DIR",
        help="where bills go, as <kernel>.cdx.json (default: kernels/<name>/sbom.cdx.json of --out)",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Write a bill of materials for each kernel."""
    from rocmatrix.machine.extras import RELEASE, require_extras  # noqa: PLC0415 - `--help` looks at nothing

    require_extras("sbom", RELEASE)
    from rocmatrix.cli.telling import tell  # noqa: PLC0415 - `--help` must not wait for it
    from rocmatrix.report.sbom_view import BillsDocument, show_bills  # noqa: PLC0415
    from rocmatrix.sbom.stage import write_bills  # noqa: PLC0415
    from rocmatrix.store import Store  # noqa: PLC0415

    if arguments.only:
        raise UsageError("--only selects units, and a bill lists all of a kernel", fix="Leave it out.")
    store = Store(arguments.out)
    store.read_plan()  # before the folder is taken: one that is not there is not made
    with store.exclusive():
        bills = write_bills(store.read_plan(), store=store, folder=arguments.dest)
    tell(arguments, BillsDocument(bills=bills), lambda console: show_bills(bills, console))
    return ExitCode.DONE


VERB = Verb(
    name="sbom",
    summary="bill of materials of each collected kernel in CycloneDX: sources, compilers, image, torch headers, files",
    declare=declare,
    execute=execute,
)
