"""Values of the reference algebra that know which of their bits nothing wrote."""

from __future__ import annotations

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import Kind, Op, Value
from rocmatrix.emulator.lanes import Lanes, constant
from rocmatrix.emulator.shadow.origin import Origin
from rocmatrix.emulator.shadow.rules import Known, bits_of, undefined_bits, undefined_dtype


class Shadowed(Lanes):
    """Numbers as ``Lanes`` holds them, and their undefined bits: what it computes is the same.

    Attributes:
        undefined: undefined bits of each element (``rules.undefined_dtype``), or ``None`` where all are defined.
        origin: where an undefined bit comes from, the first one's where there are several.
    """

    __slots__ = ("origin", "undefined")

    def __init__(self, kind: Kind, array: Array, undefined: Array | None = None, origin: Origin | None = None) -> None:
        """Hold arrays, which must not be changed afterwards; no undefined bits are the same as ``None``."""
        super().__init__(kind, array)
        self.undefined = undefined if undefined is not None and undefined.any() else None
        self.origin = origin if self.undefined is not None else None

    def apply(self, op: Op, others: tuple[Value, ...], kind: Kind) -> Shadowed:
        """Compute the primitive, and which bits of it are undefined."""
        array = super().apply(op, others, kind).array
        operands = (self, *others)
        source = next((value for value in operands if undefined_of(value) is not None), None)
        if source is None or (op is Op.XOR and others[0] is self):
            return Shadowed(kind, array)
        return Shadowed(kind, array, undefined_bits(op, [known(value) for value in operands], kind), origin_of(source))

    def constant(self, kind: Kind, number: float) -> Shadowed:
        """Return a defined number."""
        return Shadowed(kind, constant(kind, number).array)


def undefined_of(value: Value) -> Array | None:
    """Return the undefined bits of a value; values without a shadow have none."""
    return value.undefined if isinstance(value, Shadowed) else None


def origin_of(value: Value) -> Origin | None:
    """Return where a value's undefined bits come from."""
    return value.origin if isinstance(value, Shadowed) else None


def known(value: Value) -> Known:
    """Return a value as the rules take it."""
    if not isinstance(value, Lanes):
        raise TypeError("the shadow takes values of the reference algebra")
    bits = bits_of(value.kind, value.array)
    undefined = undefined_of(value)
    return Known(
        kind=value.kind,
        bits=bits,
        undefined=(bits ^ bits).astype(undefined_dtype(value.kind)) if undefined is None else undefined,
    )


def defined(value: Value) -> Shadowed:
    """Return a value of the reference algebra as one of this one, its shadow kept where it has one."""
    if isinstance(value, Shadowed):
        return value
    if not isinstance(value, Lanes):
        raise TypeError("the shadow takes values of the reference algebra")
    return Shadowed(value.kind, value.array)
