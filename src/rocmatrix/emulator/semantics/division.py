"""The three instructions that clang divides floats with: scale, fused step with scaling back, special cases.

The ISA document's pseudo-code of ``v_div_scale`` and ``v_div_fmas`` is not literally usable: it compares float32
quotients with float64 denormals, and always scales back by the same power. What is written here is what the division
sequence of LLVM (``AMDGPULegalizerInfo::legalizeFDIV32``) needs to be correctly rounded, which tests hold for float32
and float64: each scaling by ``v_div_scale`` is undone by ``v_div_fmas``, whose direction follows from the size of the
quotient.
"""

from __future__ import annotations

from rocmatrix.emulator.algebra import F16, F32, F64, Kind, Value, bitcast, fma, is_nan, where
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.floats import FORMATS, exponent, quiet, sign_is_set

Pair = tuple[Value, Value]
_SCALE = {F32: 64, F64: 128}
_NEAR_OVERFLOW = {F32: 96, F64: 768}
_UNDERFLOW = {F16: -100, F32: -150, F64: -1075}


def div_scale(operand: Value, denominator: Value, numerator: Value) -> Pair:
    """Return the operand (one of the other two), scaled where the division needs it, and where to scale back."""
    kind = operand.kind
    form = FORMATS[kind]
    up, down = 2.0 ** _SCALE[kind], 2.0 ** -_SCALE[kind]
    is_denominator = operand == denominator
    quotient = numerator / denominator
    tiny_quotient = (exponent(quotient) == 0) & (quotient != 0.0)
    tiny_reciprocal = abs(denominator) > 2.0 ** (form.bias - 1)
    huge_quotient = exponent(numerator) - exponent(denominator) >= _NEAR_OVERFLOW[kind]
    denormal = (exponent(denominator) == 0) & (denominator != 0.0)
    tiny_numerator = exponent(numerator) <= form.fraction
    zero = (denominator == 0.0) | (numerator == 0.0)

    result = where(tiny_numerator, operand * up, operand)
    result = where(tiny_quotient, where(operand == numerator, operand * up, operand), result)
    result = where(tiny_reciprocal, operand * down, result)
    result = where(tiny_reciprocal & tiny_quotient, where(is_denominator, operand * down, operand), result)
    result = where(denormal, operand * up, result)
    result = where(huge_quotient, where(is_denominator, operand * up, operand), result)
    nan = operand.constant(form.bits, form.exponent_mask << form.fraction | 1 << (form.fraction - 1))
    back = ~zero & (huge_quotient | (~denormal & tiny_quotient))
    return where(zero, bitcast(nan, kind), result), back


def div_fmas(a: Value, b: Value, c: Value, back: Value) -> Value:
    """Return ``a * b + c``, in some lanes times the power of two that undoes the scaling, rounded once.

    A quotient that is denormal and exactly halfway between two numbers may go either way: ``b`` is a reciprocal that is
    itself rounded, so the sum need not be exactly halfway. No published text says what the hardware does there.
    """
    kind = a.kind
    form = FORMATS[kind]
    up, down = 2.0 ** _SCALE[kind], 2.0 ** -_SCALE[kind]
    plain = fma(a, b, c)
    large = exponent(c) > form.bias
    small = plain * down
    # where the result is denormal it has been rounded twice; a tie that is none goes to the side of the exact sum
    lost = plain - small * up
    rest = fma(a, b, c - plain)
    unit = 2.0 ** (1 - form.bias - form.fraction)
    is_tie = (abs(lost) == unit * (0.5 * up)) & (rest != 0.0) & (sign_is_set(lost) == sign_is_set(rest)) & (lost != 0.0)
    step = where(sign_is_set(lost), lost.constant(kind, -unit), unit)
    other = small + step
    return where(back, where(large, plain * up, where(is_tie, other, small)), plain)


def div_fixup(quotient: Value, denominator: Value, numerator: Value) -> Value:
    """Return the quotient with the sign of the operands, and the special cases of a division.

    A quotient that overflows has made the steps before it subtract infinities: a NaN of finite operands is infinity.
    """
    kind = quotient.kind
    form = FORMATS[kind]
    negative = sign_is_set(denominator) ^ sign_is_set(numerator)
    infinite = form.exponent_mask

    def signed(magnitude: Value) -> Value:
        return where(negative, -magnitude, magnitude)

    zero = quotient.constant(kind, 0.0)
    infinity = quotient.constant(kind, float("inf"))
    invalid = bitcast(quotient.constant(form.bits, _invalid(kind)), kind)
    denominator_is_infinite = (exponent(denominator) == infinite) & ~is_nan(denominator)
    numerator_is_infinite = (exponent(numerator) == infinite) & ~is_nan(numerator)
    result = where(is_nan(quotient), signed(infinity), signed(abs(quotient)))
    if kind is not F16:
        result = where(exponent(numerator) - exponent(denominator) < _UNDERFLOW[kind], signed(zero), result)
    result = where(denominator_is_infinite | (numerator == 0.0), signed(zero), result)
    result = where((denominator == 0.0) | numerator_is_infinite, signed(infinity), result)
    both_infinite = denominator_is_infinite & numerator_is_infinite
    both_zero = (denominator == 0.0) & (numerator == 0.0)
    result = where(both_infinite | both_zero, invalid, result)
    return where(is_nan(numerator), quiet(numerator), where(is_nan(denominator), quiet(denominator), result))


def _invalid(kind: Kind) -> int:
    """Return the bits of the NaN of 0/0 and inf/inf: negative and quiet (ISA document, V_DIV_FIXUP)."""
    form = FORMATS[kind]
    return 1 << (form.bits.bits - 1) | form.exponent_mask << form.fraction | 1 << (form.fraction - 1)


for _name in ("f32", "f64"):
    VECTOR.add(f"v_div_scale_{_name}", f"{_name} mask <- {_name} {_name} {_name}", div_scale)
    VECTOR.add(f"v_div_fmas_{_name}", f"{_name} <- {_name} {_name} {_name} mask", div_fmas)
    VECTOR.add(f"v_div_fixup_{_name}", f"{_name} <- {_name} {_name} {_name}", div_fixup)
VECTOR.add("v_div_fixup_f16", "f16 <- f16 f16 f16", div_fixup, keeps_high=True)
VECTOR.add("v_div_fixup_legacy_f16", "f16 <- f16 f16 f16", div_fixup)
