"""Fresh inputs: a case as a check's own seed draws it."""

from __future__ import annotations

from dataclasses import replace

from rocmatrix.cases import Case

_SEED_BITS = 64
"""Bits of a case's own seed; those of the check lie above them."""


def with_seed(case: Case, seed: int) -> Case:
    """Return a case whose arguments are drawn from a seed of the check's and from its own; 0 leaves it as it is."""
    return replace(case, seed=case.seed + (seed << _SEED_BITS))
