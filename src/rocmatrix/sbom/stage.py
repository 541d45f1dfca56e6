"""The stage ``sbom``: reads records and collected variants, and writes ``sbom.cdx.json`` beside them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from rocmatrix import atomic, document
from rocmatrix.digest import Digest, of_bytes
from rocmatrix.errors import InputError
from rocmatrix.metadata import METADATA_NAME, Metadata
from rocmatrix.plan.model import Plan, PlannedKernel
from rocmatrix.records import AuditRecord, BuildRecord, CollectedVariant
from rocmatrix.sbom.bill import make_bill
from rocmatrix.sbom.ingredients import Ingredients, VariantIngredients
from rocmatrix.store import Absent, Store

NAME = "sbom.cdx.json"
"""File names of CycloneDX end so (CycloneDX specification, "Recognized file patterns")."""
R = TypeVar("R", BuildRecord, AuditRecord)
_RUN = "Run `rocmatrix run` with the same --out."


@dataclass(frozen=True, kw_only=True)
class WrittenBill:
    """A bill that was written: of which kernel, where, how many variants it lists, and its digest."""

    kernel: str
    path: str
    variants: int
    digest: Digest


def write_bills(plan: Plan, *, store: Store, folder: Path | None) -> tuple[WrittenBill, ...]:
    """Write the bill of materials of every kernel of the plan; of none if one cannot be made.

    Args:
        plan: the plan of the output folder.
        store: the output folder.
        folder: where bills go, as ``<kernel>.cdx.json``; ``None`` for beside the collected variants.

    Raises:
        InputError: a kernel is not collected, or its records are gone.
    """
    made = [(kernel, _read(kernel, store)) for kernel in plan.kernels]
    bills = [(kernel, found, make_bill(found, moment=_moment(found.variants))) for kernel, found in made]
    written = []
    for kernel, found, content in bills:
        path = folder / f"{kernel.name}.cdx.json" if folder else store.kernel_folder(kernel.name) / NAME
        atomic.write_named(path, content)
        written.append(
            WrittenBill(kernel=kernel.name, path=str(path), variants=len(found.variants), digest=of_bytes(content))
        )
    return tuple(written)


def _read(kernel: PlannedKernel, store: Store) -> Ingredients:
    coverage = store.read_coverage(kernel.name)
    if isinstance(coverage, Absent):
        raise InputError(f"nothing was collected: {coverage.reason}", where=kernel.name, fix=_RUN)
    if not coverage.variants:
        raise InputError("no variant was collected", where=kernel.name, fix=_RUN)
    variants = tuple(_read_variant(kernel, each, store) for each in coverage.variants)
    return Ingredients(kernel=kernel, variants=variants)


def _read_variant(kernel: PlannedKernel, each: CollectedVariant, store: Store) -> VariantIngredients:
    path = store.variants_folder(kernel.name) / each.variant / METADATA_NAME
    try:
        metadata = document.from_json(path.read_bytes(), Metadata)
    except (OSError, document.DocumentError) as err:
        raise InputError(f"it cannot be read: {err}", where=str(path), fix="Run `rocmatrix collect` again.") from err
    return VariantIngredients(
        variant=each.variant,
        metadata=metadata,
        build=_known(store.read_record(each.unit, BuildRecord, artifact=each.artifact_digest), each),
        audit=_known(store.read_record(each.unit, AuditRecord, artifact=each.artifact_digest), each),
    )


def _known(record: R | Absent, each: CollectedVariant) -> R:
    if isinstance(record, Absent):
        raise InputError(f"no record says what it is made of: {record.reason}", where=each.unit, fix=_RUN)
    return record


def _moment(variants: Sequence[VariantIngredients]) -> datetime:
    """Return the time of a bill: ``SOURCE_DATE_EPOCH``, else that of the last build.

    Raises:
        InputError: ``SOURCE_DATE_EPOCH`` is no time.
    """
    named = os.environ.get("SOURCE_DATE_EPOCH")
    if named is None:
        return max(datetime.fromisoformat(each.build.started) for each in variants)
    try:
        return datetime.fromtimestamp(int(named), UTC)
    except (ValueError, OverflowError, OSError) as err:
        fix = "Set it to seconds since 1970, e.g. of the commit: git log -1 --format=%ct"
        raise InputError("SOURCE_DATE_EPOCH is no time", where="environment", fix=fix) from err
