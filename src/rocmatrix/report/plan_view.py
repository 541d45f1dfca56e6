"""A plan for people: the grid of each kernel, its units, why cells are not served, and what to know besides."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rocmatrix.plan.model import CellState, Plan, PlannedKernel, Unit
from rocmatrix.report.grid import grid, legend, letters
from rocmatrix.report.text import count, one_line
from rocmatrix.report.workflow_commands import guarded, in_actions


def show_plan(plan: Plan, console: Console) -> None:
    """Print a plan; in a workflow's log the author's words in it are kept from being taken for commands."""
    if not in_actions():
        _show(plan, console)
        return
    with console.capture() as captured:
        _show(plan, console)
    console.file.write(guarded(captured.get()))


def _show(plan: Plan, console: Console) -> None:
    for kernel in plan.kernels:
        show_kernel(plan, kernel, console)
    for line in toolchains(plan):
        console.print(Text(line))
    for warning in plan.warnings:
        console.print(Text(f"warning: {one_line(warning)}", style="yellow"))
    console.print(Text(totals(plan), style="bold"))


def show_kernel(plan: Plan, kernel: PlannedKernel, console: Console) -> None:
    """Print the grid of one kernel, its units and the reasons of what is not served."""
    units = [unit for unit in plan.units if unit.kernel == kernel.name]
    reasons = {cell.unit: cell.reason for cell in reversed(plan.cells) if cell.unit is not None}
    console.print(title(kernel))
    console.print(grid(plan, kernel.name))
    console.print()
    for unit, letter in zip(units, letters(units).values(), strict=True):
        console.print(Text.assemble((f"  {letter:<2} ", "bold green"), one_line(unit.id)))
        console.print(Text(f"     {_built_with(unit)}, serves {count(len(unit.serves), 'cell')}", style="dim"))
        console.print(Text(f"     {one_line(reasons[unit.id])}", style="dim"))
    console.print(legend(plan, kernel.name))
    console.print()


def title(kernel: PlannedKernel) -> Text:
    """Return the line above a kernel's grid: its name and where a release goes."""
    goes_to = f"({kernel.path}, released to {kernel.repo_id}, branch v{kernel.version})"
    return Text.assemble((one_line(kernel.name), "bold"), "  ", (one_line(goes_to), "dim"))


def toolchains(plan: Plan) -> list[str]:
    """Return which toolchain builds for which ROCm, and who chose it; those that differ in nothing else together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for spec in plan.toolchains:
        recipe = " ".join([spec.recipe, *(f"{name}={value}" for name, value in spec.args.items())])
        groups.setdefault((recipe, spec.chosen_by), []).append(spec.rocm)
    return [
        one_line(f"toolchain {recipe} for ROCm {', '.join(rocms)}, chosen by {chosen_by}")
        for (recipe, chosen_by), rocms in groups.items()
    ]


def totals(plan: Plan) -> str:
    """Return one sentence that counts cells and units."""
    states = [cell.state for cell in plan.cells]
    ends = ", ".join(f"{states.count(state)} {state.value}" for state in CellState if state in states)
    return f"{count(len(plan.cells), 'cell')}: {ends}; {count(len(plan.units), 'unit')} to build"


def _built_with(unit: Unit) -> str:
    if unit.toolchain is None:
        return "no compiled code"
    return f"{unit.toolchain}, {' '.join(unit.archs)}"
