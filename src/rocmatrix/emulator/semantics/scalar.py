"""Scalar arithmetic: SOP1, SOP2, SOPC and SOPK (ISA document, "Scalar ALU Operations")."""

from __future__ import annotations

from rocmatrix.emulator.algebra import (
    I8,
    I16,
    I32,
    I64,
    U32,
    U64,
    Kind,
    Value,
    bitcast,
    convert,
    count_leading_zeros,
    popcount,
    where,
)
from rocmatrix.emulator.semantics.arithmetic import SCALAR
from rocmatrix.emulator.semantics.bits import find_first_one, reverse_bits, sign_change

Pair = tuple[Value, Value]
_LARGEST_U32 = 0xFFFFFFFF


def low(value: Value) -> Value:
    """Return the lower 32 bits."""
    return convert(value, U32)


def wide(value: Value) -> Value:
    """Return an unsigned value, or a bit, as 64 bits."""
    return convert(value, U64)


def with_carry(total: Value) -> Pair:
    """Return a sum's lower 32 bits and whether there are more."""
    return low(total), total > _LARGEST_U32


@SCALAR.define("u32 scc <- u32 u32")
def s_add_u32(a: Value, b: Value) -> Pair:
    return with_carry(wide(a) + wide(b))


@SCALAR.define("u32 scc <- u32 u32")
def s_sub_u32(a: Value, b: Value) -> Pair:
    return a - b, b > a


@SCALAR.define("i32 scc <- i32 i32")
def s_add_i32(a: Value, b: Value) -> Pair:
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


@SCALAR.define("i32 scc <- i32 i32")
def s_sub_i32(a: Value, b: Value) -> Pair:
    total = a - b
    return total, ((a ^ b) & (a ^ total)) < 0


@SCALAR.define("u32 scc <- u32 u32 scc")
def s_addc_u32(a: Value, b: Value, carry: Value) -> Pair:
    return with_carry(wide(a) + wide(b) + wide(carry))


@SCALAR.define("u32 scc <- u32 u32 scc")
def s_subb_u32(a: Value, b: Value, borrow: Value) -> Pair:
    return a - b - convert(borrow, U32), wide(b) + wide(borrow) > wide(a)


@SCALAR.define("i32 scc <- i32 i32")
def s_absdiff_i32(a: Value, b: Value) -> Pair:
    difference = a - b
    result = where(difference < 0, -difference, difference)
    return result, result != 0


@SCALAR.define("i32 scc <- i32")
def s_abs_i32(a: Value) -> Pair:
    result = where(a < 0, -a, a)
    return result, result != 0


@SCALAR.define("i32 <- i32 i32")
def s_mul_i32(a: Value, b: Value) -> Value:
    return a * b


@SCALAR.define("u32 <- u32 u32")
def s_mul_hi_u32(a: Value, b: Value) -> Value:
    return low(wide(a) * wide(b) >> 32)


@SCALAR.define("i32 <- i32 i32")
def s_mul_hi_i32(a: Value, b: Value) -> Value:
    return convert(convert(a, I64) * convert(b, I64) >> 32, I32)


def _minimum_maximum() -> None:
    for kind in ("i32", "u32"):
        SCALAR.add(f"s_min_{kind}", f"{kind} scc <- {kind} {kind}", lambda a, b: (where(a < b, a, b), a < b))
        SCALAR.add(f"s_max_{kind}", f"{kind} scc <- {kind} {kind}", lambda a, b: (where(a >= b, a, b), a >= b))


def _logic() -> None:
    functions = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "andn2": lambda a, b: a & ~b,
        "orn2": lambda a, b: a | ~b,
        "nand": lambda a, b: ~(a & b),
        "nor": lambda a, b: ~(a | b),
        "xnor": lambda a, b: ~(a ^ b),
    }
    for name, function in functions.items():
        for bits in (32, 64):

            def logic(a: Value, b: Value, function=function) -> Pair:  # type: ignore[no-untyped-def]  # noqa: ANN001 - bound
                result: Value = function(a, b)
                return result, result != 0

            SCALAR.add(f"s_{name}_b{bits}", f"u{bits} scc <- u{bits} u{bits}", logic)


