"""Matrix instructions on NumPy arrays: operands out of registers, the fast arithmetic, results into registers.

Fast arithmetic: each element of D starts as C; then for k = 0, 1, ... the product of A and B, rounded to the result's
type, is added, rounded. float32 and float64 products are fused into the addition. xf32 operands lose their lower 13
bits first. Products of 8- and 16-bit floats are exact. A result that is NaN is the quiet NaN. The hardware's order and
intermediate precision differ: results agree within a few ulp of the largest term, not bit by bit. ``matrix_exact`` has
the exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.emulator import ieee, matrix_exact
from rocmatrix.emulator.algebra import U32
from rocmatrix.emulator.instruction import MatrixBits
from rocmatrix.emulator.lanes import Lanes
from rocmatrix.emulator.semantics.conversions import BF8, FP8, Fnuz, from_fnuz
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.semantics.matrix import (
    Element,
    MatrixOperation,
    Place,
    operand_places,
    result_places,
)

Words = NDArray[np.uint32]
"""Registers by lanes: shape (registers, 64)."""
Numbers = Array

_RESULTS: dict[str, np.dtype[np.generic]] = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
}
_XF32_MASK = 0xFFFFE000
LANE_GROUPS = {1: 32, 2: 32, 3: 64, 4: 16, 5: 16, 6: 16, 7: 16}
"""blgp -> size of the group of lanes of B that all lanes use (AMD's matrix instruction calculator, "BLGP")."""
FIRST_LANES = {1: 0, 2: 32, 3: 16, 4: 0, 5: 16, 6: 32, 7: 48}
"""blgp -> where that group begins. 3 rotates: each lane uses the one 16 further on, the last 16 the first ones."""


def multiply(
    operation: MatrixOperation, bits: MatrixBits, a: Words, b: Words, c: Numbers, *, exact: bool = False
) -> Numbers:
    """Return D.

    Args:
        operation: shape and types.
        bits: broadcasts and permutations.
        a: registers of A.
        b: registers of B.
        c: C as it lies in registers: shape (results, 64), of the result's type.
        exact: whether sums are formed as the bit-accurate model of CDNA 3 forms them.

    Returns:
        D as it lies in registers, like ``c``.
    """
    left, right = elements(operation.a, a), elements(operation.b, b)
    rows = gather(left, _indices(operation, "a"))
    columns = gather(_permuted(operation, bits, right), _indices(operation, "b"))
    if operation.broadcasts and bits.cbsz:
        group = 1 << bits.cbsz
        rows = rows[[block // group * group + bits.abid for block in range(operation.blocks)]]
    total = gather(c, _indices(operation, "d"))
    if operation.result == "f64":
        rows, columns, total = _signed(bits.blgp, rows, columns, total)
    sums = matrix_exact.accumulate if exact and matrix_exact.differs(operation) else accumulate
    result = sums(operation, rows, columns, total)
    placed = np.empty_like(c)
    element, lane = _indices(operation, "d")
    placed[element, lane] = result
    return placed


def elements(element: Element, words: Words) -> Numbers:
    """Return the elements that lanes hold, shape (elements, 64), as numbers that multiply exactly."""
    if element is Element.F32:
        return words.view(np.float32)
    if element is Element.XF32:
        return (words & np.uint32(_XF32_MASK)).view(np.float32)
    if element is Element.F64:
        pairs = words[0::2].astype(np.uint64) | words[1::2].astype(np.uint64) << np.uint64(32)
        return pairs.view(np.float64)
    parts = 32 // element.bits
    shifts = (np.arange(parts, dtype=np.uint32) * np.uint32(element.bits))[None, :, None]
    raw = (words[:, None, :] >> shifts & np.uint32((1 << element.bits) - 1)).reshape(-1, WAVE)
    return _FROM_BITS[element](raw)


def _from_fnuz(form: Fnuz) -> Callable[[Words], Numbers]:
    codes = Lanes(U32, np.arange(256, dtype=np.uint32))
    with np.errstate(all="ignore"):
        value = from_fnuz(codes, form)
    if not isinstance(value, Lanes):
        raise TypeError("the algebra keeps its implementation")
    numbers = value.array
    return lambda raw: numbers[raw]


_FROM_BITS: dict[Element, Callable[[Words], Numbers]] = {
    Element.F16: lambda raw: raw.astype(np.uint16).view(np.float16).astype(np.float32),
    Element.BF16: lambda raw: (raw << np.uint32(16)).view(np.float32),
    Element.I8: lambda raw: raw.astype(np.uint8).view(np.int8).astype(np.int32),
    Element.FP8: _from_fnuz(FP8),
    Element.BF8: _from_fnuz(BF8),
}


def gather(values: Numbers, index: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Numbers:
    """Return elements by element number and lane."""
    return values[index]


@cache
def _indices(operation: MatrixOperation, which: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return element numbers and lanes: shape (blocks, rows, k) for a and b, (blocks, rows, columns) for d."""
    if which == "d":
        places = result_places(operation)
    else:
        places = operand_places(operation, rows=operation.m if which == "a" else operation.n)

    def grid(part: Callable[[Place], int]) -> NDArray[np.intp]:
        return np.array([[[part(place) for place in row] for row in block] for block in places], dtype=np.intp)

    return grid(lambda place: place.element), grid(lambda place: place.lane)


def _permuted(operation: MatrixOperation, bits: MatrixBits, right: Numbers) -> Numbers:
    """Return B with lanes replaced as ``blgp`` says; for float64 that field flips signs instead."""
    if operation.result == "f64" or not bits.blgp:
        return right
    size, first = LANE_GROUPS[bits.blgp], FIRST_LANES[bits.blgp]
    return right[:, (first + np.arange(WAVE) % size) % WAVE]


def _signed(bits: int, rows: Numbers, columns: Numbers, total: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    parts = [np.negative(part) if bits >> number & 1 else part for number, part in enumerate((rows, columns, total))]
    return parts[0], parts[1], parts[2]


def accumulate(operation: MatrixOperation, rows: Numbers, columns: Numbers, total: Numbers) -> Numbers:
    """Return the sums: rows (blocks, m, k), columns (blocks, n, k), total (blocks, m, n)."""
    fused = operation.a in (Element.F32, Element.F64)
    for k in range(operation.k):
        left, right = rows[:, :, None, k], columns[:, None, :, k]
        if fused:
            left, right = np.broadcast_arrays(left, right)
            total = ieee.fma(np.ascontiguousarray(left), np.ascontiguousarray(right), total)
        else:
            total = total + left * right
    return ieee.with_nan_rule(total) if operation.result != "i32" else total


def result_dtype(operation: MatrixOperation) -> np.dtype[np.generic]:
    """Return how C and D are held."""
    return _RESULTS[operation.result]
