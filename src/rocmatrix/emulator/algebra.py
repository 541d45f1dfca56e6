"""The small algebra in which the meaning of every arithmetic instruction is written, once.

A semantics function takes ``Value`` objects and combines them with the operators and functions of this module and
nothing else. What a value *is* decides what happens: ``lanes.Lanes`` holds a NumPy array, so that calling the function
executes the instruction; another implementation may hold an expression, so that calling the same function writes code.
An implementation provides ``apply`` (one primitive ``Op`` on operands) and ``constant``; the rules of each primitive
are the documentation of ``Op``, and all implementations must agree on them bit by bit.

A value stands for the lanes of a wavefront, or for one scalar where it comes from scalar registers; both mix freely.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum, auto


class Kind(Enum):
    """What the bits of a value mean: name, width in bits, and how they are read."""

    BOOL = ("bool", 1, "b")
    """One bit for each lane of a lane mask, or SCC for a scalar."""
    U8 = ("u8", 8, "u")
    I8 = ("i8", 8, "i")
    U16 = ("u16", 16, "u")
    I16 = ("i16", 16, "i")
    U32 = ("u32", 32, "u")
    I32 = ("i32", 32, "i")
    U64 = ("u64", 64, "u")
    I64 = ("i64", 64, "i")
    F16 = ("f16", 16, "f")
    F32 = ("f32", 32, "f")
    F64 = ("f64", 64, "f")

    __hash__ = object.__hash__
    """By identity, which is much quicker than by name."""

    def __init__(self, label: str, bits: int, family: str) -> None:
        """Keep the parts of the tuple under names."""
        self.label = label
        self.bits = bits
        self.is_float = family == "f"
        self.is_signed = family == "i"

    @property
    def registers(self) -> int:
        """32-bit registers that hold one value."""
        return max(1, self.bits // 32)


BOOL, U8, I8, U16, I16, U32, I32, U64, I64, F16, F32, F64 = Kind


class Op(Enum):
    """Primitives. Operands have one kind and the result has it too, unless the line says otherwise.

    A float result that is NaN is the first operand that is NaN, made quiet, or else the quiet NaN whose other fraction
    bits and sign are zero. Float arithmetic rounds to nearest even and keeps denormals.
    """

    __hash__ = object.__hash__

    ADD = auto()
    """Integers wrap."""
    SUB = auto()
    MUL = auto()
    DIV = auto()
    """Floats only."""
    FMA = auto()
    """``a * b + c`` rounded once; floats only."""
    SQRT = auto()
    NEG = auto()
    """Integers wrap; floats: the sign bit flips, NaN included."""
    ABS = auto()
    """Floats only: the sign bit is cleared, NaN included."""
    AND = auto()
    OR = auto()
    XOR = auto()
    NOT = auto()
    SHL = auto()
    """The second operand counts modulo the width; its kind is that of the first."""
    SHR = auto()
    """Arithmetic for signed kinds, else logical; the count as for SHL."""
    EQ = auto()
    """Comparisons give BOOL; with a NaN all but NE are false."""
    NE = auto()
    LT = auto()
    LE = auto()
    GT = auto()
    GE = auto()
    WHERE = auto()
    """``condition ? a : b``; the first operand is BOOL."""
    BITCAST = auto()
    """The same bits as another kind of the same width."""
    CONVERT = auto()
    """The value as another kind. Integers to wider ones extend by their own sign, to narrower ones are cut; BOOL is 0
    or 1. Integers to floats and floats to floats round to nearest even; a NaN keeps the upper bits of its fraction and
    becomes quiet. Floats to integers round towards zero, saturate, and give 0 for NaN."""
    POPCOUNT = auto()
    """Unsigned kinds only: number of bits that are one."""
    CLZ = auto()
    """Unsigned kinds only: zeros above the highest one; the width for zero."""
    TRUNC = auto()
    """To an integral float, towards zero; keeps the sign of zero."""
    FLOOR = auto()
    CEIL = auto()
    RNDNE = auto()
    """To the nearest integral float, ties to even."""


Operand = "Value | int | float"


class Value(ABC):
    """A typed value of some implementation of the algebra; supports Python's operators with the rules of ``Op``."""

    __slots__ = ("kind",)
    __hash__ = None  # type: ignore[assignment]  # == compares lanes

    kind: Kind

    @abstractmethod
    def apply(self, op: Op, others: tuple[Value, ...], kind: Kind) -> Value:
        """Return the primitive on this value and the others, as a value of ``kind``."""

    @abstractmethod
    def constant(self, kind: Kind, number: float) -> Value:
        """Return a constant of the same implementation; integers are taken modulo the width."""

    def _lift(self, other: Value | float) -> Value:
        return other if isinstance(other, Value) else self.constant(self.kind, other)

    def _binary(self, op: Op, other: Value | float, kind: Kind | None = None) -> Value:
        lifted = self._lift(other)
        if lifted.kind is not self.kind:
            raise TypeError(f"{op.name} of {self.kind.label} and {lifted.kind.label}")
        return self.apply(op, (lifted,), kind or self.kind)

    def __add__(self, other: Value | float) -> Value:
        return self._binary(Op.ADD, other)

    def __sub__(self, other: Value | float) -> Value:
        return self._binary(Op.SUB, other)

    def __rsub__(self, other: float) -> Value:
        return self._lift(other) - self

    def __mul__(self, other: Value | float) -> Value:
        return self._binary(Op.MUL, other)

    def __rmul__(self, other: float) -> Value:
        return self._lift(other) * self

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary(Op.DIV, other)

    def __rtruediv__(self, other: float) -> Value:
        return self._lift(other) / self

    def __and__(self, other: Value | int) -> Value:
        return self._binary(Op.AND, other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary(Op.OR, other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary(Op.XOR, other)

    def __lshift__(self, count: Value | int) -> Value:
        return self._binary(Op.SHL, _count(self, count))

    def __rlshift__(self, number: int) -> Value:
        return self._lift(number) << self

    def __rshift__(self, count: Value | int) -> Value:
        return self._binary(Op.SHR, _count(self, count))

    def __invert__(self) -> Value:
        return self.apply(Op.NOT, (), self.kind)

    def __neg__(self) -> Value:
        return self.apply(Op.NEG, (), self.kind)

    def __abs__(self) -> Value:
        return self.apply(Op.ABS, (), self.kind)

    def __eq__(self, other: Value | float) -> Value:  # type: ignore[override]  # compares lanes
        return self._binary(Op.EQ, other, BOOL)

    def __ne__(self, other: Value | float) -> Value:  # type: ignore[override]  # compares lanes
        return self._binary(Op.NE, other, BOOL)

    def __lt__(self, other: Value | float) -> Value:
        return self._binary(Op.LT, other, BOOL)

    def __le__(self, other: Value | float) -> Value:
        return self._binary(Op.LE, other, BOOL)

    def __gt__(self, other: Value | float) -> Value:
        return self._binary(Op.GT, other, BOOL)

    def __ge__(self, other: Value | float) -> Value:
        return self._binary(Op.GE, other, BOOL)

    def __bool__(self) -> bool:
        """Refuse: a value has lanes, and an expression has no lanes yet; use ``where``."""
        raise TypeError("a value of the algebra has no truth value; use where()")


def _count(value: Value, count: Value | int) -> Value | int:
    return convert(count, value.kind) if isinstance(count, Value) and count.kind is not value.kind else count


def where(condition: Value, chosen: Value | float, other: Value | float) -> Value:
    """Return ``chosen`` in the lanes where the condition holds, else ``other``; at least one must be a value."""
    kind = chosen.kind if isinstance(chosen, Value) else other.kind if isinstance(other, Value) else None
    if kind is None:
        raise TypeError("where() needs one typed value to know the kind of the other")
    pair = tuple(side if isinstance(side, Value) else condition.constant(kind, side) for side in (chosen, other))
    if any(side.kind is not kind for side in pair) or condition.kind is not BOOL:
        raise TypeError(f"where({condition.kind.label}, {pair[0].kind.label}, {pair[1].kind.label})")
    return condition.apply(Op.WHERE, pair, kind)


def bitcast(value: Value, kind: Kind) -> Value:
    """Return the same bits as another kind of the same width."""
    if value.kind.bits != kind.bits:
        raise TypeError(f"bitcast from {value.kind.label} to {kind.label}")
    return value if value.kind is kind else value.apply(Op.BITCAST, (), kind)


def convert(value: Value, kind: Kind) -> Value:
    """Return the value as another kind, by the rules of ``Op.CONVERT``."""
    return value if value.kind is kind else value.apply(Op.CONVERT, (), kind)


def fma(a: Value, b: Value, c: Value) -> Value:
    """Return ``a * b + c`` rounded once."""
    if not a.kind is b.kind is c.kind:
        raise TypeError(f"fma({a.kind.label}, {b.kind.label}, {c.kind.label})")
    return a.apply(Op.FMA, (b, c), a.kind)


def sqrt(value: Value) -> Value:
    """Return the square root, correctly rounded."""
    return value.apply(Op.SQRT, (), value.kind)


def trunc(value: Value) -> Value:
    """Return the integral part of a float."""
    return value.apply(Op.TRUNC, (), value.kind)


def floor(value: Value) -> Value:
    """Return the largest integral float that is not above the value."""
    return value.apply(Op.FLOOR, (), value.kind)


def ceil(value: Value) -> Value:
    """Return the smallest integral float that is not below the value."""
    return value.apply(Op.CEIL, (), value.kind)


def rndne(value: Value) -> Value:
    """Return the nearest integral float, ties to even."""
    return value.apply(Op.RNDNE, (), value.kind)


def popcount(value: Value) -> Value:
    """Return the number of one bits, as the same kind."""
    return value.apply(Op.POPCOUNT, (), value.kind)


def count_leading_zeros(value: Value) -> Value:
    """Return the number of zeros above the highest one; the width for zero."""
    return value.apply(Op.CLZ, (), value.kind)


def is_nan(value: Value) -> Value:
    """Return where a float is NaN."""
    return value != value  # noqa: PLR0124 - only NaN differs from itself