def _shifts() -> None:
    for bits in (32, 64):
        mask = bits - 1

        def left(a: Value, count: Value, mask: int = mask) -> Pair:
            result = a << (count & mask)
            return result, result != 0

        def right(a: Value, count: Value, mask: int = mask) -> Pair:
            result = a >> (count & mask)
            return result, result != 0

        SCALAR.add(f"s_lshl_b{bits}", f"u{bits} scc <- u{bits} u32", left)
        SCALAR.add(f"s_lshr_b{bits}", f"u{bits} scc <- u{bits} u32", right)
        SCALAR.add(f"s_ashr_i{bits}", f"i{bits} scc <- i{bits} u32", right)


def _field_extraction() -> None:
    for kind in (U32, I32, U64, I64):
        SCALAR.add(f"s_bfe_{kind.label}", f"{kind.label} scc <- {kind.label} u32", extract_field)


def extract_field(a: Value, field: Value) -> Pair:
    """Return a bit field; ``field`` holds its first bit in the low bits and its width in bits 16 to 22.

    A field that reaches beyond the end of the source ends there.
    """
    bits = a.kind.bits
    offset = field & (bits - 1)
    width = field >> 16 & 0x7F
    unsigned = U64 if bits == 64 else U32  # the other width
    shifted = a >> offset
    spare = convert(bits - where(width < bits, width, bits), unsigned)
    moved = bitcast(bitcast(shifted, unsigned) << spare, a.kind) >> spare
    result = where(width == 0, a.constant(a.kind, 0), moved)
    return result, result != 0


@SCALAR.define("u32 <- u32 u32")
def s_bfm_b32(width: Value, offset: Value) -> Value:
    return ((1 << (width & 31)) - 1) << (offset & 31)


@SCALAR.define("u64 <- u32 u32")
def s_bfm_b64(width: Value, offset: Value) -> Value:
    return ((1 << (wide(width) & 63)) - 1) << (wide(offset) & 63)


def _shift_and_add() -> None:
    for shift in (1, 2, 3, 4):
        SCALAR.add(
            f"s_lshl{shift}_add_u32",
            "u32 scc <- u32 u32",
            lambda a, b, shift=shift: with_carry((wide(a) << shift) + wide(b)),
        )


SCALAR.add("s_cselect_b32", "u32 <- u32 u32 scc", lambda a, b, scc: where(scc, a, b))
SCALAR.add("s_cselect_b64", "u64 <- u64 u64 scc", lambda a, b, scc: where(scc, a, b))
SCALAR.add("s_cmov_b32", "u32 <- u32 u32 scc", lambda a, old, scc: where(scc, a, old))
SCALAR.add("s_cmov_b64", "u64 <- u64 u64 scc", lambda a, old, scc: where(scc, a, old))
SCALAR.add("s_cmovk_i32", "u32 <- u32 u32 scc", lambda a, old, scc: where(scc, a, old))
SCALAR.add("s_pack_ll_b32_b16", "u32 <- u32 u32", lambda a, b: a & 0xFFFF | b << 16)
SCALAR.add("s_pack_lh_b32_b16", "u32 <- u32 u32", lambda a, b: a & 0xFFFF | b & 0xFFFF0000)
SCALAR.add("s_pack_hh_b32_b16", "u32 <- u32 u32", lambda a, b: a >> 16 | b & 0xFFFF0000)
SCALAR.add("s_mov_b32", "u32 <- u32", lambda a: a)
SCALAR.add("s_mov_b64", "u64 <- u64", lambda a: a)
SCALAR.add("s_movk_i32", "u32 <- u32", lambda a: a)
SCALAR.add("s_addk_i32", "i32 scc <- i32 i32", s_add_i32)
SCALAR.add("s_mulk_i32", "i32 <- i32 i32", s_mul_i32)
SCALAR.add("s_not_b32", "u32 scc <- u32", lambda a: (~a, ~a != 0))
SCALAR.add("s_not_b64", "u64 scc <- u64", lambda a: (~a, ~a != 0))
SCALAR.add("s_brev_b32", "u32 <- u32", reverse_bits)
SCALAR.add("s_brev_b64", "u64 <- u64", reverse_bits)
SCALAR.add("s_sext_i32_i8", "i32 <- u32", lambda a: convert(convert(a, I8), I32))
SCALAR.add("s_sext_i32_i16", "i32 <- u32", lambda a: convert(convert(a, I16), I32))


