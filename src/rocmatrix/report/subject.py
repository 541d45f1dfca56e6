"""What a summary, a document or annotations are about: one finished command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmatrix.events import Stage
from rocmatrix.plan.model import Cell, CellState, Unit, UnitId
from rocmatrix.records import CollectedVariant, Outcome
from rocmatrix.report.board import Board

if TYPE_CHECKING:
    from rocmatrix.pipeline import Options, RunResult


NOT_COLLECTED = "not collected"
"""Fate of a cell whose unit exists in the plan, and not in the set to publish."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A finished command: its verb, what it was asked, what came out, and how it went."""

    command: str
    options: Options
    result: RunResult
    board: Board

    @property
    def broken(self) -> frozenset[UnitId]:
        """Units that failed in any stage, now or by their records; one that could not be checked here did not."""
        result = self.result
        outcomes = (
            *((unit, record.outcome) for unit, record in result.builds.items()),
            *((unit, record.outcome) for unit, record in result.audits.items()),
            *((unit, record.outcome) for unit, record in result.checks.items()),
        )
        by_record = {unit for unit, outcome in outcomes if outcome is Outcome.FAILED}
        now = {
            unit for unit, view in self.board.failures if view.stage is not Stage.CHECK or unit not in result.lacking
        }
        return frozenset(by_record | now)

    @property
    def fates(self) -> dict[str, int]:
        """How many cells end how: served, failed, not collected, not selected, refused, excluded; no zeros."""
        ends = [self.fate(cell) for cell in self.result.plan.cells]
        order = ("served", "failed", NOT_COLLECTED, "not selected", "refused", "excluded")
        return {fate: ends.count(fate) for fate in order if fate in ends}

    def collected(self, unit: Unit) -> CollectedVariant | None:
        """Return what was collected of a unit, if anything was."""
        coverage = self.result.coverage.get(unit.kernel)
        variants = coverage.variants if coverage else ()
        return next((variant for variant in variants if variant.unit == unit.id), None)

    def tested(self, unit: Unit) -> str | None:
        """Return how a collected unit was tested, e.g. ``untested: no GPU and no emulator``."""
        coverage = self.result.coverage.get(unit.kernel)
        cells = coverage.cells if coverage else ()
        return next((f"{cell.tested.value}: {cell.reason}" for cell in cells if cell.variant == unit.variant), None)

    def fate(self, cell: Cell) -> str:
        """Return how a cell ended, in one of the words of ``fates``."""
        if cell.state is not CellState.SERVED:
            return cell.state.value
        if cell.unit in self.broken:
            return "failed"
        if coverage := self.result.coverage.get(cell.kernel):
            collected = any(reached.cell == cell.id and reached.variant for reached in coverage.cells)
            return "served" if collected else NOT_COLLECTED
        return "served" if any(unit.id == cell.unit for unit in self.result.units) else "not selected"
