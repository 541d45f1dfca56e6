"""The sums of matrix instructions as CDNA 3 forms them, bit by bit, on NumPy arrays.

Source of every rule: Xie et al., "Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units" (arXiv 2511.10909,
first called "MMA-Sim"), and its package ``mmasim`` 2.1.1, whose authors compared it with a CDNA 3 GPU on random bits
for every dense float instruction, NaN excepted. The model, for one element of D:

- float64 and float32: ``fma(a[k], b[k], sum)`` for k = 0, 1, ...; the fast arithmetic does the same.
- Other floats: k in groups (16 for 8-bit floats, 8 for float16 and bfloat16, 4 for xf32; fewer where K is less), one
  after the other, each added to the float32 sum so far (``c``) and rounded. xf32 operands lose their lower 13 bits.
- In a group each product is exact: significand times significand (1 <= s < 2, less for denormals, which keep the
  exponent of the smallest normal number), exponents added. All products are aligned to the largest of their exponents
  (products that are zero do not count) and **truncated** to 24 fraction bits, then summed exactly.
- 8-bit floats: products of even and of odd k are summed apart like that; the two sums are aligned to the larger
  exponent and rounded **down** to 24 fraction bits, then added.
- That sum and c are aligned to the larger of their exponents (that of c at least -126, zero included); the sum is
  rounded down to 32 fraction bits, c is rounded down to 24. For 8-bit floats a c that is more than 25 binary places
  below counts as zero. What is added is normalised, rounded down to 31 fraction bits, and rounded to nearest even.
- A product of bfloat16 or xf32 of 2**128 or more counts as infinite. Denormals are never flushed; EXEC and MODE do not
  count.

What is not known, because those comparisons did not fix it: the bits of a NaN (here the quiet NaN), the sign of a sum
that is exactly zero (here plus, as in ``mmasim``), and whether an infinite or NaN c always stays so for 8-bit floats
(here it does).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.emulator import ieee
from rocmatrix.emulator.semantics.matrix import Element, MatrixOperation

Exponents = NDArray[np.int64]

PRODUCT_BITS, SUM_BITS, RESULT_BITS = 24, 32, 31
"""Fraction bits that products, the sum of products beside c, and the result before its last rounding keep."""
C_REACH = 25
"""Binary places below the largest exponent at which c still counts, where operands are 8-bit floats."""
INFINITE_EXPONENT = 128
"""Exponent from which on a product counts as infinite."""
SMALLEST_EXPONENT = {Element.FP8: -7, Element.BF8: -15, Element.F16: -14, Element.BF16: -126, Element.XF32: -126}
"""Exponent of the smallest normal number; denormals keep it."""
GROUP = {Element.FP8: 16, Element.BF8: 16, Element.F16: 8, Element.BF16: 8, Element.XF32: 4}
"""How many consecutive k are added at once."""
_F32_SMALLEST = -126
_NOTHING = -600
"""Exponent of a product that is zero: below any other, and still in float64's range."""


class Scaled(NamedTuple):
    """Numbers as significands and exponents: ``significand * 2.0**exponent``."""

    significand: Array
    exponent: Exponents


def differs(operation: MatrixOperation) -> bool:
    """Say whether the exact arithmetic of an instruction differs from the fast one."""
    return operation.a in GROUP


def splits(operation: MatrixOperation) -> bool:
    """Say whether even and odd k are summed apart: where operands are 8-bit floats."""
    return operation.a in (Element.FP8, Element.BF8)


def accumulate(operation: MatrixOperation, rows: Array, columns: Array, total: Array) -> Array:
    """Return the sums: rows (blocks, m, k), columns (blocks, n, k), total (blocks, m, n) of float32."""
    left, right = _scaled(rows, SMALLEST_EXPONENT[operation.a]), _scaled(columns, SMALLEST_EXPONENT[operation.b])
    group = GROUP[operation.a]
    for first in range(0, operation.k, group):
        part = slice(first, first + group)
        products = _products(
            Scaled(left.significand[:, :, None, part], left.exponent[:, :, None, part]),
            Scaled(right.significand[:, None, :, part], right.exponent[:, None, :, part]),
        )
        total = _added(products, total, split=splits(operation))
    return ieee.with_nan_rule(total)


def _scaled(values: Array, smallest: int) -> Scaled:
    """Return numbers apart; NaN and infinities are their own significands, zero has the smallest exponent."""
    wide = values.astype(np.float64)
    ordinary = np.isfinite(wide) & (wide != 0.0)
    exponent = np.where(ordinary, np.maximum(np.frexp(wide)[1] - 1, smallest), smallest).astype(np.int64)
    return Scaled(np.ldexp(wide, -exponent), exponent)


def _products(left: Scaled, right: Scaled) -> Scaled:
    return Scaled(left.significand * right.significand, left.exponent + right.exponent)


def _added(products: Scaled, c: Array, *, split: bool) -> Array:
    """Return c plus the products along the last axis."""
    carry = np.abs(products.significand) >= 2.0  # noqa: PLR2004 - a significand of two whole bits
    special = ~np.isfinite(products.significand) | (carry + products.exponent >= INFINITE_EXPONENT)
    settled = np.where(special, products.significand * np.inf, 0.0).sum(axis=-1) + c
    finite = Scaled(np.where(special, 0.0, products.significand), products.exponent)
    if split:
        total = _joined(_aligned_sum(_every_second(finite, 0)), _aligned_sum(_every_second(finite, 1)))
    else:
        total = _aligned_sum(finite)
    result = _plus(total, _scaled(c, _F32_SMALLEST), reach=C_REACH if split else None)
    return np.where(special.any(axis=-1) | ~np.isfinite(c), settled.astype(np.float32), result)


def _every_second(products: Scaled, first: int) -> Scaled:
    return Scaled(products.significand[..., first::2], products.exponent[..., first::2])


def _aligned_sum(products: Scaled) -> Scaled:
    """Return the sum of truncated products; its significand is whole, in units of the last fraction bit."""
    exponents = np.where(products.significand == 0.0, _NOTHING, products.exponent)
    largest = exponents.max(axis=-1)
    shift = exponents - largest[..., None] + PRODUCT_BITS
    return Scaled(np.trunc(np.ldexp(products.significand, shift)).sum(axis=-1), largest)


def _joined(even: Scaled, odd: Scaled) -> Scaled:
    largest = np.maximum(even.exponent, odd.exponent)
    down = [np.floor(np.ldexp(part.significand, part.exponent - largest)) for part in (even, odd)]
    return Scaled(down[0] + down[1], largest)


def _plus(total: Scaled, c: Scaled, reach: int | None) -> Array:
    largest = np.maximum(total.exponent, c.exponent)
    sums = np.floor(np.ldexp(total.significand, total.exponent - largest + SUM_BITS - PRODUCT_BITS))
    addend = np.floor(np.ldexp(c.significand, c.exponent - largest + PRODUCT_BITS))
    if reach is not None:
        addend = np.where(c.exponent < largest - reach, 0.0, addend)
    return _rounded(sums + np.ldexp(addend, SUM_BITS - PRODUCT_BITS), largest - SUM_BITS)


def _rounded(value: Array, unit: Exponents) -> Array:
    """Return ``value * 2.0**unit`` rounded down to the result's fraction bits, then to the nearest float32."""
    exponent = np.maximum(np.frexp(value)[1] - 1 + unit, _F32_SMALLEST)
    down = np.floor(np.ldexp(value, unit - exponent + RESULT_BITS))
    result: Array = np.ldexp(down, exponent - RESULT_BITS).astype(np.float32)
    return result
