"""The undefined bits of every primitive: no other choice of undefined operand bits may change a defined result bit."""

from __future__ import annotations

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import (
    BOOL,
    F32,
    I16,
    I32,
    U8,
    U16,
    U32,
    U64,
    Kind,
    Op,
    bitcast,
    convert,
    count_leading_zeros,
    popcount,
    where,
)
from rocmatrix.emulator.lanes import DTYPES, Lanes
from rocmatrix.emulator.shadow.origin import Origin
from rocmatrix.emulator.shadow.rules import bits_of, undefined_dtype
from rocmatrix.emulator.shadow.values import Shadowed, undefined_of
from tests.unit.emulator.machine import values

_TRIES = 40
_INTEGER = (Op.ADD, Op.SUB, Op.MUL, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR)
_COMPARE = (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)
_FLOAT = (Op.ADD, Op.SUB, Op.MUL, Op.DIV)
_ORIGIN = Origin(what="v1")


def _masks(kind: Kind, random: np.random.Generator) -> Array:
    """Return undefined bits: none in half of the lanes, few or many in the others."""
    if kind is BOOL:
        return random.random(64) < 0.4
    drawn, other = (random.integers(0, 1 << 32, (2, 64), dtype=np.uint64) for _ in range(2))
    dense = drawn[0] | drawn[1] << np.uint64(32)
    sparse = dense & (other[0] | other[1] << np.uint64(32)) & np.roll(dense, 7) & np.roll(dense, 11)
    chosen = np.where(random.random(64) < 0.3, dense, np.where(random.random(64) < 0.5, sparse, 0))
    return chosen.astype(undefined_dtype(kind))


def _another(value: Lanes, undefined: Array, random: np.random.Generator) -> Lanes:
    """Return a value that differs in undefined bits only."""
    noise = bits_of(value.kind, values(value.kind, random).array)
    bits = bits_of(value.kind, value.array)
    return Lanes(value.kind, (bits ^ (noise & undefined)).view(DTYPES[value.kind]))


def _check(op: Op, kinds: tuple[Kind, ...], result: Kind, random: np.random.Generator) -> int:
    """Apply an operation to values with undefined bits; return how many result bits are undefined."""
    operands = [values(kind, random) for kind in kinds]
    if kinds[1:] == kinds[:1]:
        operands[1] = Lanes(kinds[1], np.where(np.arange(64) % 4 == 0, operands[0].array, operands[1].array))
    masks = [_masks(kind, random) for kind in kinds]
    shadowed = [Shadowed(v.kind, v.array, mask, _ORIGIN) for v, mask in zip(operands, masks, strict=True)]
    got = shadowed[0].apply(op, tuple(shadowed[1:]), result)
    plain = operands[0].apply(op, tuple(operands[1:]), result)
    assert bits_of(result, got.array).tobytes() == bits_of(result, plain.array).tobytes(), "values are the reference's"
    allowed = undefined_of(got)
    if allowed is None:
        allowed = np.zeros(64, undefined_dtype(result))
    for _ in range(_TRIES):
        others = [_another(value, mask, random) for value, mask in zip(operands, masks, strict=True)]
        changed = bits_of(result, others[0].apply(op, tuple(others[1:]), result).array) ^ bits_of(result, plain.array)
        assert not (changed & ~allowed).any(), f"{op.name}: a defined bit depends on undefined ones"
    untouched = ~np.logical_or.reduce([mask != 0 for mask in masks])
    assert not allowed[untouched].any(), f"{op.name}: undefined without a reason"
    return int(np.count_nonzero(allowed))


@pytest.mark.parametrize("kind", [U8, U16, I16, U32, I32, U64], ids=lambda kind: kind.label)
@pytest.mark.parametrize("op", [*_INTEGER, *_COMPARE], ids=lambda op: op.name)
def test_integer_operations_keep_defined_bits_defined(op: Op, kind: Kind) -> None:
    assert _check(op, (kind, kind), BOOL if op in _COMPARE else kind, np.random.default_rng(1)) > 0


@pytest.mark.parametrize(
    "op", [*_FLOAT, Op.LT, Op.EQ, Op.SQRT, Op.FLOOR, Op.NEG, Op.ABS, Op.FMA], ids=lambda op: op.name
)
def test_float_operations_keep_defined_lanes_defined(op: Op) -> None:
    count = {Op.SQRT: 1, Op.FLOOR: 1, Op.NEG: 1, Op.ABS: 1, Op.FMA: 3}.get(op, 2)
    assert _check(op, (F32,) * count, BOOL if op in _COMPARE else F32, np.random.default_rng(2)) > 0


@pytest.mark.parametrize("kind", [U16, U32, U64], ids=lambda kind: kind.label)
@pytest.mark.parametrize("op", [Op.NOT, Op.NEG, Op.POPCOUNT, Op.CLZ], ids=lambda op: op.name)
def test_operations_of_one_integer_keep_defined_bits_defined(op: Op, kind: Kind) -> None:
    assert _check(op, (kind,), kind, np.random.default_rng(3)) > 0


@pytest.mark.parametrize(
    ("source", "target"), [(U8, U32), (I16, I32), (U64, U32), (U32, U16), (I32, F32), (F32, I32), (BOOL, U32)]
)
def test_conversions_keep_defined_bits_defined(source: Kind, target: Kind) -> None:
    assert _check(Op.CONVERT, (source,), target, np.random.default_rng(4)) > 0


@pytest.mark.parametrize("kind", [U32, F32], ids=lambda kind: kind.label)
def test_choices_keep_defined_bits_defined(kind: Kind) -> None:
    assert _check(Op.WHERE, (BOOL, kind, kind), kind, np.random.default_rng(5)) > 0


def _value(kind: Kind, number: int, undefined: int) -> Shadowed:
    array = np.array([number], dtype=undefined_dtype(kind)).view(DTYPES[kind])
    return Shadowed(kind, array, np.array([undefined], dtype=undefined_dtype(kind)), _ORIGIN)


def test_parts_of_a_register_stay_apart() -> None:
    half = _value(U32, 0x12345678, 0xFFFF0000)
    assert undefined_of(half & 0xFFFF) is None
    assert undefined_of(half << 16) is None
    assert undefined_of(convert(half, U16)) is None
    assert undefined_of(half >> 16) is not None
    assert undefined_of(bitcast(half & 0xFFFF | 0xFFFF0000, F32)) is None


def test_bounds_decide_sums_and_comparisons() -> None:
    low_bits = _value(U32, 0x1000, 0xF)
    assert undefined_of(low_bits < 0x2000) is None
    assert undefined_of(low_bits < 0x1008) is not None
    assert undefined_of(low_bits == 0x2000) is None
    total = undefined_of(low_bits + 0x100)
    assert total is not None
    assert total.tolist() == [0xF]
    signed = bitcast(_value(U32, 0, 0x80000000), I32)
    assert undefined_of(signed < 0) is not None


def test_what_decides_alone_hides_the_undefined_side() -> None:
    nothing = _value(U32, 0xDEADBEEF, 0xFFFFFFFF)
    assert undefined_of(nothing & 0) is None
    assert undefined_of(nothing | 0xFFFFFFFF) is None
    assert undefined_of(nothing * 0) is None
    assert undefined_of(nothing ^ nothing) is None
    same = where(nothing == 1, _value(U32, 7, 0), 7)
    assert undefined_of(same) is None
    assert undefined_of(count_leading_zeros(_value(U32, 0x80000000, 0xFF))) is None
    assert undefined_of(popcount(_value(U32, 0x80000000, 0xFF))) is not None
