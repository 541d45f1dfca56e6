"""Completeness: what became of every cell that was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import rocmatrix
from rocmatrix.plan.model import Cell, CellState, Plan, UnitId
from rocmatrix.plan.version import minor_key
from rocmatrix.records import CellCoverage, CollectedVariant, Coverage, Tested


@dataclass(frozen=True, kw_only=True)
class Collected:
    """A unit that is in the set to publish, and how it was tested."""

    variant: CollectedVariant
    tested: Tested
    reason: str


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A unit that is not.

    Attributes:
        reason: names the stage that is to blame.
        tested: what executed its kernel, if anything did: a unit may be missing because its numbers are wrong.
    """

    reason: str
    tested: Tested = Tested.UNTESTED


def cover(plan: Plan, kernel: str, units: Mapping[UnitId, Collected | Missing]) -> Coverage:
    """Return what became of every cell of a kernel, in the plan's order.

    Args:
        plan: the plan.
        kernel: name of the kernel.
        units: every unit of the kernel.

    Raises:
        KeyError: a cell is served by a unit that ``units`` does not have.
    """
    cells = tuple(_cover(cell, units) for cell in plan.cells if cell.kernel == kernel)
    promised = [cell.id for cell in plan.cells if cell.kernel == kernel and cell.state is CellState.SERVED]
    reached = {cell.cell for cell in cells if cell.variant}
    return Coverage(
        kernel=kernel,
        rocmatrix=rocmatrix.__version__,
        complete=reached.issuperset(promised),
        variants=tuple(unit.variant for unit in units.values() if isinstance(unit, Collected)),
        cells=cells,
    )


def torch_range(plan: Plan, unit: UnitId) -> tuple[str, str] | None:
    """Return the lowest and the highest torch minor that the plan serves with a unit; ``None`` if it serves none."""
    served = [cell.torch for cell in plan.cells if cell.unit == unit]
    return (min(served, key=minor_key), max(served, key=minor_key)) if served else None


def _cover(cell: Cell, units: Mapping[UnitId, Collected | Missing]) -> CellCoverage:
    if cell.unit is None:
        return CellCoverage(cell=cell.id, variant=None, tested=Tested.UNTESTED, reason=cell.reason)
    unit = units[cell.unit]
    if isinstance(unit, Missing):
        reason = f"{cell.unit} is missing: {unit.reason}"
        return CellCoverage(cell=cell.id, variant=None, tested=unit.tested, reason=reason)
    return CellCoverage(cell=cell.id, variant=unit.variant.variant, tested=unit.tested, reason=unit.reason)
