"""Vector arithmetic on float16, float32 and float64: what rounds to nearest even, minimum and maximum, classes, parts.

Rounding, denormals and source modifiers are MODE's and the encoding's business (``modifiers.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.emulator.algebra import (
    F16,
    F32,
    F64,
    I16,
    I32,
    U16,
    U32,
    U64,
    Kind,
    Value,
    bitcast,
    ceil,
    convert,
    floor,
    fma,
    is_nan,
    rndne,
    trunc,
    where,
)
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.semantics.arithmetic import VECTOR


@dataclass(frozen=True, kw_only=True)
class Format:
    """How the bits of a float kind are divided."""

    bits: Kind
    fraction: int
    exponent_mask: int
    bias: int


FORMATS = {
    F16: Format(bits=U16, fraction=10, exponent_mask=0x1F, bias=15),
    F32: Format(bits=U32, fraction=23, exponent_mask=0xFF, bias=127),
    F64: Format(bits=U64, fraction=52, exponent_mask=0x7FF, bias=1023),
}


def exponent(a: Value) -> Value:
    """Return the biased exponent as I32: 0 for zero and denormals."""
    form = FORMATS[a.kind]
    return convert(bitcast(a, form.bits) >> form.fraction & form.exponent_mask, I32)


def sign_is_set(a: Value) -> Value:
    """Return where the sign bit is one."""
    bits = FORMATS[a.kind].bits
    return bitcast(a, bits) >> (bits.bits - 1) != 0


def quiet(a: Value) -> Value:
    """Return a NaN with its quiet bit set."""
    form = FORMATS[a.kind]
    return bitcast(bitcast(a, form.bits) | (1 << (form.fraction - 1)), a.kind)


def is_signalling(a: Value) -> Value:
    """Return where a float is a signalling NaN."""
    form = FORMATS[a.kind]
    return is_nan(a) & ((bitcast(a, form.bits) >> (form.fraction - 1) & 1) == 0)


def flush(a: Value) -> Value:
    """Return the float with denormals made zeros of their sign."""
    form = FORMATS[a.kind]
    bits = bitcast(a, form.bits)
    sign = bits & (1 << (form.bits.bits - 1))
    return bitcast(where((bits >> form.fraction & form.exponent_mask) == 0, sign, bits), a.kind)


def minimum(a: Value, b: Value, mode: Mode) -> Value:
    """Return the smaller: a NaN loses, -0 is below +0; a signalling NaN wins, quiet, where MODE says IEEE."""
    return _select(a, b, (a < b) | ((a == b) & sign_is_set(a)), mode)


def maximum(a: Value, b: Value, mode: Mode) -> Value:
    """Return the larger, by the same rules."""
    return _select(a, b, (a > b) | ((a == b) & ~sign_is_set(a)), mode)


def _select(a: Value, b: Value, first: Value, mode: Mode) -> Value:
    result = where(is_nan(a), b, where(is_nan(b), a, where(first, a, b)))
    if mode.ieee:
        result = where(is_signalling(a), quiet(a), where(is_signalling(b), quiet(b), result))
    return result


def minimum_3(a: Value, b: Value, c: Value, mode: Mode) -> Value:
    """Return the smallest."""
    return minimum(minimum(a, b, mode), c, mode)


def maximum_3(a: Value, b: Value, c: Value, mode: Mode) -> Value:
    """Return the largest."""
    return maximum(maximum(a, b, mode), c, mode)


def median(a: Value, b: Value, c: Value, mode: Mode) -> Value:
    """Return the middle one; with a NaN the smallest of the three."""
    largest = maximum_3(a, b, c, mode)
    rest = where(largest == a, maximum(b, c, mode), where(largest == b, maximum(a, c, mode), maximum(a, b, mode)))
    return where(is_nan(a) | is_nan(b) | is_nan(c), minimum_3(a, b, c, mode), rest)


def scale(a: Value, power: Value) -> Value:
    """Return ``a * 2**power`` rounded once; ``power`` is I32 of any size."""
    form = FORMATS[a.kind]
    step = form.bias - 2
    limit = 4 * form.bias
    power = where(power > limit, limit, where(power < -limit, -limit, power))
    # up: exact or infinite. down: the last step is the only one that can be inexact, if those before keep it normal
    mantissa_power = exponent(a) - form.bias
    upward, count = a, power
    for _ in range(4):
        part = where(count > step, step, where(count < 0, 0, count))
        upward, count = upward * two_to_the(part, a.kind), count - part
    down = where(power < 0, power, 0)
    shift = form.fraction + 2
    is_denormal = exponent(a) == 0
    normal = where(is_denormal, a * two_to_the_constant(a, shift), a)
    base = where(is_denormal, exponent(normal) - form.bias - shift, mantissa_power)
    unit = with_exponent(normal, 0)
    target = base + down
    safe = target >= 1 - form.bias
    whole = where(safe, target, 1 - form.bias)
    rest = where(safe, 0, target - (1 - form.bias))
    rest = where(rest < -(form.fraction + 3), -(form.fraction + 3), rest)
    downward = unit * two_to_the(whole, a.kind) * two_to_the(rest, a.kind)
    special = (a == 0) | is_nan(a) | (exponent(a) == form.exponent_mask)
    return where(special, a, where(power < 0, downward, upward))


def two_to_the(power: Value, kind: Kind) -> Value:
    """Return a power of two; ``power`` is I32 and gives a normal number."""
    form = FORMATS[kind]
    return bitcast(convert(power + form.bias, form.bits) << form.fraction, kind)


def two_to_the_constant(like: Value, power: int) -> Value:
    """Return a power of two as a constant of the value's kind."""
    return like.constant(like.kind, 2.0**power)


