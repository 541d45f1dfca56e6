"""V_TRIG_PREOP_F64: 53 bits of 2/pi at the place that the reduction of a large angle asks for.

The ISA document describes it; what LLVM computes for constants (``AMDGPUInstCombineIntrinsic``, ``amdgcn_trig_preop``)
says the rest: the table has 1184 bits, segments that reach beyond it are zero ("hardware behavior"), and a NaN is made
quiet. Sines and cosines of doubles in ROCm's device libraries are made of it.
"""

from __future__ import annotations

from rocmatrix.emulator.algebra import F64, I32, U64, Value, convert, is_nan, where
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.floats import exponent, quiet, scale

_TABLE_BITS = 1184
_SEGMENT = 53
_WORD = 32
_LAST = _TABLE_BITS // _WORD - 3
"""The last word at which a segment may begin: it may reach into two more."""
_NEAR = 1077
"""Biased exponent up to which a segment begins at a multiple of its own size."""
_FAR, _RAISED = 1968, 128
"""Biased exponent from which results are scaled, and by how many powers of two, so that none is denormal."""


def _arctangent_of_inverse(number: int, bits: int) -> int:
    """Return arctan(1 / number) times 2 ** bits, a few units too small or too large."""
    power = total = (1 << bits) // number
    divisor = 1
    while power:
        power //= -number * number
        divisor += 2
        total += power // divisor
    return total


def two_over_pi(bits: int) -> int:
    """Return 2/pi times 2 ** bits, truncated (Machin's formula)."""
    spare = bits + 64
    quarter = 4 * _arctangent_of_inverse(5, spare) - _arctangent_of_inverse(239, spare)
    return (1 << (bits + spare)) // (2 * quarter)


_TWO_OVER_PI = two_over_pi(_TABLE_BITS)


def _bits_at(word: int, count: int) -> int:
    """Return bits of 2/pi behind the point, from a word of the table on."""
    return _TWO_OVER_PI >> (_TABLE_BITS - _WORD * word - count) & (1 << count) - 1


def _chosen(table: list[int], index: Value) -> Value:
    """Return the element of a table of 64-bit constants, by the bits of an index within it."""
    values: list[Value] = [index.constant(U64, element) for element in table]
    bit = 0
    while len(values) > 1:
        odd = (index >> bit & 1) == 1
        pairs = [values[first : first + 2] for first in range(0, len(values), 2)]
        values = [where(odd, pair[1], pair[0]) if len(pair) > 1 else pair[0] for pair in pairs]
        bit += 1
    return values[0]


def trig_preop(angle: Value, segment: Value) -> Value:
    """Return a segment of 2/pi as a float64.

    Args:
        angle: F64; only its exponent counts.
        segment: I32; its lower five bits are the number of the segment.
    """
    power = exponent(angle)
    shift = (segment & 31) * _SEGMENT + where(power > _NEAR, power - _NEAR, 0)
    word = shift >> 5
    outside = word > _LAST
    place = where(outside, 0, word)
    upper = _chosen([_bits_at(number, 64) for number in range(_LAST + 1)], place)
    lower = _chosen([_bits_at(number + 2, _WORD) for number in range(_LAST + 1)], place)
    behind = convert(shift & 31, U64)
    bits = (upper << behind | lower >> (_WORD - behind)) >> (64 - _SEGMENT)
    raised = where(power >= _FAR, power.constant(I32, _RAISED), 0)
    result = scale(convert(bits, F64), raised - shift - _SEGMENT)
    return where(is_nan(angle), quiet(angle), where(outside, 0.0, result))


VECTOR.add("v_trig_preop_f64", "f64 <- f64 i32", trig_preop)
