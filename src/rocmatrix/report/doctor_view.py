"""What ``doctor`` found, for people and as a document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rocmatrix.machine import Health, Probe
from rocmatrix.report.text import one_line

DOCTOR_SCHEMA = 1

_STYLES = {Health.OK: "green", Health.LOW: "yellow", Health.MISSING: "red", Health.SKIPPED: "dim"}


@dataclass(frozen=True, kw_only=True)
class DoctorDocument:
    """What ``doctor --json`` prints; ``exit_code`` 3 says that the main job cannot work here."""

    schema: int = DOCTOR_SCHEMA
    exit_code: int
    probes: tuple[Probe, ...]


def blockers(probes: Iterable[Probe]) -> tuple[Probe, ...]:
    """Return what is missing and stops the main job."""
    return tuple(probe for probe in probes if probe.blocks_run and probe.health is Health.MISSING)


def missing(probes: Iterable[Probe]) -> tuple[Probe, ...]:
    """Return what is missing."""
    return tuple(probe for probe in probes if probe.health is Health.MISSING)


def show_probes(probes: tuple[Probe, ...], console: Console, *, gpu: tuple[Probe, ...] = ()) -> None:
    """Print a table of what was looked for, and what to do about what is missing; ``gpu`` is what a GPU check needs."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for probe in (*probes, *gpu):
        style = _STYLES[probe.health] if probe.blocks_run or probe.health is not Health.MISSING else "dim"
        table.add_row(Text(probe.health.value, style=style), one_line(probe.name), _found(probe))
    console.print(table)
    console.print()
    if stopping := blockers(probes):
        names = ", ".join(probe.name for probe in stopping)
        console.print(Text(f"rocmatrix run cannot work here: missing {names}", style="bold red"))
    else:
        console.print(Text("rocmatrix run can work here", style="bold green"))
    if gpu:
        names = ", ".join(probe.name for probe in missing(gpu))
        can = f"cannot work here: missing {names}" if names else "can work here"
        console.print(Text(f"rocmatrix check --on gpu {can}", style="bold red" if names else "bold green"))


def _found(probe: Probe) -> Text:
    found = Text(one_line(probe.detail))
    if probe.needed_by:
        found.append(f"  (for {one_line(probe.needed_by)})", style="dim")
    if probe.fix:
        found.append(f"\n{one_line(probe.fix)}", style="yellow" if probe.blocks_run else "")
    return found
