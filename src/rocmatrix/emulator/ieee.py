"""Float arithmetic on NumPy arrays that is exact where NumPy's own is not: fused multiply-add, NaN, conversions.

NumPy's float32 and float64 operations are the processor's and round correctly; float16 ones go through float32, which
is harmless for a single operation because 24 >= 2 * 11 + 2 bits (Figueroa, "When is double rounding innocuous?").
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Bits = NDArray[np.unsignedinteger]
Bools = NDArray[np.bool_]

BITS: dict[np.dtype[np.floating], type[np.unsignedinteger]] = {
    np.dtype(np.float16): np.uint16,
    np.dtype(np.float32): np.uint32,
    np.dtype(np.float64): np.uint64,
}
FRACTION: dict[np.dtype[np.floating], int] = {
    np.dtype(np.float16): 10,
    np.dtype(np.float32): 23,
    np.dtype(np.float64): 52,
}
_DEFAULT_NAN = {
    np.dtype(np.float16): np.uint16(0x7E00),
    np.dtype(np.float32): np.uint32(0x7FC00000),
    np.dtype(np.float64): np.uint64(0x7FF8000000000000),
}
_SPLIT = 134217729.0
"""2**27 + 1: splits a float64 into two halves of 26 bits (Veltkamp)."""
_LARGEST, _SMALLEST = 2.0**300, 2.0**-300
"""Between these, products and their rounding errors stay normal float64 numbers."""


def bits_of(values: Floats) -> Bits:
    """Return the bits of floats as unsigned integers."""
    return values.view(BITS[values.dtype])


def with_nan_rule(result: Floats, *operands: Floats) -> Floats:
    """Return the result with each NaN replaced by the first operand that is NaN, quiet, or the default NaN."""
    bad = np.isnan(result)
    if not bad.any():
        return result
    dtype = result.dtype
    kind = BITS[dtype]
    quiet = np.array(1 << (FRACTION[dtype] - 1), dtype=kind)
    bits = np.full(result.shape, _DEFAULT_NAN[dtype], dtype=kind)
    for operand in reversed(operands):
        bits = np.where(np.isnan(operand), bits_of(np.ascontiguousarray(operand)) | quiet, bits)
    return np.where(bad, bits, bits_of(result)).astype(kind).view(dtype)


def fma(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return ``a * b + c`` rounded once to the operands' type, before the rule for NaN."""
    if a.dtype == np.float64:
        return _fma64(*np.broadcast_arrays(a, b, c))
    product = a.astype(np.float64) * b.astype(np.float64)
    return _sum_to_odd(product, c.astype(np.float64)).astype(a.dtype)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum and its exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _sum_to_odd(a: Floats, b: Floats) -> Floats:
    """Return the sum in float64 rounded to odd: an inexact result gets an odd last bit.

    Rounding that again to at most 51 bits gives the correctly rounded sum (Boldo and Melquiond, "Emulation of FMA and
    correctly rounded sums: proved algorithms using rounding to odd"). Infinities and NaN pass through.
    """
    total, error = _two_sum(a, b)
    bits = total.view(np.uint64)
    wrong = (error != 0) & np.isfinite(error) & ((bits & np.uint64(1)) == 0)
    if not wrong.any():
        return total
    outwards = (error > 0) == (total > 0)
    step = np.where(outwards, np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF))
    return np.where(wrong, bits + step, bits).view(np.float64)


def _fma64(a: Floats, b: Floats, c: Floats) -> Floats:
    product = a * b
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, product + c)
    size = np.abs(product)
    easy = (size < _LARGEST) & (size > _SMALLEST) & (np.abs(a) < _LARGEST) & (np.abs(b) < _LARGEST)
    easy &= (np.abs(c) < _LARGEST) & ((np.abs(c) > _SMALLEST) | (c == 0))
    exact = ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c) | (a == 0) | (b == 0)
    high, low = product, _product_error(a, b, product)
    upper, lower = _two_sum(c, low)
    first, second = _two_sum(high, upper)
    result = np.where(exact, plain, first + _sum_to_odd(second, lower))
    for index in np.flatnonzero(~easy & ~exact):
        result.flat[index] = _fma_slow(float(a.flat[index]), float(b.flat[index]), float(c.flat[index]))
    return result


def _product_error(a: Floats, b: Floats, product: Floats) -> Floats:
    """Return the exact error of a product (Dekker)."""
    upper_a, upper_b = _upper_half(a), _upper_half(b)
    lower_a, lower_b = a - upper_a, b - upper_b
    return lower_a * lower_b - (((product - upper_a * upper_b) - lower_a * upper_b) - upper_a * lower_b)


def _upper_half(a: Floats) -> Floats:
    scaled = a * _SPLIT
    return scaled - (scaled - a)


def _fma_slow(a: float, b: float, c: float) -> float:
    """Return the fused result of finite operands by exact fractions; Python rounds their quotient correctly."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # decides the sign of zero
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def convert_float(values: Floats, dtype: np.dtype[np.generic]) -> Floats:
    """Return floats as another float type, rounded to nearest even; a NaN keeps the upper bits of its fraction."""
    result = values.astype(dtype)
    bad = np.isnan(values)
    if not bad.any():
        return result
    source, target = FRACTION[values.dtype], FRACTION[result.dtype]
    bits = bits_of(np.ascontiguousarray(values)).astype(np.uint64)
    fraction = bits & np.uint64((1 << source) - 1)
    move = np.uint64(abs(target - source))
    fraction = fraction << move if target > source else fraction >> move
    sign = bits >> np.uint64(values.dtype.itemsize * 8 - 1) << np.uint64(result.dtype.itemsize * 8 - 1)
    exponent = (1 << (result.dtype.itemsize * 8 - 1 - target)) - 1
    nan = sign | np.uint64((exponent << target) | (1 << (target - 1))) | fraction
    kind = BITS[result.dtype]
    return np.where(bad, nan.astype(kind), bits_of(result)).astype(kind).view(result.dtype)


def to_integer(values: Floats, dtype: np.dtype[np.generic]) -> NDArray[np.integer]:
    """Return floats as integers: towards zero, saturated, 0 for NaN."""
    info = np.iinfo(dtype.name)
    wide = np.trunc(np.where(np.isnan(values), 0, values).astype(np.float64))
    above, below = wide >= float(info.max), wide <= float(info.min)
    inside = np.where(above | below, 0.0, wide)
    return np.where(above, info.max, np.where(below, info.min, inside.astype(dtype))).astype(dtype)