def with_exponent(a: Value, power: int) -> Value:
    """Return a normal float with its exponent replaced."""
    form = FORMATS[a.kind]
    bits = bitcast(a, form.bits)
    cleared = bits & ~(form.exponent_mask << form.fraction)
    return bitcast(cleared | ((form.bias + power) << form.fraction), a.kind)


def _is_finite(a: Value) -> Value:
    return exponent(a) != FORMATS[a.kind].exponent_mask


def mantissa(a: Value) -> Value:
    """Return the significand in [0.5, 1), with the sign; zero, infinity and NaN as they are."""
    normal = where(exponent(a) == 0, a * two_to_the_constant(a, FORMATS[a.kind].fraction + 2), a)
    return where((a == 0) | ~_is_finite(a), a, with_exponent(normal, -1))


def frexp_exponent(a: Value) -> Value:
    """Return the exponent that belongs to ``mantissa``, as I32; 0 for zero, infinity and NaN."""
    form = FORMATS[a.kind]
    is_denormal = exponent(a) == 0
    shift = form.fraction + 2
    normal = where(is_denormal, a * two_to_the_constant(a, shift), a)
    result = exponent(normal) - form.bias + 1 - where(is_denormal, exponent(a).constant(I32, shift), 0)
    return where((a == 0) | ~_is_finite(a), 0, result)


def fraction(a: Value) -> Value:
    """Return the value minus its floor, kept below 1 as the hardware does; NaN for infinity."""
    form = FORMATS[a.kind]
    result = a - floor(a)
    return where(result >= 1.0, 1.0 - 2.0 ** -(form.fraction + 1), result)


def classify(a: Value, wanted: Value) -> Value:
    """Return where the class of a float is among those wanted: bit 0 signalling NaN to bit 9 plus infinity."""
    form = FORMATS[a.kind]
    negative = sign_is_set(a)
    biased = exponent(a)

    def bit(plus: int, minus: int) -> Value:
        return where(negative, biased.constant(I32, minus), plus)

    ordinary = where(
        biased == form.exponent_mask,
        bit(9, 2),
        where(biased > 0, bit(8, 3), where(a != 0.0, bit(7, 4), bit(6, 5))),
    )
    number = where(is_nan(a), where(is_signalling(a), biased.constant(I32, 0), 1), ordinary)
    return (wanted >> convert(number, wanted.kind) & 1) != 0


