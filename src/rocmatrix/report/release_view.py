"""What a release came to, for people."""

from __future__ import annotations

from rich.console import Console

from rocmatrix.releasing import Outcome, Result
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
