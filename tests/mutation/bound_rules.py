"""From the bounds of an instruction's operands to that of its result: how large it is, and which bits may be set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ALL = 0xFFFFFFFF
SIGN = 1 << 31


@dataclass(frozen=True)
class Bound:
    """What a register's unsigned value is not above, and the bits that may be set in it."""

    largest: int
    bits: int


class Constant(Bound):
    """A number: the largest value is the only one."""


UNKNOWN = Bound(ALL, ALL)


def either(one: Bound, other: Bound) -> Bound:
    """Return the bound of what is the one or the other."""
    return Bound(max(one.largest, other.largest), one.bits | other.bits)


def up_to(number: int) -> Bound:
    """Return the bound of all numbers up to one; of such as no register holds nothing is known."""
    return Bound(number, (1 << number.bit_length()) - 1) if number <= ALL else UNKNOWN


def only(bits: int, largest: int = ALL) -> Bound:
    """Return the bound of numbers with no other bits set, and of no larger ones than a number."""
    return Bound(min(bits, largest), bits)


def both(operands: Sequence[Bound]) -> Bound:
    """Return the bound of the bits that two operands have in common."""
    one, other = operands[:2]
    return only(one.bits & other.bits, min(one.largest, other.largest))


def _or(operands: Sequence[Bound]) -> Bound:
    bits = 0
    for operand in operands:
        bits |= operand.bits
    return only(bits)


def _added(operands: Sequence[Bound]) -> Bound:
    total = sum(operand.largest for operand in operands)
    if total > ALL:
        return UNKNOWN
    low = _or(operands).bits
    return only(up_to(total).bits & -(low & -low), total) if low else Bound(0, 0)


def _multiplied(operands: Sequence[Bound]) -> Bound:
    return up_to(operands[0].largest * operands[1].largest)


def _multiplied_high(operands: Sequence[Bound]) -> Bound:
    return up_to(operands[0].largest * operands[1].largest >> 32)


def _subtracted(operands: Sequence[Bound]) -> Bound:
    """Return the bound of a difference: nothing is known where anything may be taken away, for it may be too much."""
    return _first(operands) if operands[1].largest == 0 else UNKNOWN


def _shifted_left(operands: Sequence[Bound]) -> Bound:
    value, shift = operands[0], _count(operands[1])
    if shift is None:
        return UNKNOWN
    bits, whole = value.bits << shift & ALL, value.largest << shift
    return only(bits, whole) if whole <= ALL else only(bits)


def _shifted_right(operands: Sequence[Bound]) -> Bound:
    value, shift = operands[0], _count(operands[1])
    return (
        Bound(value.largest, up_to(value.largest).bits)
        if shift is None
        else only(value.bits >> shift, value.largest >> shift)
    )


def _shifted_with_sign(operands: Sequence[Bound]) -> Bound:
    return UNKNOWN if operands[0].bits & SIGN else _shifted_right(operands)


def _count(bound: Bound) -> int | None:
    """Return by how many bits is shifted, if that is a constant."""
    return bound.largest & 31 if isinstance(bound, Constant) else None


def _part(operands: Sequence[Bound]) -> Bound:
    """Return some bits of a value: the first and the width follow as operands, or in one constant."""
    value, first, *rest = operands
    if not all(isinstance(each, Constant) for each in operands[1:]):
        return UNKNOWN
    width = rest[0].largest & 31 if rest else first.largest >> 16 & 0x7F
    return only(value.bits >> (first.largest & 31) & ((1 << width) - 1))


def _without_sign(operands: Sequence[Bound]) -> Bound:
    """Return the absolute value."""
    return UNKNOWN if operands[0].bits & SIGN else _first(operands)


def _first(operands: Sequence[Bound]) -> Bound:
    return Bound(operands[0].largest, operands[0].bits)


REVERSED = ("lshlrev_b32", "lshrrev_b32", "ashrrev_i32", "subrev_u32")
"""The count, or what is taken away, comes first."""
RULES: Mapping[str, Callable[[Sequence[Bound]], Bound]] = {
    **dict.fromkeys(("mov_b32", "movk_i32", "readfirstlane_b32"), _first),
    "and_b32": both,
    **dict.fromkeys(("or_b32", "xor_b32", "or3_b32"), _or),
    **dict.fromkeys(("add_u32", "add_i32", "addk_i32", "add3_u32"), _added),
    **dict.fromkeys(("mul_i32", "mul_lo_u32"), _multiplied),
    "mul_hi_u32": _multiplied_high,
    **dict.fromkeys(("sub_u32", "sub_i32", "subrev_u32"), _subtracted),
    **dict.fromkeys(("lshl_b32", "lshlrev_b32"), _shifted_left),
    **dict.fromkeys(("lshr_b32", "lshrrev_b32"), _shifted_right),
    **dict.fromkeys(("ashr_i32", "ashrrev_i32"), _shifted_with_sign),
    "bfe_u32": _part,
    "abs_i32": _without_sign,
    "and_or_b32": lambda operands: _or([both(operands[:2]), operands[2]]),
    "lshl_or_b32": lambda operands: _or([_shifted_left(operands[:2]), operands[2]]),
    "lshl_add_u32": lambda operands: _added([_shifted_left(operands[:2]), operands[2]]),
    **dict.fromkeys(("cndmask_b32", "cselect_b32"), lambda operands: either(*operands[:2])),
}
"""By the instruction's name without its unit."""
