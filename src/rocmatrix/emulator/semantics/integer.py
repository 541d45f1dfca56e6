"""Vector arithmetic on integers (ISA document, "Vector ALU Operations")."""

from __future__ import annotations

from rocmatrix.emulator.algebra import (
    I32,
    I64,
    U32,
    Value,
    bitcast,
    convert,
    popcount,
    where,
)
from rocmatrix.emulator.semantics.arithmetic import VECTOR, Function
from rocmatrix.emulator.semantics.bits import absolute_difference, find_first_one, reverse_bits, sign_change
from rocmatrix.emulator.semantics.scalar import leading_zeros_or_minus_one, low, wide, with_carry

Pair = tuple[Value, Value]

_PLAIN: dict[str, tuple[str, Function]] = {
    "v_mov_b32": ("u32 <- u32", lambda a: a),
    "v_mov_b64": ("u64 <- u64", lambda a: a),
    "v_not_b32": ("u32 <- u32", lambda a: ~a),
    "v_bfrev_b32": ("u32 <- u32", reverse_bits),
    "v_ffbh_u32": ("u32 <- u32", leading_zeros_or_minus_one),
    "v_ffbl_b32": ("u32 <- u32", find_first_one),
    "v_ffbh_i32": ("u32 <- u32", lambda a: sign_change(bitcast(a, I32))),
    "v_and_b32": ("u32 <- u32 u32", lambda a, b: a & b),
    "v_or_b32": ("u32 <- u32 u32", lambda a, b: a | b),
    "v_xor_b32": ("u32 <- u32 u32", lambda a, b: a ^ b),
    "v_xnor_b32": ("u32 <- u32 u32", lambda a, b: ~(a ^ b)),
    "v_lshrrev_b32": ("u32 <- u32 u32", lambda count, a: a >> (count & 31)),
    "v_lshlrev_b32": ("u32 <- u32 u32", lambda count, a: a << (count & 31)),
    "v_ashrrev_i32": ("i32 <- u32 i32", lambda count, a: a >> (count & 31)),
    "v_lshlrev_b64": ("u64 <- u32 u64", lambda count, a: a << (count & 63)),
    "v_lshrrev_b64": ("u64 <- u32 u64", lambda count, a: a >> (count & 63)),
    "v_ashrrev_i64": ("i64 <- u32 i64", lambda count, a: a >> (count & 63)),
    "v_lshlrev_b16": ("u16 <- u16 u16", lambda count, a: a << (count & 15)),
    "v_lshrrev_b16": ("u16 <- u16 u16", lambda count, a: a >> (count & 15)),
    "v_ashrrev_i16": ("i16 <- u16 i16", lambda count, a: a >> (count & 15)),
    "v_add_u32": ("u32 <- u32 u32", lambda a, b: a + b),
    "v_sub_u32": ("u32 <- u32 u32", lambda a, b: a - b),
    "v_subrev_u32": ("u32 <- u32 u32", lambda a, b: b - a),
    "v_add_i32": ("i32 <- i32 i32", lambda a, b: a + b),
    "v_sub_i32": ("i32 <- i32 i32", lambda a, b: a - b),
    "v_add_u16": ("u16 <- u16 u16", lambda a, b: a + b),
    "v_sub_u16": ("u16 <- u16 u16", lambda a, b: a - b),
    "v_subrev_u16": ("u16 <- u16 u16", lambda a, b: b - a),
    "v_mul_lo_u16": ("u16 <- u16 u16", lambda a, b: a * b),
    "v_mul_lo_u32": ("u32 <- u32 u32", lambda a, b: a * b),
    "v_mul_hi_u32": ("u32 <- u32 u32", lambda a, b: low(wide(a) * wide(b) >> 32)),
    "v_mul_hi_i32": ("i32 <- i32 i32", lambda a, b: convert(convert(a, I64) * convert(b, I64) >> 32, I32)),
    "v_lshl_add_u32": ("u32 <- u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c),
    "v_add_lshl_u32": ("u32 <- u32 u32 u32", lambda a, b, c: (a + b) << (c & 31)),
    "v_lshl_or_b32": ("u32 <- u32 u32 u32", lambda a, b, c: a << (b & 31) | c),
    "v_and_or_b32": ("u32 <- u32 u32 u32", lambda a, b, c: a & b | c),
    "v_or3_b32": ("u32 <- u32 u32 u32", lambda a, b, c: a | b | c),
    "v_add3_u32": ("u32 <- u32 u32 u32", lambda a, b, c: a + b + c),
    "v_xad_u32": ("u32 <- u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_bfi_b32": ("u32 <- u32 u32 u32", lambda a, b, c: a & b | ~a & c),
    "v_lshl_add_u64": ("u64 <- u64 u32 u64", lambda a, b, c: (a << (b & 7)) + c),
    "v_bcnt_u32_b32": ("u32 <- u32 u32", lambda a, b: popcount(a) + b),
    "v_bfm_b32": ("u32 <- u32 u32", lambda width, offset: ((1 << (width & 31)) - 1) << (offset & 31)),
    "v_mad_u32_u16": ("u32 <- u16 u16 u32", lambda a, b, c: convert(a, U32) * convert(b, U32) + c),
    "v_mad_i32_i16": ("i32 <- i16 i16 i32", lambda a, b, c: convert(a, I32) * convert(b, I32) + c),
    "v_alignbit_b32": ("u32 <- u32 u32 u32", lambda a, b, c: low((wide(a) << 32 | wide(b)) >> (wide(c) & 31))),
    "v_alignbyte_b32": ("u32 <- u32 u32 u32", lambda a, b, c: low((wide(a) << 32 | wide(b)) >> (wide(c) & 3) * 8)),
    "v_sad_u32": ("u32 <- u32 u32 u32", lambda a, b, c: absolute_difference(a, b) + c),
    "v_cvt_pk_u16_u32": (
        "u32 <- u32 u32",
        lambda a, b: where(a > 0xFFFF, 0xFFFF, a) | where(b > 0xFFFF, 0xFFFF, b) << 16,
    ),
    "v_cvt_pk_i16_i32": ("u32 <- i32 i32", lambda a, b: _saturated(a) & 0xFFFF | _saturated(b) << 16),
}

for _name, (_signature, _function) in _PLAIN.items():
    VECTOR.add(_name, _signature, _function)

VECTOR.add("v_cndmask_b32", "f32 <- f32 f32 mask", lambda a, b, mask: where(mask, b, a), flushes=False, rounds=False)
"""Its sources take the modifiers of floats."""


def _saturated(a: Value) -> Value:
    """Return a signed value limited to 16 bits, its bits as U32."""
    return bitcast(where(a > 0x7FFF, 0x7FFF, where(a < -0x8000, -0x8000, a)), U32)


def _signed_24(a: Value) -> Value:
    return a << 8 >> 8


def _unsigned_24(a: Value) -> Value:
    return a & 0xFFFFFF


@VECTOR.define("i32 <- i32 i32")
def v_mul_i32_i24(a: Value, b: Value) -> Value:
    return _signed_24(a) * _signed_24(b)


@VECTOR.define("i32 <- i32 i32")
def v_mul_hi_i32_i24(a: Value, b: Value) -> Value:
    return convert(convert(_signed_24(a), I64) * convert(_signed_24(b), I64) >> 32, I32)


@VECTOR.define("u32 <- u32 u32")
def v_mul_u32_u24(a: Value, b: Value) -> Value:
    return _unsigned_24(a) * _unsigned_24(b)


@VECTOR.define("u32 <- u32 u32")
def v_mul_hi_u32_u24(a: Value, b: Value) -> Value:
    return low(wide(_unsigned_24(a)) * wide(_unsigned_24(b)) >> 32)


@VECTOR.define("i32 <- i32 i32 i32")
def v_mad_i32_i24(a: Value, b: Value, c: Value) -> Value:
    return _signed_24(a) * _signed_24(b) + c


@VECTOR.define("u32 <- u32 u32 u32")
def v_mad_u32_u24(a: Value, b: Value, c: Value) -> Value:
    return _unsigned_24(a) * _unsigned_24(b) + c


@VECTOR.define("u64 mask <- u32 u32 u64")
def v_mad_u64_u32(a: Value, b: Value, c: Value) -> Pair:
    product = wide(a) * wide(b)
    total = product + c
    return total, total < product


@VECTOR.define("i64 mask <- i32 i32 i64")
def v_mad_i64_i32(a: Value, b: Value, c: Value) -> Pair:
    """The mask gets bit 64 of the sum in 65 bits: its sign."""
    product = convert(a, I64) * convert(b, I64)
    total = product + c
    overflow = ((product ^ total) & (c ^ total)) < 0
    return total, (total < 0) ^ overflow


@VECTOR.define("u32 mask <- u32 u32")
def v_add_co_u32(a: Value, b: Value) -> Pair:
    return with_carry(wide(a) + wide(b))


@VECTOR.define("u32 mask <- u32 u32")
def v_sub_co_u32(a: Value, b: Value) -> Pair:
    return a - b, b > a


@VECTOR.define("u32 mask <- u32 u32")
def v_subrev_co_u32(a: Value, b: Value) -> Pair:
    return v_sub_co_u32(b, a)


@VECTOR.define("u32 mask <- u32 u32 mask")
def v_addc_co_u32(a: Value, b: Value, carry: Value) -> Pair:
    return with_carry(wide(a) + wide(b) + wide(carry))


@VECTOR.define("u32 mask <- u32 u32 mask")
def v_subb_co_u32(a: Value, b: Value, borrow: Value) -> Pair:
    return a - b - convert(borrow, U32), wide(b) + wide(borrow) > wide(a)


@VECTOR.define("u32 mask <- u32 u32 mask")
def v_subbrev_co_u32(a: Value, b: Value, borrow: Value) -> Pair:
    return v_subb_co_u32(b, a, borrow)


@VECTOR.define("u32 <- u32 u32 u32")
def v_bfe_u32(a: Value, offset: Value, width: Value) -> Value:
    return a >> (offset & 31) & ((1 << (width & 31)) - 1)


@VECTOR.define("i32 <- i32 u32 u32")
def v_bfe_i32(a: Value, offset: Value, width: Value) -> Value:
    spare = 32 - (width & 31)
    field = bitcast(bitcast(a >> (offset & 31), U32) << spare, I32) >> spare
    return where((width & 31) == 0, a.constant(I32, 0), field)


def _minimum_maximum() -> None:
    for kind in ("i32", "u32", "i16", "u16"):
        keeps = kind.endswith("16")
        two, three = f"{kind} <- {kind} {kind}", f"{kind} <- {kind} {kind} {kind}"
        VECTOR.add(f"v_min_{kind}", two, minimum)
        VECTOR.add(f"v_max_{kind}", two, maximum)
        VECTOR.add(f"v_min3_{kind}", three, lambda a, b, c: minimum(minimum(a, b), c), keeps_high=keeps)
        VECTOR.add(f"v_max3_{kind}", three, lambda a, b, c: maximum(maximum(a, b), c), keeps_high=keeps)
        VECTOR.add(f"v_med3_{kind}", three, median, keeps_high=keeps)


def minimum(a: Value, b: Value) -> Value:
    """Return the smaller integer."""
    return where(a < b, a, b)


def maximum(a: Value, b: Value) -> Value:
    """Return the larger integer."""
    return where(a >= b, a, b)


def median(a: Value, b: Value, c: Value) -> Value:
    """Return the integer between the other two."""
    return maximum(minimum(a, b), minimum(maximum(a, b), c))


def _multiply_add_16() -> None:
    for kind in ("u16", "i16"):
        signature = f"{kind} <- {kind} {kind} {kind}"
        VECTOR.add(f"v_mad_{kind}", signature, lambda a, b, c: a * b + c, keeps_high=True)
        VECTOR.add(f"v_mad_legacy_{kind}", signature, lambda a, b, c: a * b + c)
    VECTOR.add("v_add_i16", "i16 <- i16 i16", lambda a, b: a + b, keeps_high=True)
    VECTOR.add("v_sub_i16", "i16 <- i16 i16", lambda a, b: a - b, keeps_high=True)


def sum_of_products(a: Value, b: Value, c: Value, *, bits: int, signed: bool) -> Value:
    """Return ``c`` plus the products of the parts of two registers, each ``bits`` wide, in 32 bits."""
    for number in range(32 // bits):
        parts = []
        for source in (a, b):
            moved = source << (32 - bits - bits * number)
            parts.append(bitcast(bitcast(moved, I32) >> (32 - bits), U32) if signed else moved >> (32 - bits))
        c = c + parts[0] * parts[1]
    return c


def saturating_sum_of_products(a: Value, b: Value, c: Value, *, bits: int, signed: bool) -> Value:
    """Return ``c`` plus the products, limited to the range of 32 bits; parts are 8 bits wide at most.

    That the sum is limited once, and not after each product: software of ROCm's device libraries for GPUs without the
    instructions (``ockl/src/dots.cl``).
    """
    products = sum_of_products(a, b, c.constant(U32, 0), bits=bits, signed=signed)
    kind = I32 if signed else U32
    exact = convert(bitcast(products, kind), I64) + convert(bitcast(c, kind), I64)
    lowest, highest = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    limited = where(exact > highest, highest, where(exact < lowest, lowest, exact))
    return bitcast(convert(limited, kind), U32)


def _dot_products() -> None:
    for name, bits in (("v_dot2c_i32_i16", 16), ("v_dot4c_i32_i8", 8), ("v_dot8c_i32_i4", 4)):
        VECTOR.add(
            name, "u32 <- u32 u32 u32", lambda a, b, c, bits=bits: sum_of_products(a, b, c, bits=bits, signed=True)
        )


_minimum_maximum()
_multiply_add_16()
_dot_products()
