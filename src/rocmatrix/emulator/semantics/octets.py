"""Vector arithmetic on the bytes and halves of registers: permutation, sums of absolute differences, saturation."""

from __future__ import annotations

from rocmatrix.emulator.algebra import I16, I32, U16, U32, Value, bitcast, convert, where
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.bits import absolute_difference, byte_of
from rocmatrix.emulator.semantics.scalar import low, wide


@VECTOR.define("u32 <- u32 u32 u32")
def v_perm_b32(a: Value, b: Value, selectors: Value) -> Value:
    """Each selector picks byte 0 to 7 of ``{a, b}``, a sign of a half, 0x00 (12) or 0xff (from 13 on)."""
    both = wide(a) << 32 | wide(b)
    result = selectors.constant(U32, 0)
    for number in range(4):
        selector = byte_of(selectors, number)
        byte = low(both >> (wide(selector) & 7) * 8) & 0xFF
        sign_bit = (wide(selector) - 8) * 16 + 15
        sign = where((both >> (sign_bit & 63) & 1) != 0, selector.constant(U32, 0xFF), 0)
        special = where(selector < 12, sign, where(selector == 12, selector.constant(U32, 0), 0xFF))
        result = result | where(selector < 8, byte, special) << 8 * number  # the bytes end here
    return result


@VECTOR.define("u32 <- u32 u32 u32")
def v_sad_u8(a: Value, b: Value, c: Value) -> Value:
    for number in range(4):
        c = c + absolute_difference(byte_of(a, number), byte_of(b, number))
    return c


@VECTOR.define("u32 <- u32 u32 u32")
def v_sad_hi_u8(a: Value, b: Value, c: Value) -> Value:
    return (v_sad_u8(a, b, a ^ a) << 16) + c


@VECTOR.define("u32 <- u32 u32 u32")
def v_sad_u16(a: Value, b: Value, c: Value) -> Value:
    return absolute_difference(a & 0xFFFF, b & 0xFFFF) + absolute_difference(a >> 16, b >> 16) + c


@VECTOR.define("u32 <- u32 u32 u32")
def v_msad_u8(a: Value, b: Value, c: Value) -> Value:
    for number in range(4):
        mask = byte_of(b, number)
        c = c + where(mask == 0, mask, absolute_difference(byte_of(a, number), mask))
    return c


@VECTOR.define("u32 <- u32 u32 u32")
def v_lerp_u8(a: Value, b: Value, c: Value) -> Value:
    result = a ^ a
    for number in range(4):
        total = byte_of(a, number) + byte_of(b, number) + (c >> 8 * number & 1)
        result = result | (total >> 1) << 8 * number
    return result


@VECTOR.define("u16 <- u32")
def v_sat_pk_u8_i16(a: Value) -> Value:
    result = a ^ a
    for number in range(2):
        half = convert(convert(a >> 16 * number, I16), I32)
        limited = where(half < 0, 0, where(half > 0xFF, 0xFF, half))
        result = result | bitcast(limited, U32) << 8 * number
    return convert(result, U16)
