"""Reciprocals, roots, exponentials, logarithms and circular functions.

The hardware's results are not correctly rounded and its tables are not published: the ISA document promises 1 ulp for
most float32 ones. Here each is the correctly rounded result in nearly every case (computed in float64, with the
algebra's own operations, so that every executor gives the same bits). A kernel must not depend on which it is: compare
with tolerances that allow 1 ulp either way, or let a launch run at either end (``numerics.Approximation``).

float32 reciprocals, roots and logarithms take denormal operands for zero, and reciprocals and exponentials give zero
for denormal results, as LLVM assumes of these instructions (``AMDGPUCodeGenPrepare``: they "do not support denormals").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import factorial, log

from rocmatrix.emulator.algebra import (
    F16,
    F32,
    F64,
    I32,
    Value,
    bitcast,
    convert,
    floor,
    fma,
    is_nan,
    rndne,
    sqrt,
    where,
)
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.floats import (
    FORMATS,
    exponent,
    flush,
    frexp_exponent,
    mantissa,
    sign_is_set,
    two_to_the,
)

_EXP2 = [log(2.0) ** n / factorial(n) for n in range(15)]
_ATANH = [2.0 / log(2.0) / (2 * n + 1) for n in range(12)]
_TWO_PI = 6.283185307179586
_SIN = [(-1.0) ** n * _TWO_PI ** (2 * n + 1) / factorial(2 * n + 1) for n in range(13)]
_ROOT_HALF = 0.7071067811865476
_LARGEST_ANGLE = 256.0
"""In revolutions; beyond it the instructions give the value at zero (GCN 3 ISA document, V_SIN_F32)."""
_EXP2_LIMIT = 1000.0


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Return the polynomial with these coefficients, lowest first, by Horner's rule."""
    result = x.constant(x.kind, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def exp2(x: Value) -> Value:
    """Return two to the power of a float64 whose result fits into float32's range, or infinity or zero."""
    limited = where(x > _EXP2_LIMIT, _EXP2_LIMIT, where(x < -_EXP2_LIMIT, -_EXP2_LIMIT, x))
    whole = rndne(limited)
    return where(is_nan(x), x, polynomial(limited - whole, _EXP2) * two_to_the(convert(whole, I32), F64))


def log2(x: Value) -> Value:
    """Return the binary logarithm of a float64."""
    significand, power = mantissa(x), convert(frexp_exponent(x), F64)
    small = significand < _ROOT_HALF
    significand = where(small, significand * 2.0, significand)
    power = where(small, power - 1.0, power)
    ratio = (significand - 1.0) / (significand + 1.0)
    result = power + ratio * polynomial(ratio * ratio, _ATANH)
    infinity = x.constant(F64, float("inf"))
    special = where(x == 0.0, -infinity, where(x < 0.0, infinity - infinity, where(x == infinity, infinity, result)))
    return where(is_nan(x), x, special)


def sine(x: Value) -> Value:
    """Return the sine of a float64 in revolutions."""
    turn = x - rndne(x)
    folded = where(turn > 0.25, 0.5 - turn, where(turn < -0.25, -0.5 - turn, turn))
    return folded * polynomial(folded * folded, _SIN)


def _circular(a: Value, shift: float) -> Value:
    x = convert(a, F64)
    beyond = abs(a) > _LARGEST_ANGLE
    infinite = exponent(a) == FORMATS[a.kind].exponent_mask
    at_zero = x.constant(F64, 0.0 if shift == 0.0 else 1.0)
    turned = x - floor(x) + shift if shift else x
    result = where(infinite, x - x, where(beyond, at_zero, sine(turned)))
    return convert(result, a.kind)


def _through_f64(function: Callable[[Value], Value], a: Value) -> Value:
    result: Value = convert(function(convert(a, F64)), a.kind)
    return result


def reciprocal(a: Value) -> Value:
    """Return one over a float."""
    return 1.0 / a


def reciprocal_root(a: Value) -> Value:
    """Return one over the square root of a float; float32 and float16 are rounded once."""
    if a.kind is F64:
        return 1.0 / sqrt(a)
    return _through_f64(lambda x: 1.0 / sqrt(x), a)


_EXCESS: dict[str, Callable[[Value, Value], Value]] = {
    "rcp": lambda a, result: fma(a, result, a.constant(F64, -1.0)),
    "rsq": lambda a, result: fma(result * result, a, a.constant(F64, -1.0)),
    "sqrt": lambda a, result: fma(result, result, -a),
    "exp": lambda a, result: where(result == 1.0, -a, result - exp2(a)),  # float64 has no number between for a tiny one
    "log": lambda a, result: abs(result) - abs(log2(a)),
}
"""How far the magnitude of a result is above the true one, in sign, from operand and result as float64."""


def _approximate() -> Iterator[tuple[str, str]]:
    for kind in ("f32", "f16"):
        for name in _EXCESS:
            yield f"v_{name}_{kind}", name
    yield from (("v_rcp_iflag_f32", "rcp"), ("v_exp_legacy_f32", "exp"), ("v_log_legacy_f32", "log"))


APPROXIMATE = dict(_approximate())
"""Instructions whose last bit is not documented -> what they compute."""


def at_an_end(name: str, a: Value, result: Value, *, above: bool) -> Value:
    """Return the number next to the true result, above or below; an exact result is that itself.

    Results that are zeros, denormals, infinities, NaN and the largest numbers stay as they are. A denormal operand of
    float32 counts as zero (ISA document, V_EXP_F32 and others: "denormals are flushed").
    """
    form = FORMATS[result.kind]
    power = exponent(result)
    bits = bitcast(result, form.bits)
    operand = flush(a) if a.kind is F32 else a
    excess = _EXCESS[APPROXIMATE[name]](convert(operand, F64), convert(result, F64))
    larger = bitcast(where(excess < 0.0, bits + 1, bits), result.kind)
    smaller = bitcast(where(excess > 0.0, bits - 1, bits), result.kind)
    negative = sign_is_set(result)
    moved = where(negative, smaller, larger) if above else where(negative, larger, smaller)
    return where((power <= 1) | (power >= form.exponent_mask - 1), result, moved)


def _register() -> None:
    single = {
        "v_rcp_f32": lambda a: flush(reciprocal(flush(a))),
        "v_rcp_iflag_f32": lambda a: flush(reciprocal(flush(a))),
        "v_rsq_f32": lambda a: reciprocal_root(flush(a)),
        "v_sqrt_f32": lambda a: sqrt(flush(a)),
        "v_exp_f32": lambda a: flush(_through_f64(exp2, a)),
        "v_log_f32": lambda a: _through_f64(log2, flush(a)),
        "v_exp_legacy_f32": lambda a: flush(_through_f64(exp2, a)),
        "v_log_legacy_f32": lambda a: _through_f64(log2, flush(a)),
        "v_sin_f32": lambda a: _circular(a, 0.0),
        "v_cos_f32": lambda a: _circular(a, 0.25),
    }
    half = {
        "v_rcp_f16": reciprocal,
        "v_rsq_f16": reciprocal_root,
        "v_sqrt_f16": sqrt,
        "v_exp_f16": lambda a: _through_f64(exp2, a),
        "v_log_f16": lambda a: _through_f64(log2, a),
        "v_sin_f16": lambda a: _circular(a, 0.0),
        "v_cos_f16": lambda a: _circular(a, 0.25),
    }
    double = {"v_rcp_f64": reciprocal, "v_rsq_f64": reciprocal_root, "v_sqrt_f64": sqrt}
    for kind, functions in ((F32, single), (F16, half), (F64, double)):
        for name, function in functions.items():
            VECTOR.add(name, f"{kind.label} <- {kind.label}", function)


_register()
