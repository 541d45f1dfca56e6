"""torch's dtypes by number, and the NumPy types that hold the same bytes."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np

from rocmatrix.cases import Array

_NAMES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16", 23: "float8_e5m2", 24: "float8_e4m3fn",
    25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz", 27: "uint16", 28: "uint32", 29: "uint64", 44: "float8_e8m0fnu",
}  # fmt: skip
"""Numbers of c10/core/ScalarType.h in torch 2.13, as ``constants.c`` gives them to extensions."""


@cache
def numpy_types() -> dict[int, np.dtype[np.generic]]:
    """Return the NumPy type of each number."""
    return {number: np.dtype(getattr(ml_dtypes, name, None) or name) for number, name in _NAMES.items()}


def number_of(dtype: np.dtype[np.generic]) -> int | None:
    """Return the number of a NumPy type; ``None`` if torch has no such dtype."""
    return next((number for number, known in numpy_types().items() if known == dtype), None)


def as_bytes(array: Array) -> Array:
    """Return the array's elements as unsigned numbers of the same size, so that equal bytes are equal elements."""
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}.get(array.itemsize, array.dtype))
