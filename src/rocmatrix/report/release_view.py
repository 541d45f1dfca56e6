"""What a release came to, for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from rocmatrix.release.why import Explanation
from rocmatrix.release.withdrawal import Withdrawn
from rocmatrix.releasing.comparison import Comparison, NothingBefore
from rocmatrix.releasing.model import Outcome, Result
from rocmatrix.releasing.rehearsal import Rehearsal
from rocmatrix.report.text import one_line

_MIB = 1 << 20


def show_release(result: Result, console: Console) -> None:
    """Print one paragraph: what is where now, by which credential."""
    size = f"{len(result.variants)} variants, {result.size / _MIB:.1f} MiB"
    place = f"{one_line(result.repository)} on {one_line(result.hub)}"
    if result.outcome is Outcome.DRY_RUN:
        console.print(f"dry run: {result.tag} would go to {place}: {size}; nothing was written", soft_wrap=True)
        return
    console.print(
        f"{result.outcome}: {result.tag} of {place}: {size}; credential: {one_line(result.credential)}", soft_wrap=True
    )
    console.print(f"commit {result.commit}", soft_wrap=True)


def show_rehearsal(rehearsal: Rehearsal, console: Console) -> None:
    """Print what every user got, and what would stand in the way of a real release."""
    table = Table(box=None, pad_edge=False)
    for heading in ("torch", "ROCm", "the client downloads", ""):
        table.add_column(heading)
    for got in rehearsal.users:
        wanted = rehearsal.wanted[f"torch{got.torch}-rocm{got.rocm}"]
        verdict = "as planned" if got.variant == wanted else f"planned: {wanted}"
        table.add_row(got.torch, got.rocm, one_line(got.variant or got.error or "nothing"), verdict)
    console.print(table)
    for objection in rehearsal.objections:
        console.print(f"a real release would be refused: {one_line(objection)}", soft_wrap=True)
    right = sum(got.variant == rehearsal.wanted[f"torch{got.torch}-rocm{got.rocm}"] for got in rehearsal.users)
    result = rehearsal.result
    console.print(
        f"rehearsed {result.tag} of {one_line(result.repository)}: {len(result.variants)} variants, "
        f"{right} of {len(rehearsal.users)} promised machines get theirs",
        soft_wrap=True,
    )


def show_explanation(found: Explanation, console: Console) -> None:
    """Print what a machine gets, and the client's verdict on every variant."""
    arch = f", {one_line(found.arch)}" if found.arch else ""
    name = f"{one_line(found.repository)}@{one_line(found.revision)}"
    console.print(f"{name} ({found.commit[:12]}) for torch {found.torch}, ROCm {found.rocm}{arch}", soft_wrap=True)
    for verdict in found.verdicts:
        mark = "loaded  " if verdict.loaded else "rejected"
        console.print(f"  {mark} {one_line(verdict.variant)}: {one_line(verdict.reason)}", soft_wrap=True)
    if found.variant is None:
        console.print("the client loads nothing", soft_wrap=True)
    elif found.objection:
        console.print(f"the client chooses {one_line(found.variant)}, and fails: {found.objection}", soft_wrap=True)
    else:
        console.print(f"the client loads {one_line(found.variant)}", soft_wrap=True)


def show_compared(found: Comparison, console: Console) -> None:
    """Print which release it is that is compared with."""
    console.print(f"compared with {found.tag} of {one_line(found.repository)}:", soft_wrap=True)


def show_nothing_before(found: NothingBefore, console: Console) -> None:
    """Print that there is nothing to compare with."""
    place = one_line(found.repository)
    console.print(
        f"{one_line(found.before)} is the first release of version {found.version} of {place}", soft_wrap=True
    )


def show_users(found: Comparison, console: Console) -> None:
    """Print which users are gained and lost."""
    for what, pairs in (("gained", found.gained), ("lost", found.lost)):
        console.print(f"users {what}: {', '.join(pairs) or 'none'}", soft_wrap=True)


def show_withdrawal(found: Withdrawn, console: Console) -> None:
    """Print what users get now."""
    if not found.changed:
        now = f"nobody gets it from {found.branch}, which stays as it is"
    elif found.restored:
        now = f"{found.branch} holds {found.restored} again"
    else:
        now = f"no earlier release is left, and {found.branch} holds no variant of ours"
    console.print(f"withdrawn: {one_line(found.tag)}; {now} (commit {found.commit})", soft_wrap=True)
