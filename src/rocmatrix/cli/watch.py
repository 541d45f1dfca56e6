"""``rocmatrix watch``: whether what this repository published still holds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmatrix.cli.options import Verb
from rocmatrix.cli.verify import add_verifying, load_as_asked, require_python, signature_check
from rocmatrix.errors import ExitCode, RocmatrixError

if TYPE_CHECKING:
    from rocmatrix.events import Emit
    from rocmatrix.plan.model import Plan, PlannedKernel
    from rocmatrix.releasing.watching import WatchedKernel


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    add_verifying(parser)


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Look at every kernel of the matrix; exit 5 if anything does not hold, 3 if something could not be told."""
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415 - `--help` must not wait for them
    from rocmatrix.machine.extras import RELEASE, require_extras  # noqa: PLC0415
    from rocmatrix.pipeline import load_plan  # noqa: PLC0415
    from rocmatrix.releasing.watching import Watch  # noqa: PLC0415
    from rocmatrix.report.console import make_console  # noqa: PLC0415
    from rocmatrix.report.documents import write_document  # noqa: PLC0415
    from rocmatrix.report.watch_view import show_watched, watch_annotations  # noqa: PLC0415
    from rocmatrix.report.workflow_commands import in_actions  # noqa: PLC0415

    require_extras("watch", RELEASE)
    require_python(arguments)
    plan = load_plan(arguments.matrix, toolchain=None)
    people = make_console(sys.stderr if arguments.json else sys.stdout)
    with reporter_of(arguments) as reporter:
        found = Watch(kernels=tuple(_kernels(arguments, plan, reporter.emit)))
    for kernel in found.kernels:
        show_watched(kernel, people)
        if in_actions():
            for command in watch_annotations(kernel):
                make_console(sys.stderr).print(command, soft_wrap=True)
    if arguments.json:
        write_document(found, sys.stdout)
    if any(kernel.objections for kernel in found.kernels):
        return ExitCode.AUDIT
    return ExitCode.ENVIRONMENT if any(kernel.undecided for kernel in found.kernels) else ExitCode.DONE


def _kernels(arguments: argparse.Namespace, plan: Plan, emit: Emit) -> Iterator[WatchedKernel]:
    """Give what came of each kernel; one that cannot be looked at does not hide the next."""
    from rocmatrix.releasing.watching import unseen  # noqa: PLC0415 - as above

    for kernel in plan.kernels:
        try:
            yield _kernel(arguments, plan, kernel, emit)
        except RocmatrixError as err:
            yield unseen(kernel.repo_id, err)


def _kernel(arguments: argparse.Namespace, plan: Plan, kernel: PlannedKernel, emit: Emit) -> WatchedKernel:
    from rocmatrix.audit.published import audit_published, parse_published  # noqa: PLC0415 - as above
    from rocmatrix.plan.model import Abi  # noqa: PLC0415
    from rocmatrix.releasing.watching import stopped_at, watch_users, watched  # noqa: PLC0415

    audited = audit_published(
        parse_published(f"{kernel.repo_id}@{kernel.version}"),
        max_bytes=arguments.max_mb * 1_000_000,
        emit=emit,
        signatures=signature_check(arguments, "watch"),
    )
    variants = [one.path.rpartition("/")[2] for one in audited.audits]
    stable = any(unit.kernel == kernel.name and unit.abi is Abi.STABLE for unit in plan.units)
    users = watch_users(plan, kernel.name, variants)
    try:
        loaded = load_as_asked(arguments, audited, emit) if stable else None
    except RocmatrixError as err:
        return stopped_at(watched(audited, users), err)
    return watched(loaded or audited, users)


VERB = Verb(
    name="watch",
    summary="what was published of the matrix's kernels, as it is now: digests, signatures, who is served, what loads",
    declare=declare,
    execute=execute,
)
