"""Results against float64 references: the rule that every executor applies."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array

LARGEST = sys.float_info.max
"""What stands for an error that is no finite number: JSON has no infinity."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How far a result is from its reference.

    Attributes:
        passed: whether every element is within tolerance.
        max_abs_error: largest distance of an element; ``LARGEST`` if one is infinite, or NaN where it must not be.
        max_rel_error: the same relative to the magnitude of the reference, over elements where that is not zero.
        detail: the share within tolerance, and the first element that is not.
        share: of the elements that are within tolerance, 0 to 1.
    """

    passed: bool
    max_abs_error: float
    max_rel_error: float
    detail: str
    share: float


def compare(got: Array, want: NDArray[np.float64], *, rtol: float, atol: float) -> Comparison:
    """Compare a result with its reference: ``|got - want| <= atol + rtol * |want|``, and NaN where the reference is.

    An infinite reference asks for the same infinity.
    """
    if got.shape != want.shape:
        detail = f"the result has the shape {got.shape}, the reference {want.shape}"
        return Comparison(passed=False, max_abs_error=LARGEST, max_rel_error=LARGEST, detail=detail, share=0.0)
    if not want.size:
        return Comparison(passed=True, max_abs_error=0.0, max_rel_error=0.0, detail="no elements", share=1.0)
    with np.errstate(all="ignore"):  # NaN and infinity are compared on purpose
        found = got.astype(np.float64)
        errors = np.asarray(np.abs(found - want))  # of arrays without axes NumPy makes a scalar
        both_nan = np.isnan(found) & np.isnan(want)
        errors[both_nan | (found == want)] = 0.0  # the distance of two infinities is NaN
        errors[np.isnan(errors)] = np.inf
        magnitudes = np.where(np.isfinite(want), np.abs(want), 0.0)
        right = errors <= atol + rtol * magnitudes
        relative = np.divide(errors, magnitudes, out=np.zeros_like(errors), where=magnitudes > 0)
    return Comparison(
        passed=bool(right.all()),
        max_abs_error=_finite(errors.max()),
        max_rel_error=_finite(relative.max()),
        detail=_describe(found, want, right),
        share=float(right.mean()),
    )


def _finite(error: np.float64) -> float:
    return min(float(error), LARGEST)


def _describe(found: NDArray[np.float64], want: NDArray[np.float64], right: NDArray[np.bool_]) -> str:
    wrong = np.argwhere(~right)
    if not len(wrong):
        return f"all of {right.size} elements within tolerance"
    place = tuple(int(index) for index in wrong[0])
    share = 100.0 * int(right.sum()) / right.size
    return (
        f"{share:.4g} % of {right.size} elements within tolerance;"
        f" at {list(place)} it is {found[place]:.9g} instead of {want[place]:.9g}"
    )