def _register(kind: Kind) -> None:
    name = kind.label
    one, two, three = f"{name} <- {name}", f"{name} <- {name} {name}", f"{name} <- {name} {name} {name}"
    is_half = kind is F16
    VECTOR.add(f"v_add_{name}", two, lambda a, b: a + b)
    VECTOR.add(f"v_mul_{name}", two, lambda a, b: a * b)
    VECTOR.add(f"v_fma_{name}", three, fma, keeps_high=is_half)
    if kind is not F64:
        VECTOR.add(f"v_sub_{name}", two, lambda a, b: a - b)
        VECTOR.add(f"v_subrev_{name}", two, lambda a, b: b - a)
        VECTOR.add(f"v_min3_{name}", three, minimum_3, uses_mode=True, rounds=False, keeps_high=is_half)
        VECTOR.add(f"v_max3_{name}", three, maximum_3, uses_mode=True, rounds=False, keeps_high=is_half)
        VECTOR.add(f"v_med3_{name}", three, median, uses_mode=True, rounds=False, keeps_high=is_half)
    if not is_half:
        VECTOR.add(f"v_fmac_{name}", three, fma)
    VECTOR.add(f"v_min_{name}", two, minimum, uses_mode=True, rounds=False)
    VECTOR.add(f"v_max_{name}", two, maximum, uses_mode=True, rounds=False)
    VECTOR.add(f"v_trunc_{name}", one, trunc, rounds=False)
    VECTOR.add(f"v_ceil_{name}", one, ceil, rounds=False)
    VECTOR.add(f"v_floor_{name}", one, floor, rounds=False)
    VECTOR.add(f"v_rndne_{name}", one, rndne, rounds=False)
    VECTOR.add(f"v_fract_{name}", one, fraction)
    VECTOR.add(f"v_frexp_mant_{name}", one, mantissa, rounds=False)
    wanted = "u16" if is_half else "u32"
    VECTOR.add(f"v_cmp_class_{name}", f"mask <- {name} {wanted}", classify, flushes=False)
    VECTOR.add(f"v_cmpx_class_{name}", f"mask <- {name} {wanted}", classify, flushes=False)


for _kind in (F16, F32, F64):
    _register(_kind)

VECTOR.add("v_frexp_exp_i32_f32", "i32 <- f32", frexp_exponent)
VECTOR.add("v_frexp_exp_i32_f64", "i32 <- f64", frexp_exponent)
VECTOR.add("v_frexp_exp_i16_f16", "i16 <- f16", lambda a: convert(frexp_exponent(a), I16))
VECTOR.add("v_ldexp_f32", "f32 <- f32 i32", scale)
VECTOR.add("v_ldexp_f64", "f64 <- f64 i32", scale)
VECTOR.add("v_ldexp_f16", "f16 <- f16 i16", lambda a, b: scale(a, convert(b, I32)))
VECTOR.add("v_mul_legacy_f32", "f32 <- f32 f32", lambda a, b: where((a == 0.0) | (b == 0.0), 0.0, a * b))
VECTOR.add("v_fmamk_f32", "f32 <- f32 f32 f32", fma)
VECTOR.add("v_fmaak_f32", "f32 <- f32 f32 f32", fma)
VECTOR.add("v_mac_f16", "f16 <- f16 f16 f16", lambda a, b, c: a * b + c)
VECTOR.add("v_madmk_f16", "f16 <- f16 f16 f16", lambda a, b, c: a * b + c)
VECTOR.add("v_madak_f16", "f16 <- f16 f16 f16", lambda a, b, c: a * b + c)
VECTOR.add("v_mad_f16", "f16 <- f16 f16 f16", lambda a, b, c: a * b + c, keeps_high=True)
VECTOR.add("v_mad_legacy_f16", "f16 <- f16 f16 f16", lambda a, b, c: a * b + c)
VECTOR.add("v_fma_legacy_f16", "f16 <- f16 f16 f16", fma)


def _comparisons() -> None:
    functions = {
        "lt": lambda a, b: a < b,
        "eq": lambda a, b: a == b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    ordered = {
        **functions,
        "lg": lambda a, b: (a < b) | (a > b),
        "o": lambda a, b: ~(is_nan(a) | is_nan(b)),
        "f": lambda a, b: is_nan(a) & ~is_nan(a) & (b == b),  # noqa: PLR0124 - false in every lane
    }
    unordered = {"u": "o", "nge": "ge", "nlg": "lg", "ngt": "gt", "nle": "le", "neq": "eq", "nlt": "lt", "tru": "f"}
    floats = ordered | {name: (lambda a, b, f=ordered[of]: ~f(a, b)) for name, of in unordered.items()}
    integers = functions | {"ne": lambda a, b: a != b, "f": lambda a, b: (a != a) & (b != b)}  # noqa: PLR0124
    integers["t"] = lambda a, b: (a == a) | (b == b)  # noqa: PLR0124 - true in every lane
    for prefix in ("v_cmp", "v_cmpx"):
        for kind in ("f16", "f32", "f64"):
            for name, function in floats.items():
                VECTOR.add(f"{prefix}_{name}_{kind}", f"mask <- {kind} {kind}", function)
        for kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
            for name, function in integers.items():
                VECTOR.add(f"{prefix}_{name}_{kind}", f"mask <- {kind} {kind}", function)


_comparisons()