def _counting() -> None:
    for bits in (32, 64):
        kind = f"u{bits}"
        SCALAR.add(f"s_bcnt1_i32_b{bits}", f"u32 scc <- {kind}", lambda a: (low(popcount(a)), a != 0))
        SCALAR.add(f"s_bcnt0_i32_b{bits}", f"u32 scc <- {kind}", lambda a: (low(popcount(~a)), ~a != 0))
        SCALAR.add(f"s_ff1_i32_b{bits}", f"u32 <- {kind}", lambda a: low(find_first_one(a)))
        SCALAR.add(f"s_ff0_i32_b{bits}", f"u32 <- {kind}", lambda a: low(find_first_one(~a)))
        SCALAR.add(f"s_flbit_i32_b{bits}", f"u32 <- {kind}", leading_zeros_or_minus_one)
    SCALAR.add("s_flbit_i32", "u32 <- u32", lambda a: sign_change(bitcast(a, I32)))
    SCALAR.add("s_flbit_i32_i64", "u32 <- u64", lambda a: sign_change(bitcast(a, I64)))


def leading_zeros_or_minus_one(a: Value) -> Value:
    """Return how many zeros are above the highest one, all ones where there is none."""
    return where(a == 0, low(a).constant(U32, -1), low(count_leading_zeros(a)))


def _single_bits() -> None:
    for bits in (32, 64):
        kind: Kind = U64 if bits == 64 else U32  # the other width
        one = f"{kind.label} <- u32 {kind.label}"

        def bit(old: Value, index: Value, mask: int = bits - 1) -> Value:
            return old.constant(old.kind, 1) << (index & mask)

        SCALAR.add(f"s_bitset1_b{bits}", one, lambda index, old, bit=bit: old | bit(old, index))
        SCALAR.add(f"s_bitset0_b{bits}", one, lambda index, old, bit=bit: old & ~bit(old, index))
        SCALAR.add(f"s_bitcmp1_b{bits}", f"scc <- {kind.label} u32", lambda a, i, bit=bit: (a & bit(a, i)) != 0)
        SCALAR.add(f"s_bitcmp0_b{bits}", f"scc <- {kind.label} u32", lambda a, i, bit=bit: (a & bit(a, i)) == 0)


@SCALAR.define("u64 <- u32")
def s_bitreplicate_b64_b32(a: Value) -> Value:
    spread = wide(a)
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        spread = (spread | spread << shift) & mask
    return spread | spread << 1


def _comparisons() -> None:
    functions = {
        "eq": lambda a, b: a == b,
        "lg": lambda a, b: a != b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
    }
    for name, function in functions.items():
        for kind in ("i32", "u32"):
            SCALAR.add(f"s_cmp_{name}_{kind}", f"scc <- {kind} {kind}", function)
            SCALAR.add(f"s_cmpk_{name}_{kind}", f"scc <- {kind} {kind}", function)
    for name in ("eq", "lg"):
        SCALAR.add(f"s_cmp_{name}_u64", "scc <- u64 u64", functions[name])


_minimum_maximum()
_logic()
_shifts()
_field_extraction()
_shift_and_add()
_counting()
_single_bits()
_comparisons()
