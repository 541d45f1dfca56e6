"""What still holds of a published kernel, for people and as annotations."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rocmatrix.audit.published import PublishedAudit
from rocmatrix.releasing.load_model import LoadedKernel
from rocmatrix.releasing.watching import WatchedKernel
from rocmatrix.report.load_view import show_loads
from rocmatrix.report.text import count, one_line
from rocmatrix.report.workflow_commands import error_annotation


def show_watched(found: WatchedKernel, console: Console) -> None:
    """Print the variants with outcome and signature, who gets what, what loads, and everything that does not hold."""
    if found.audit is not None:
        _show_variants(found.audit, console)
    for user in found.users:
        chosen = one_line(user.variant) if user.variant else "nothing"
        console.print(Text(f"torch {user.torch} on ROCm {user.rocm} gets {chosen}"), soft_wrap=True)
    if isinstance(found.audit, LoadedKernel):
        show_loads(found.audit.load, console)
    for line in found.objections:
        console.print(Text(f"objection: {one_line(line)}", style="bold red"), soft_wrap=True)
    for line in found.undecided:
        console.print(Text(f"not told: {one_line(line)}", style="yellow"), soft_wrap=True)
    verdict = f"{count(len(found.objections), 'objection')}" if found.objections else "holds"
    if found.undecided and not found.objections:
        verdict = "not all of it could be told here"
    style = "bold red" if found.objections else "bold green"
    console.print(Text(f"watch {one_line(found.repository)}: {verdict}", style=style), soft_wrap=True)


def watch_annotations(found: WatchedKernel) -> list[str]:
    """Return one workflow command for each objection, and for what could not be told."""
    return [error_annotation(line, title="watch") for line in (*found.objections, *found.undecided)]


def _show_variants(audit: PublishedAudit, console: Console) -> None:
    console.print(Text(f"{one_line(audit.path)} ({audit.commit[:12]})", style="bold"), soft_wrap=True)
    for one in audit.audits:
        signature = one.signature
        state = f", signature {signature.state.value}" if signature else ""
        signer = f", by {one_line(signature.signer)}" if signature and signature.signer else ""
        name = one_line(one.path.rpartition("/")[2])
        console.print(Text(f"  {name}: audit {one.outcome.value}{state}{signer}"), soft_wrap=True)
