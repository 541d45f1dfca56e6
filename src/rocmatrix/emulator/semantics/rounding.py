"""Rounding towards zero or an infinity: the nearest result, moved by one where that is on the wrong side.

The exact result is a sum of two float64 numbers, a product of two float32 being one; the sum's own rounding error is
known exactly (Knuth), so that the side is certain. float64 results are not among it: they have no wider kind.
"""

from __future__ import annotations

from collections.abc import Callable

from rocmatrix.emulator.algebra import F16, F32, F64, Kind, Value, bitcast, convert, where
from rocmatrix.emulator.descriptor import Mode, Rounding
from rocmatrix.emulator.semantics.arithmetic import Arithmetic
from rocmatrix.emulator.semantics.floats import FORMATS, exponent, sign_is_set

Terms = tuple[Value, Value | None]
"""Two float64 whose sum is the exact result; none where the first is."""

_LARGEST_F16 = 65504.0
_SUMS: dict[str, Callable[[Value, Value], Terms]] = {
    "add": lambda a, b: (a, b),
    "sub": lambda a, b: (a, -b),
    "subrev": lambda a, b: (b, -a),
    "mul": lambda a, b: (a * b, None),
}


def _terms() -> dict[str, Callable[..., Terms]]:
    made: dict[str, Callable[..., Terms]] = {}
    for kind in ("f32", "f16"):
        made |= {f"v_{name}_{kind}": terms for name, terms in _SUMS.items()}
        made |= {f"v_pk_{name}_{kind}": _SUMS[name] for name in ("add", "mul")}
        made |= {f"{prefix}_{kind}": lambda a, b, c: (a * b, c) for prefix in ("v_fma", "v_pk_fma")}
    made["v_fmac_f32"] = lambda a, b, c: (a * b, c)
    for name in ("v_cvt_f32_i32", "v_cvt_f32_u32", "v_cvt_f32_f64", "v_cvt_f16_f32", "v_cvt_f16_i16", "v_cvt_f16_u16"):
        made[name] = lambda a: (a, None)
    return made


DIRECTED = _terms()
"""Operations that are executed in every rounding mode -> their exact results, from operands as float64."""


def rounding_of(kind: Kind, mode: Mode) -> Rounding:
    """Return how MODE rounds results of a float kind."""
    return mode.round_32 if kind is F32 else mode.round_16_64


def can_round(operation: Arithmetic, rounding: Rounding) -> bool:
    """Say whether an operation is executed in a rounding mode."""
    return rounding is Rounding.NEAREST_EVEN or operation.name in DIRECTED


def as_mode_rounds(operation: Arithmetic, values: list[Value], nearest: Value, mode: Mode) -> Value:
    """Return the result as MODE rounds it, from the operands and the result that is rounded to nearest.

    A float16 that overflows is the largest number where MODE says FP16_OVFL, however it is rounded; what is infinite
    because an operand is stays so (ISA document, "Mode register").
    """
    rounding = rounding_of(nearest.kind, mode)
    if operation.name not in DIRECTED:
        return nearest
    if rounding is not Rounding.NEAREST_EVEN:
        nearest = _directed(operation, values, nearest, rounding)
    return _limited(values, nearest) if nearest.kind is F16 and mode.fp16_overflow else nearest


def _limited(values: list[Value], result: Value) -> Value:
    """Return a float16 that is the largest number where it would be infinite without an infinite operand."""
    over = exponent(result) == FORMATS[F16].exponent_mask
    over = over & (result == result)  # noqa: PLR0124 - NaN
    for value in values:
        if value.kind.is_float:
            over = over & (exponent(value) != FORMATS[value.kind].exponent_mask)
    return where(over, where(sign_is_set(result), -_LARGEST_F16, result.constant(F16, _LARGEST_F16)), result)


def _directed(operation: Arithmetic, values: list[Value], nearest: Value, rounding: Rounding) -> Value:
    first, second = DIRECTED[operation.name](*(convert(value, F64) for value in values))
    exact, rest = (first, first - first) if second is None else _two_sum(first, second)
    difference = exact - convert(nearest, F64)
    difference = where(difference == 0.0, rest, difference)
    negative = exact < 0.0
    too_small = where(negative, difference < 0.0, difference > 0.0)
    too_large = where(negative, difference > 0.0, difference < 0.0)
    if rounding is not Rounding.TOWARDS_ZERO:
        outwards = negative if rounding is Rounding.MINUS_INFINITY else ~negative
        too_small, too_large = too_small & outwards, too_large & ~outwards
    bits = bitcast(nearest, FORMATS[nearest.kind].bits)
    if rounding is not Rounding.TOWARDS_ZERO:
        bits = where(too_small, bits + 1, bits)
    moved = bitcast(where(too_large, bits - 1, bits), nearest.kind)
    if rounding is Rounding.MINUS_INFINITY and second is not None:
        vanishes = (exact == 0.0) & (sign_is_set(first) | sign_is_set(second))
        return where(vanishes, -abs(moved), moved)
    return moved


def _two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """Return the sum and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
