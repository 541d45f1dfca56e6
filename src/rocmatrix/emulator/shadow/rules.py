"""Which bits of a primitive's result are undefined, given which bits of its operands are.

A bit is undefined where another value of the undefined operand bits could change it, as far as that can be told without
trying. Logic, shifts, conversions between integers and choices are exact bit by bit, so that parts of registers that
were merged, packed or extracted stay apart; sums and comparisons of integers are bounded from both sides (the method
of memcheck: Seward and Nethercote, "Using Valgrind to detect undefined value errors with bit-precision", section 2.5);
float arithmetic is undefined as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import BOOL, Kind, Op
from rocmatrix.emulator.lanes import DTYPES


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """One operand: its kind, its bits as unsigned numbers (BOOL: as truth), and which of them are undefined."""

    kind: Kind
    bits: Array
    undefined: Array

    @property
    def some(self) -> Array:
        """Where any bit is undefined."""
        return self.undefined if self.kind is BOOL else self.undefined != 0


def undefined_dtype(kind: Kind) -> np.dtype[np.generic]:
    """Return how undefined bits of a kind are held: as unsigned numbers of its width, or as truth."""
    return np.dtype(np.bool_) if kind is BOOL else np.dtype(f"uint{kind.bits}")


def bits_of(kind: Kind, array: Array) -> Array:
    """Return the bits of a value."""
    return array.view(undefined_dtype(kind))


def undefined_bits(op: Op, operands: Sequence[Known], kind: Kind) -> Array:
    """Return which bits of the result are undefined; operands and results as ``Op`` describes them."""
    first = operands[0]
    if op in _COMPARISONS:
        return _compared(op, first, operands[1])
    if (first.kind.is_float and op in _FLOAT) or op not in _RULES:
        return _all_if_any(operands, kind)
    return _RULES[op](operands, kind)


def _whole(where: Array, kind: Kind) -> Array:
    """Return all bits of a kind where a condition holds."""
    if kind is BOOL:
        return where
    return np.where(where, _ones(kind), _number(kind, 0))


def _number(kind: Kind, number: int) -> Array:
    return np.array(number, dtype=undefined_dtype(kind))


def _ones(kind: Kind) -> Array:
    return _number(kind, (1 << kind.bits) - 1)


def _all_if_any(operands: Sequence[Known], kind: Kind) -> Array:
    some: Array = operands[0].some
    for operand in operands[1:]:
        some = some | operand.some
    return _whole(some, kind)


def _and(operands: Sequence[Known], _kind: Kind) -> Array:
    a, b = operands
    both: Array = a.undefined & b.undefined | a.undefined & b.bits | b.undefined & a.bits
    return both


def _or(operands: Sequence[Known], _kind: Kind) -> Array:
    a, b = operands
    both: Array = a.undefined & b.undefined | a.undefined & ~b.bits | b.undefined & ~a.bits
    return both


def _either(operands: Sequence[Known], _kind: Kind) -> Array:
    both: Array = operands[0].undefined | operands[1].undefined
    return both


def _same(operands: Sequence[Known], _kind: Kind) -> Array:
    return operands[0].undefined


def _shift(operands: Sequence[Known], kind: Kind, *, left: bool) -> Array:
    """Undefined bits move with the others; an undefined count makes everything undefined."""
    a, count = operands
    width = _number(kind, kind.bits - 1)
    number = count.bits & width
    moved = a.undefined
    if left:
        moved = moved << number
    elif kind.is_signed:
        signed = moved.view(DTYPES[kind]) >> number.view(DTYPES[kind])
        moved = signed.view(undefined_dtype(kind))
    else:
        moved = moved >> number
    return np.where(count.undefined & width != 0, _ones(kind), moved)


def _limits(a: Known) -> tuple[Array, Array]:
    """Return the smallest and the largest value that an integer may have, in its own kind."""
    low: Array = a.bits & ~a.undefined
    high: Array = a.bits | a.undefined
    if a.kind.is_signed:
        sign = a.undefined & _number(a.kind, 1 << (a.kind.bits - 1))
        low, high = low | sign, high & ~sign
    return low.view(DTYPES[a.kind]), high.view(DTYPES[a.kind])


def _add(operands: Sequence[Known], _kind: Kind) -> Array:
    a, b = operands
    low: Array = (a.bits & ~a.undefined) + (b.bits & ~b.undefined)
    high: Array = (a.bits | a.undefined) + (b.bits | b.undefined)
    total: Array = a.undefined | b.undefined | low ^ high
    return total


def _subtract(operands: Sequence[Known], _kind: Kind) -> Array:
    a, b = operands
    low: Array = (a.bits & ~a.undefined) - (b.bits | b.undefined)
    high: Array = (a.bits | a.undefined) - (b.bits & ~b.undefined)
    total: Array = a.undefined | b.undefined | low ^ high
    return total


def _upwards(undefined: Array) -> Array:
    """Return the lowest undefined bit and all above it."""
    filled: Array = undefined | (~undefined + np.array(1, dtype=undefined.dtype))
    return filled


def _multiply(operands: Sequence[Known], _kind: Kind) -> Array:
    """A product is undefined from its lowest undefined bit on; a factor that is zero decides it."""
    a, b = operands
    zero = (a.bits | a.undefined == 0) | (b.bits | b.undefined == 0)
    filled = _upwards(a.undefined | b.undefined)
    return np.where(zero, filled ^ filled, filled)


def _negate(operands: Sequence[Known], kind: Kind) -> Array:
    return operands[0].undefined if kind.is_float else _upwards(operands[0].undefined)


def _magnitude(operands: Sequence[Known], kind: Kind) -> Array:
    cleared: Array = operands[0].undefined & _number(kind, (1 << (kind.bits - 1)) - 1)
    return cleared


def _where(operands: Sequence[Known], kind: Kind) -> Array:
    """An undefined choice leaves the bits defined that both sides have in common."""
    condition, a, b = operands
    chosen = np.where(condition.bits, a.undefined, b.undefined)
    either = a.undefined | b.undefined | a.bits ^ b.bits
    return np.where(condition.undefined, either, chosen).astype(undefined_dtype(kind), copy=False)


def _convert(operands: Sequence[Known], kind: Kind) -> Array:
    a = operands[0]
    if a.kind.is_float or kind.is_float:
        return _all_if_any(operands, kind)
    if a.kind.is_signed:
        return a.undefined.view(DTYPES[a.kind]).astype(DTYPES[kind]).view(undefined_dtype(kind))
    return a.undefined.astype(undefined_dtype(kind))


def _popcount(operands: Sequence[Known], kind: Kind) -> Array:
    """A count is below twice the width."""
    return np.where(operands[0].some, _number(kind, 2 * kind.bits - 1), _number(kind, 0))


def _leading_zeros(operands: Sequence[Known], kind: Kind) -> Array:
    """A one above all undefined bits decides the count."""
    a = operands[0]
    open_ = a.some & (a.undefined > (a.bits & ~a.undefined))
    return np.where(open_, _number(kind, 2 * kind.bits - 1), _number(kind, 0))


def _compared(op: Op, a: Known, b: Known) -> Array:
    """Return where a comparison is undefined: where both answers are possible."""
    some: Array = a.some | b.some
    if a.kind.is_float:
        return some
    if op in (Op.EQ, Op.NE):
        differs: Array = (a.bits ^ b.bits) & ~(a.undefined | b.undefined)
        undecided: Array = some & (differs == 0)
        return undecided
    (a_low, a_high), (b_low, b_high) = _limits(a), _limits(b)
    compare = _COMPARISONS[op]
    either: Array = some & (compare(a_low, b_high) != compare(a_high, b_low))
    return either


_COMPARISONS: dict[Op, Callable[[Array, Array], Array]] = {
    Op.EQ: np.equal,
    Op.NE: np.not_equal,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.GT: np.greater,
    Op.GE: np.greater_equal,
}
_FLOAT = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.FMA, Op.SQRT, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.RNDNE)
_RULES: dict[Op, Callable[[Sequence[Known], Kind], Array]] = {
    Op.AND: _and,
    Op.OR: _or,
    Op.XOR: _either,
    Op.NOT: _same,
    Op.SHL: lambda operands, kind: _shift(operands, kind, left=True),
    Op.SHR: lambda operands, kind: _shift(operands, kind, left=False),
    Op.ADD: _add,
    Op.SUB: _subtract,
    Op.MUL: _multiply,
    Op.NEG: _negate,
    Op.ABS: _magnitude,
    Op.WHERE: _where,
    Op.BITCAST: _same,
    Op.CONVERT: _convert,
    Op.POPCOUNT: _popcount,
    Op.CLZ: _leading_zeros,
}
