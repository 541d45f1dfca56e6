"""What a collection leaves: ``coverage.json``."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.digest import Digest
from rocmatrix.plan.model import CellId, UnitId
from rocmatrix.records.check import Tested
from rocmatrix.records.common import RECORD_SCHEMA


@dataclass(frozen=True, kw_only=True)
class CellCoverage:
    """How one cell reaches its users.

    Attributes:
        variant: the variant that serves the cell; ``None`` if none does.
        tested: how that variant was tested.
        reason: why the cell is not served, or what tested it.
    """

    cell: CellId
    variant: str | None
    tested: Tested
    reason: str


@dataclass(frozen=True, kw_only=True)
class CollectedVariant:
    """One directory of the set to publish: its variant, the unit it came from, artifact digest and size in bytes."""

    variant: str
    unit: UnitId
    artifact_digest: Digest
    size: int


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """``coverage.json``: every promised cell of one kernel, and what keeps the promise."""

    schema: int = RECORD_SCHEMA
    kernel: str
    rocmatrix: str
    complete: bool
    variants: tuple[CollectedVariant, ...]
    cells: tuple[CellCoverage, ...]
