"""Whether what was published still holds: its bytes and signatures, who gets it, whether it loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocmatrix.audit.published import PublishedAudit
from rocmatrix.errors import MissingRequirementError, RocmatrixError
from rocmatrix.plan.model import Cell, CellState, Plan
from rocmatrix.plan.version import minor_key
from rocmatrix.records import Outcome, Severity
from rocmatrix.release.resolver import Machine, choose, require_client
from rocmatrix.releasing.load_model import LoadedKernel, LoadState


@dataclass(frozen=True, kw_only=True)
class WatchedUser:
    """What the client chooses on a machine that is promised a variant; ``None`` if it chooses none."""

    torch: str
    rocm: str
    variant: str | None


@dataclass(frozen=True, kw_only=True)
class WatchedKernel:
    """What came of one published kernel.

    Attributes:
        repository: ``owner/name`` on the Hub.
        audit: of every published variant, with what came of the imports if they were asked for; ``None`` if the kernel
            could not be looked at.
        users: of each ROCm that is promised, the machine with the newest torch.
        objections: what does not hold any more, one sentence each.
        undecided: what could not be told here, one sentence each.
    """

    repository: str
    audit: PublishedAudit | LoadedKernel | None
    users: tuple[WatchedUser, ...]
    objections: tuple[str, ...]
    undecided: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What ``rocmatrix watch`` prints with ``--json``: every kernel of the matrix, in its order."""

    kernels: tuple[WatchedKernel, ...]


def watched(audit: PublishedAudit, users: tuple[WatchedUser, ...]) -> WatchedKernel:
    """Return what an audit, the imports in it, and the choices of the client come to."""
    name = audit.path
    objections = [
        f"{one.path}: {finding.what}"
        for one in audit.audits
        if one.outcome is Outcome.FAILED
        for finding in one.findings
        if finding.severity is Severity.ERROR
    ]
    objections += [
        f"{name} serves nobody with torch {user.torch} on ROCm {user.rocm}" for user in users if user.variant is None
    ]
    undecided: list[str] = []
    if isinstance(audit, LoadedKernel):
        torch = f"on torch {audit.load.torch}"
        failed, open_ones = audit.load.in_state(LoadState.FAILED), audit.load.in_state(LoadState.UNDECIDED)
        objections += [f"{name}: {each.variant} does not load {torch}: {each.said}" for each in failed]
        undecided += [f"{name}: whether {each.variant} loads {torch} was not told: {each.said}" for each in open_ones]
    return WatchedKernel(
        repository=audit.repo, audit=audit, users=users, objections=tuple(objections), undecided=tuple(undecided)
    )


def unseen(repository: str, err: RocmatrixError) -> WatchedKernel:
    """Return what is said of a kernel that could not be looked at."""
    nothing = WatchedKernel(repository=repository, audit=None, users=(), objections=(), undecided=())
    return stopped_at(nothing, err)


def stopped_at(kernel: WatchedKernel, err: RocmatrixError) -> WatchedKernel:
    """Return what is said of a kernel whose later step fails: what this machine lacks is undecided, and not wrong."""
    said = f"{kernel.repository}: {err.what}"
    if isinstance(err, MissingRequirementError):
        return replace(kernel, undecided=(*kernel.undecided, said))
    return replace(kernel, objections=(*kernel.objections, said))


def watch_users(plan: Plan, kernel: str, variants: Sequence[str]) -> tuple[WatchedUser, ...]:
    """Return what the client's resolver chooses among published variants on each machine of ``newest_promises``.

    Raises:
        MissingRequirementError: the client is not installed, or another than the one whose resolver is known.
    """
    require_client()
    machines = [Machine(torch=cell.torch, rocm=cell.rocm) for cell in newest_promises(plan, kernel)]
    return tuple(
        WatchedUser(torch=each.torch, rocm=each.rocm, variant=choose(variants, each).variant) for each in machines
    )


def newest_promises(plan: Plan, kernel: str) -> tuple[Cell, ...]:
    """Return, of each ROCm for which a kernel serves anybody, the served cell of the newest torch."""
    newest: dict[str, Cell] = {}
    for cell in plan.cells:
        if cell.kernel != kernel or cell.state is not CellState.SERVED:
            continue
        known = newest.get(cell.rocm)
        if known is None or minor_key(cell.torch) > minor_key(known.torch):
            newest[cell.rocm] = cell
    return tuple(newest.values())
