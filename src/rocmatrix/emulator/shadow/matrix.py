"""Undefined results of matrix instructions: of a row of A or a column of B with an undefined element, and of C's own.

Where elements lie and which are broadcast is asked of the matrix unit itself: a product of marks, 1 for an undefined
element and 0 for a defined one, with a matrix of ones is not zero exactly where a row has a mark.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator import matrix_unit
from rocmatrix.emulator.instruction import MatrixBits
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.semantics.matrix import Element, MatrixOperation

Words = NDArray[np.uint32]

_ONE = {
    Element.F32: 0x3F800000,
    Element.XF32: 0x3F800000,
    Element.F64: 0x3FF00000,
    Element.F16: 0x3C00,
    Element.BF16: 0x3F80,
    Element.FP8: 0x40,
    Element.BF8: 0x40,
    Element.I8: 1,
}
"""The number one in each format; of float64 the upper word, whose lower one is zero."""
_WORD = 32


def undefined_results(operation: MatrixOperation, bits: MatrixBits, a: Words, b: Words, c: Words) -> Words:
    """Return the undefined bits of D, shape (registers, 64).

    Args:
        operation: shape and types.
        bits: broadcasts and permutations.
        a: undefined bits of the registers of A.
        b: those of B.
        c: those of C, zeros where it is a constant.
    """
    nothing = np.zeros((operation.results, WAVE), dtype=matrix_unit.result_dtype(operation))
    everything_a, everything_b = (np.full_like(part, 0xFFFFFFFF) for part in (a, b))
    found = np.zeros(nothing.shape, dtype=np.bool_)
    for left, right in ((a, everything_b), (everything_a, b)):
        if left.any() and right.any():
            marks = _marks(operation.a, left), _marks(operation.b, right)
            found |= matrix_unit.multiply(operation, bits, *marks, nothing) != 0
    registers = len(c) // len(found)
    found |= c.reshape(len(found), registers, WAVE).any(axis=1)
    whole = np.where(found, np.uint32(0xFFFFFFFF), np.uint32(0))
    return np.repeat(whole, registers, axis=0)


def _marks(element: Element, undefined: Words) -> Words:
    """Return registers whose elements are one where any of their bits is undefined, else zero."""
    if element is Element.F64:
        pairs = undefined.reshape(-1, 2, WAVE)
        result = np.zeros_like(pairs)
        result[:, 1] = np.where(pairs.any(axis=1), np.uint32(_ONE[element]), np.uint32(0))
        return result.reshape(undefined.shape)
    result = np.zeros_like(undefined)
    for shift in range(0, _WORD, element.bits):
        mask = np.uint32(((1 << element.bits) - 1) << shift)
        result |= np.where(undefined & mask != 0, np.uint32(_ONE[element] << shift), np.uint32(0))
    return result
