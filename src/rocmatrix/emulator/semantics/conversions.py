"""Conversions between number formats, 8-bit floats with FNUZ encodings included.

FNUZ (finite, no infinity, unsigned zero): the byte 0x80 is the only NaN; e4m3 has bias 8 and ends at 240, e5m2 ("bf8")
has bias 16 and ends at 57344 (CDNA 3 ISA document, "FP8 and BF8").
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
    convert,
    floor,
    is_nan,
    rndne,
    where,
)
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.floats import exponent, sign_is_set

_NAN = 0x80


@dataclass(frozen=True, kw_only=True)
class Fnuz:
    """An 8-bit float format: bits of the fraction, bias of the exponent."""

    fraction: int
    bias: int

    @property
    def overflow(self) -> float:
        """Smallest magnitude that rounds above the largest number; 248 for e4m3."""
        steps = (2 << self.fraction) - 0.5
        return float(steps * 2.0 ** ((0xFF >> self.fraction + 1) - self.bias - self.fraction))


FP8 = Fnuz(fraction=3, bias=8)
BF8 = Fnuz(fraction=2, bias=16)


def from_fnuz(byte: Value, form: Fnuz) -> Value:
    """Return the float32 that a byte (U32, 0 to 255) stands for; exact."""
    magnitude = byte & 0x7F
    fraction = magnitude & ((1 << form.fraction) - 1)
    biased = magnitude >> form.fraction
    significand = where(biased == 0, fraction, fraction | 1 << form.fraction)
    power = where(biased == 0, biased.constant(U32, 1), biased) + (127 - form.bias - form.fraction)
    number = convert(significand, F32) * bitcast(power << 23, F32)
    signed = bitcast(bitcast(number, U32) | (byte & 0x80) << 24, F32)
    return where(byte == _NAN, bitcast(byte.constant(U32, 0x7FC00000), F32), signed)


def to_fnuz(a: Value, form: Fnuz, mode: Mode) -> Value:
    """Return the byte nearest to a float32, ties to even, as U32.

    What is too large becomes NaN, or the largest number where MODE says FP16_OVFL; infinity and NaN become NaN.
    """
    bits = bitcast(a, U32)
    magnitude = abs(a)
    # below the normal numbers one unit is 2**(1 - bias - fraction); above, it follows the exponent
    power = exponent(a) - 127
    lowest = 1 - form.bias
    power = where(power < lowest, lowest, power)
    unit = bitcast(convert(form.fraction - power + 127, U32) << 23, F32)
    steps = convert(rndne(magnitude * unit), U32)
    above = convert(power - lowest, U32) << form.fraction
    code = steps + above
    sign = bits >> 24 & 0x80
    result = where(code == 0, code, code | sign)
    saturated = sign | 0x7F
    finite = exponent(a) != 0xFF  # infinity and NaN
    beyond = where(finite, saturated, _NAN) if mode.fp16_overflow else bits.constant(U32, _NAN)
    return where(magnitude < form.overflow, result, beyond)


def _packed_fnuz(form: Fnuz):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a function of values
    def convert_two(a: Value, b: Value, mode: Mode) -> Value:
        return convert(to_fnuz(a, form, mode) | to_fnuz(b, form, mode) << 8, U16)

    return convert_two


def _two_from_fnuz(form: Fnuz):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a function of values
    def convert_two(half: Value) -> Value:
        low = bitcast(from_fnuz(convert(half, U32) & 0xFF, form), U32)
        high = bitcast(from_fnuz(convert(half, U32) >> 8, form), U32)
        return convert(low, U64) | convert(high, U64) << 32

    return convert_two


for _format, _name in ((FP8, "fp8"), (BF8, "bf8")):
    VECTOR.add(f"v_cvt_f32_{_name}", "f32 <- u8", lambda a, f=_format: from_fnuz(convert(a, U32), f), flushes=False)
    VECTOR.add(f"v_cvt_pk_f32_{_name}", "u64 <- u16", _two_from_fnuz(_format))
    VECTOR.add(
        f"v_cvt_pk_{_name}_f32", "u16 <- f32 f32", _packed_fnuz(_format), uses_mode=True, keeps_high=True, flushes=False
    )


def to_f16(a: Value, mode: Mode) -> Value:
    """Return a float32 as float16; too large numbers become the largest where MODE says FP16_OVFL."""
    result = convert(a, F16)
    if mode.fp16_overflow:
        finite = exponent(a) != 0xFF  # infinity and NaN
        infinite = exponent(result) == 0x1F  # infinity and NaN
        largest = where(sign_is_set(a), result.constant(F16, -65504.0), 65504.0)
        result = where(finite & infinite, largest, result)
    return result


def to_f16_towards_zero(a: Value) -> Value:
    """Return a float32 as float16, rounded towards zero: too large numbers become the largest."""
    nearest = convert(a, F16)
    too_far = abs(convert(nearest, F32)) > abs(a)
    return bitcast(where(too_far, bitcast(nearest, U16) - 1, bitcast(nearest, U16)), F16)


def halves(low: Value, high: Value) -> Value:
    """Return two 16-bit values as one register."""
    return convert(bitcast(low, U16), U32) | convert(bitcast(high, U16), U32) << 16


def normalized(a: Value, kind: Kind) -> Value:
    """Return a float between -1 and 1 (0 and 1) as a 16-bit integer of the full range; NaN becomes 0."""
    lowest, largest = (-1.0, 32767.0) if kind is I16 else (0.0, 65535.0)
    wide = convert(a, F64)
    limited = where(wide > 1.0, 1.0, where(wide < lowest, lowest, wide))
    return convert(convert(rndne(limited * largest), I32), kind)


def to_u8(a: Value) -> Value:
    """Return a float32 rounded to an unsigned byte, saturated, as U32."""
    limited = where(a > 255.0, 255.0, where(a > 0.0, a, 0.0))  # a byte's range
    return convert(rndne(limited), U32)


def _pk_u8(a: Value, byte: Value, old: Value) -> Value:
    place = (byte & 3) * 8
    return old & ~(old.constant(U32, 0xFF) << place) | to_u8(a) << place


def _to_integer(target: Kind, rounding=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - functions of values
    return lambda a: convert(rounding(a) if rounding else a, target)


def _half_up(a: Value) -> Value:
    wide = convert(a, F64)
    return floor(wide + 0.5)


def _register() -> None:
    for source, target in ((I32, F64), (I32, F32), (U32, F32), (U32, F64), (U16, F16), (I16, F16)):
        VECTOR.add(f"v_cvt_{target.label}_{source.label}", f"{target.label} <- {source.label}", _to_integer(target))
    for source, target in ((F64, I32), (F32, U32), (F32, I32), (F64, U32), (F16, U16), (F16, I16)):
        VECTOR.add(f"v_cvt_{target.label}_{source.label}", f"{target.label} <- {source.label}", _to_integer(target))
    for source, target in ((F16, F32), (F64, F32), (F32, F64)):
        VECTOR.add(f"v_cvt_{target.label}_{source.label}", f"{target.label} <- {source.label}", _to_integer(target))
    VECTOR.add("v_cvt_f16_f32", "f16 <- f32", to_f16, uses_mode=True)
    VECTOR.add("v_cvt_flr_i32_f32", "i32 <- f32", _to_integer(I32, floor))
    VECTOR.add("v_cvt_rpi_i32_f32", "i32 <- f32", _to_integer(I32, _half_up))
    for number in range(4):
        VECTOR.add(f"v_cvt_f32_ubyte{number}", "f32 <- u32", lambda a, n=number: convert(a >> 8 * n & 0xFF, F32))
    VECTOR.add("v_cvt_off_f32_i4", "f32 <- u32", lambda a: convert(bitcast(a << 28, I32) >> 28, F32) * 0.0625)
    VECTOR.add("v_cvt_norm_i16_f16", "i16 <- f16", lambda a: normalized(where(is_nan(a), 0.0, a), I16))
    VECTOR.add("v_cvt_norm_u16_f16", "u16 <- f16", lambda a: normalized(where(is_nan(a), 0.0, a), U16))
    for source in (F32, F16):
        for kind in (I16, U16):
            VECTOR.add(
                f"v_cvt_pknorm_{kind.label}_{source.label}",
                f"u32 <- {source.label} {source.label}",
                lambda a, b, kind=kind: halves(
                    normalized(where(is_nan(a), 0.0, a), kind), normalized(where(is_nan(b), 0.0, b), kind)
                ),
            )
    VECTOR.add(
        "v_cvt_pkrtz_f16_f32", "u32 <- f32 f32", lambda a, b: halves(to_f16_towards_zero(a), to_f16_towards_zero(b))
    )
    VECTOR.add("v_cvt_pk_u8_f32", "u32 <- f32 u32 u32", _pk_u8)
    VECTOR.add("v_pack_b32_f16", "u32 <- f16 f16", halves)


_register()
