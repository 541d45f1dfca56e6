"""The reference implementation of the algebra: NumPy arrays of one element for each lane, or one for a scalar."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator import ieee
from rocmatrix.emulator.algebra import BOOL, Kind, Op, Value

DTYPES: dict[Kind, np.dtype[np.generic]] = {
    kind: np.dtype({"b": "bool", "u": "uint", "i": "int", "f": "float"}[kind.label[0]] + str(kind.bits).strip())
    if kind is not BOOL
    else np.dtype(np.bool_)
    for kind in Kind
}
"""How each kind is held."""


class Lanes(Value):
    """A value in every lane: an array of 64 elements, or of one that stands for all."""

    __slots__ = ("array",)

    def __init__(self, kind: Kind, array: Array) -> None:
        """Hold an array whose dtype is that of the kind; it must not be changed afterwards."""
        self.kind = kind
        self.array = array

    def apply(self, op: Op, others: tuple[Value, ...], kind: Kind) -> Lanes:
        """Compute the primitive with NumPy."""
        arrays = [other.array for other in others if isinstance(other, Lanes)]
        if len(arrays) != len(others):
            raise TypeError("values of two implementations of the algebra do not mix")
        if self.kind.is_float and op in _FLOAT:
            operands = (self.array, *arrays)
            return Lanes(kind, ieee.with_nan_rule(_FLOAT[op](*operands), *operands))
        return Lanes(kind, _PLAIN[op](self.array, *arrays, DTYPES[kind]))

    def constant(self, kind: Kind, number: float) -> Lanes:
        """Return the number as an array of one element."""
        return constant(kind, number)

    def __repr__(self) -> str:
        """Show kind and elements."""
        return f"Lanes({self.kind.label}, {self.array!r})"


@cache
def constant(kind: Kind, number: float) -> Lanes:
    """Return a number in all lanes; integers are taken modulo the width of the kind."""
    if kind.is_float or kind is BOOL:
        return Lanes(kind, np.array([number], dtype=DTYPES[kind]))
    unsigned = np.array([int(number) & ((1 << kind.bits) - 1)], dtype=f"uint{kind.bits}")
    return Lanes(kind, unsigned.view(DTYPES[kind]))


def _shift_count(array: Array) -> Array:
    result: Array = array & array.dtype.type(array.dtype.itemsize * 8 - 1)
    return result


def _convert(array: Array, dtype: np.dtype[np.generic]) -> Array:
    if array.dtype.kind == "f":
        if dtype.kind == "f":
            return ieee.convert_float(array, dtype)
        if dtype.kind in "iu":
            return ieee.to_integer(array, dtype)
    if dtype.kind == "b":
        raise TypeError("compare with zero to get lane masks")
    return array.astype(dtype)


def _bits(array: Array) -> Array:
    """Return the bits of integers, lowest first, along a new last axis."""
    octets = np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, array.dtype.itemsize)
    return np.unpackbits(octets, axis=-1, bitorder="little")


def _popcount(array: Array, dtype: np.dtype[np.generic]) -> Array:
    return np.asarray(_bits(array).sum(axis=-1)).astype(dtype)


def _leading_zeros(array: Array, dtype: np.dtype[np.generic]) -> Array:
    bits = _bits(array)[..., ::-1]
    zeros: Array = np.where(bits.any(axis=-1), bits.argmax(axis=-1), bits.shape[-1])
    return zeros.astype(dtype)


def _sign_bit(array: Array) -> tuple[Array, Array]:
    """Return floats as their bits, and the bit of the sign."""
    bits = ieee.bits_of(array)
    return bits, np.array(1 << (array.dtype.itemsize * 8 - 1), dtype=bits.dtype)


def _negated(array: Array, _dtype: np.dtype[np.generic]) -> Array:
    if array.dtype.kind != "f":
        opposite: Array = np.negative(array)
        return opposite
    bits, sign = _sign_bit(array)
    flipped: Array = np.bitwise_xor(bits, sign)
    return flipped.view(array.dtype)


def _magnitude(array: Array, _dtype: np.dtype[np.generic]) -> Array:
    bits, sign = _sign_bit(array)
    cleared: Array = np.bitwise_and(bits, ~sign)
    return cleared.view(array.dtype)


def _where(condition: Array, chosen: Array, other: Array, _dtype: np.dtype[np.generic]) -> Array:
    return np.where(condition, chosen, other)


_FLOAT: dict[Op, Callable[..., Array]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.DIV: np.divide,
    Op.SQRT: np.sqrt,
    Op.FMA: ieee.fma,
    Op.TRUNC: np.trunc,
    Op.FLOOR: np.floor,
    Op.CEIL: np.ceil,
    Op.RNDNE: np.rint,
}
"""Float primitives whose result may be NaN."""

_PLAIN: dict[Op, Callable[..., Array]] = {
    Op.ADD: lambda a, b, _: a + b,
    Op.SUB: lambda a, b, _: a - b,
    Op.MUL: lambda a, b, _: a * b,
    Op.AND: lambda a, b, _: a & b,
    Op.OR: lambda a, b, _: a | b,
    Op.XOR: lambda a, b, _: a ^ b,
    Op.NOT: lambda a, _: ~a,
    Op.SHL: lambda a, b, _: a << _shift_count(b),
    Op.SHR: lambda a, b, _: a >> _shift_count(b),
    Op.NEG: _negated,
    Op.ABS: _magnitude,
    Op.EQ: lambda a, b, _: a == b,
    Op.NE: lambda a, b, _: a != b,
    Op.LT: lambda a, b, _: a < b,
    Op.LE: lambda a, b, _: a <= b,
    Op.GT: lambda a, b, _: a > b,
    Op.GE: lambda a, b, _: a >= b,
    Op.WHERE: _where,
    Op.BITCAST: lambda a, dtype: a.view(dtype),
    Op.CONVERT: _convert,
    Op.POPCOUNT: _popcount,
    Op.CLZ: _leading_zeros,
}
