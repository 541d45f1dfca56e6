"""``rocmatrix audit``: what binaries really are, those that were built or anybody's."""

from __future__ import annotations

import argparse
import sys

from rocmatrix.cli.options import UsageError, Verb, add_reuse, named_path
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_reuse(parser)
    parser.add_argument(
        "path",
        nargs="?",
        type=named_path,
        metavar="PATH",
        help="audit this variant directory or shared object instead of the units in the output folder",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Audit the built units, or the path that was named; exit 5 if a binary is not what it promises to be."""
    if arguments.path is not None:
        return _audit_path(arguments)
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them
    from rocmatrix.cli.following import present  # noqa: PLC0415

    return present(arguments, pipeline.audit)


def _audit_path(arguments: argparse.Namespace) -> ExitCode:
    from rocmatrix.audit.path import audit_path  # noqa: PLC0415 - as above
    from rocmatrix.records import Outcome  # noqa: PLC0415
    from rocmatrix.report.audit_view import show_path_audit  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415

    if arguments.only:
        raise UsageError("--only selects units of a plan, and PATH is not one", fix="Give either of them.")
    audited = audit_path(arguments.path)
    if arguments.json:
        write_document(audited, sys.stdout)
    show_path_audit(audited, make_console(sys.stderr if arguments.json else sys.stdout))
    return ExitCode.DONE if audited.outcome is Outcome.PASSED else ExitCode.AUDIT


VERB = Verb(
    name="audit",
    summary="audit what binaries really are: archs, ABI, needed libraries, names",
    declare=declare,
    execute=execute,
)
