"""Bit tricks that scalar and vector instructions share."""

from __future__ import annotations

from rocmatrix.emulator.algebra import I64, U32, U64, Value, bitcast, convert, count_leading_zeros, popcount, where


def reverse_bits(a: Value) -> Value:
    """Return the bits in the opposite order."""
    steps = [(1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F), (8, 0x00FF00FF00FF00FF)]
    steps += [(16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF)]
    mask_all = (1 << a.kind.bits) - 1
    for shift, mask in steps:
        if shift < a.kind.bits:
            a = (a >> shift) & (mask & mask_all) | (a & (mask & mask_all)) << shift
    return a


def find_first_one(a: Value) -> Value:
    """Return the number of the lowest one bit, all ones where there is none."""
    return where(a == 0, a.constant(a.kind, -1), popcount((a - 1) & ~a))


def sign_change(a: Value) -> Value:
    """Return how many bits below the sign equal it, counting the sign itself; all ones where all do. As U32."""
    unsigned = U64 if a.kind is I64 else U32
    changed = bitcast(a ^ (a >> (a.kind.bits - 1)), unsigned)
    zeros = convert(count_leading_zeros(changed), U32)
    return where(changed == 0, zeros.constant(U32, -1), zeros)


def byte_of(a: Value, number: int) -> Value:
    """Return one byte of a 32-bit value, as U32."""
    return a >> 8 * number & 0xFF


def absolute_difference(a: Value, b: Value) -> Value:
    """Return the distance of two unsigned values."""
    return where(a > b, a - b, b - a)
