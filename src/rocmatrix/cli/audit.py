"""``rocmatrix audit``: what binaries really are, those that were built or anybody's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.cli.options import UsageError, Verb, add_reuse, named_path
from rocmatrix.errors import ExitCode

if TYPE_CHECKING:
    from rocmatrix.audit.kernel_audit import AuditSet
    from rocmatrix.report import sarif
    from rocmatrix.report.subject import Subject


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_reuse(parser)
    add_auditing(parser)
    parser.add_argument(
        "path",
        nargs="?",
        type=named_path,
        metavar="PATH",
        help="audit this kernel, variant directory or shared object instead of the units in the output folder",
    )
    parser.add_argument(
        "--against",
        type=named_path,
        metavar="PATH",
        help="show what differs from this earlier one: symbols, libraries, archs, registers and memory, sizes",
    )


def add_auditing(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that audit."""
    parser.add_argument(
        "--sarif", type=named_path, metavar="FILE", help="also write the findings as SARIF 2.1.0, for code scanning"
    )
    parser.add_argument(
        "--torch",
        action="append",
        default=[],
        metavar="TORCH",
        help="ask this torch for the symbols that per-torch binaries need: a wheel, the folder it is installed in, or "
        "a version that pip finds, e.g. 2.13.0+rocm7.2; may be given several times",
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Audit the built units, or the path that was named; exit 5 if a binary is not what it promises to be."""
    if arguments.path is None and arguments.against is not None:
        raise UsageError("--against compares two paths, and only one was given", fix="Name PATH as well.")
    require_sarif_place(arguments)
    if arguments.path is not None:
        return _audit_path(arguments)
    from rocmatrix import pipeline  # noqa: PLC0415 - the stages are heavy; `--help` must not wait for them
    from rocmatrix.cli.following import present  # noqa: PLC0415

    def after(subject: Subject) -> None:
        if arguments.sarif is not None:
            _write_sarif(arguments.sarif, _unit_subjects(subject), arguments.matrix.absolute().parent)

    return present(arguments, pipeline.audit, then=after)


def _audit_path(arguments: argparse.Namespace) -> ExitCode:
    from rocmatrix.audit.kernel_audit import audit_anything  # noqa: PLC0415 - as above
    from rocmatrix.audit.torch_shelf import torch_reader  # noqa: PLC0415
    from rocmatrix.events import discard  # noqa: PLC0415

    if arguments.only:
        raise UsageError("--only selects units of a plan, and PATH is not one", fix="Give either of them.")
    if arguments.against is not None and arguments.sarif is not None:
        raise UsageError("--sarif holds findings, and --against shows differences", fix="Give either of them.")
    audited = audit_anything(arguments.path, torch=torch_reader(arguments.torch, discard))
    if arguments.against is not None:
        return _show_difference(arguments, audited)
    return present_audit(arguments, audited)


def require_sarif_place(arguments: argparse.Namespace) -> None:
    """Refuse a ``--sarif`` that cannot be written, before anything is audited; raises ``InputError``."""
    if arguments.sarif is not None:
        from rocmatrix.report.sarif import require_place  # noqa: PLC0415 - as above

        require_place(arguments.sarif)


def present_audit(arguments: argparse.Namespace, audited: AuditSet, *, base: Path | None = None) -> ExitCode:
    """Print an audit for people or as one document, write what else was asked for, and return the exit code.

    Args:
        arguments: ``json``, ``quiet`` and ``sarif`` count.
        audited: what to present.
        base: folder that places in a SARIF file are relative to; ``None`` for the current one.
    """
    from rocmatrix.records import Outcome  # noqa: PLC0415 - as above
    from rocmatrix.report.audit_annotations import finding_annotations  # noqa: PLC0415
    from rocmatrix.report.audit_view import show_audit_set  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.workflow_commands import in_actions  # noqa: PLC0415

    people = make_console(sys.stderr if arguments.json else sys.stdout)
    show_audit_set(audited, people, brief=arguments.quiet)
    if arguments.sarif is not None:
        _write_sarif(arguments.sarif, _path_subjects(audited), base or Path.cwd())
    if in_actions():
        for command in finding_annotations(audited):
            make_console(sys.stderr).print(command, soft_wrap=True)
    if arguments.json:
        write_document(audited, sys.stdout)
    return ExitCode.DONE if audited.outcome is Outcome.PASSED else ExitCode.AUDIT


def _show_difference(arguments: argparse.Namespace, audited: AuditSet) -> ExitCode:
    from rocmatrix.audit.difference import difference  # noqa: PLC0415 - as above
    from rocmatrix.audit.kernel_audit import audit_anything  # noqa: PLC0415
    from rocmatrix.report.audit_difference import show_difference  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415

    found = difference(audited, audit_anything(arguments.against))
    if arguments.json:
        write_document(found, sys.stdout)
    show_difference(found, make_console(sys.stderr if arguments.json else sys.stdout))
    return ExitCode.INPUT if found.unread else ExitCode.DONE


def _path_subjects(audited: AuditSet) -> Iterable[sarif.Subject]:
    from rocmatrix.report.sarif import Subject as Audited  # noqa: PLC0415 - as above

    for one in audited.audits:
        yield Audited(name=one.path, folder=Path(one.prefix), findings=one.findings, waived=one.waived)


def _unit_subjects(subject: Subject) -> Iterable[sarif.Subject]:
    from rocmatrix.report.sarif import Subject as Audited  # noqa: PLC0415 - as above
    from rocmatrix.store import Store  # noqa: PLC0415

    store = Store(subject.options.out)
    for unit, record in subject.result.audits.items():
        yield Audited(name=unit, folder=store.payload(unit), findings=record.findings, waived=record.waived)


def _write_sarif(path: Path, subjects: Iterable[sarif.Subject], base: Path) -> None:
    from rocmatrix.report.sarif import write_sarif  # noqa: PLC0415 - as above

    write_sarif(path, subjects, base)


VERB = Verb(
    name="audit",
    summary="audit what binaries really are: archs, ABI, needed libraries, names",
    declare=declare,
    execute=execute,
)
