"""What a collected kernel is made of, as the records say it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.metadata import Metadata
from rocmatrix.plan.model import PlannedKernel
from rocmatrix.records import AuditRecord, BuildRecord


@dataclass(frozen=True, kw_only=True)
class VariantIngredients:
    """One variant and what is known of its making.

    Attributes:
        variant: its name.
        metadata: as published.
        build: the record of its build.
        audit: what its binaries are.
    """

    variant: str
    metadata: Metadata
    build: BuildRecord
    audit: AuditRecord


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """A kernel and its collected variants, in their order."""

    kernel: PlannedKernel
    variants: tuple[VariantIngredients, ...]
