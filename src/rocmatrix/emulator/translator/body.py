"""One C function under construction: statements in regions, each a loop over groups of lanes between scalar code.

A region is: scalar statements, one loop whose statements touch only the lanes of their own group, scalar statements.
Semantics write statements in program order; where each goes follows from what it needs. A statement on lanes goes into
the loop of the last region unless it needs what is only known behind that loop (a mask of all lanes, something loaded,
another lane), which begins a new region. Scalar statements go before the loop where they can. A value of lanes that a
later region or a whole-wave function needs is kept in an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rocmatrix.emulator.algebra import BOOL, U64, Kind, Op, Value
from rocmatrix.emulator.lanes import constant
from rocmatrix.emulator.translator.operations import literal, splat, text_of

BEFORE, LOOP, AFTER = range(3)
Ready = tuple[int, int]
"""Region and part of it in which a value is computed."""
_LONGEST_LOOP = 500
"""Statements: longer loops only make register allocation slow."""


class Expression(Value):
    """A value that generated code computes.

    Attributes:
        body: the function it belongs to.
        lanes: whether it differs between lanes.
        name: of the C variable, or the literal.
        ready: where it is computed.
        array: name of the array that holds it for all lanes, where there is one.
        bits: for a mask of lanes made from a scalar, that scalar.
        number: of a literal.
    """

    __slots__ = ("array", "bits", "body", "lanes", "name", "number", "ready")

    def __init__(self, body: Body, kind: Kind, name: str, ready: Ready, *, lanes: bool) -> None:
        """Describe a variable; ``Body`` makes them."""
        self.body = body
        self.kind = kind
        self.name = name
        self.ready = ready
        self.lanes = lanes
        self.array: str | None = None
        self.bits: Expression | None = None
        self.number: float | None = None

    def apply(self, op: Op, others: tuple[Value, ...], kind: Kind) -> Expression:
        """Write the primitive."""
        return self.body.apply(op, (self, *others), kind)

    def constant(self, kind: Kind, number: float) -> Expression:
        """Return a literal."""
        return self.body.constant(kind, number)


def expression(value: Value) -> Expression:
    """Return a value of this implementation of the algebra as what it is."""
    if not isinstance(value, Expression):
        raise TypeError("values of two implementations of the algebra do not mix")
    return value


@dataclass(slots=True)
class Statement:
    """One statement.

    Attributes:
        text: C with ``{0}``, ``{1}``... for operands.
        operands: what it reads.
        arrays: numbers of the operands that are passed as arrays of all lanes.
        result: the variable that gets the text's value, if any.
        effect: it is kept even if nobody reads the result.
    """

    text: str
    operands: tuple[Expression, ...]
    arrays: frozenset[int]
    result: Expression | None
    effect: bool


@dataclass(slots=True)
class Region:
    """Scalar code, a loop over groups of lanes, scalar code."""

    parts: tuple[list[Statement], list[Statement], list[Statement]] = field(default_factory=lambda: ([], [], []))
    masks: list[tuple[Expression, Expression]] = field(default_factory=list)
    """Scalars that collect the bits of a mask of lanes."""


class Body:
    """Statements of one function."""

    def __init__(self) -> None:
        """Start with one empty region."""
        self.regions = [Region()]
        self.declarations: list[str] = []
        self.before_new_region: Callable[[], None] = lambda: None
        self._count = 0
        self._constants: dict[tuple[Kind, str], Expression] = {}
        self._same: dict[tuple[Kind, str, tuple[str, ...], tuple[int, ...]], Expression] = {}
        self._lane_masks: dict[str, Expression] = {}

    @property
    def current(self) -> int:
        """Number of the last region."""
        return len(self.regions) - 1

    def fresh(self, prefix: str) -> str:
        """Return a name that is used nowhere else in the function."""
        self._count += 1
        return f"{prefix}{self._count}"

    def new_region(self) -> None:
        """End the last region, unless it is empty."""
        if any(self.regions[-1].parts) or self.regions[-1].masks:
            self.before_new_region()
            self.regions.append(Region())
            self._lane_masks.clear()

    def constant(self, kind: Kind, number: float) -> Expression:
        """Return a literal."""
        text = literal(kind, number)
        found = self._constants.get((kind, text))
        if found is None:
            found = self._constants[kind, text] = Expression(self, kind, text, (-1, BEFORE), lanes=False)
            found.number = number
        return found

    def parameter(self, kind: Kind, name: str) -> Expression:
        """Return a scalar that the function is given."""
        return Expression(self, kind, name, (-1, BEFORE), lanes=False)

    def apply(self, op: Op, operands: Sequence[Value], kind: Kind) -> Expression:
        """Write a primitive of the algebra."""
        values = tuple(expression(operand) for operand in operands)
        folded = self._folded(op, values, kind)
        if folded is not None:
            return folded
        lanes = any(value.lanes for value in values)
        names = ["{%d}" % number for number in range(len(values))]  # noqa: UP031 - braces
        text = text_of(op, names, [value.kind for value in values], kind, lanes=lanes)
        return self.on_lanes(kind, text, *values) if lanes else self.scalar(kind, text, *values)

    def _folded(self, op: Op, values: Sequence[Expression], kind: Kind) -> Expression | None:
        """Return a primitive of integer constants as the reference computes it, else ``None``."""
        numbers = [value.number for value in values]
        if kind.is_float or any(
            number is None or value.kind.is_float for number, value in zip(numbers, values, strict=True)
        ):
            return None
        first, *others = (constant(value.kind, value.number or 0) for value in values)
        return self.constant(kind, int(first.apply(op, tuple(others), kind).array[0]))

    def on_lanes(self, kind: Kind, text: str, *operands: Expression, arrays: Sequence[int] = ()) -> Expression:
        """Write a statement of the loop; operands that are scalars are the same in all lanes."""
        if len(self.regions[-1].parts[LOOP]) >= _LONGEST_LOOP or any(
            self._too_late(operand, as_array=number in arrays) for number, operand in enumerate(operands)
        ):
            self.new_region()
        key = (kind, text, tuple(operand.name for operand in operands), tuple(arrays))
        found = self._same.get(key)
        if found is not None and found.ready == (self.current, LOOP):
            return found
        result = self._same[key] = Expression(self, kind, self.fresh("t"), (self.current, LOOP), lanes=True)
        self._add(LOOP, Statement(text, operands, frozenset(arrays), result, effect=False))
        return result

    def _too_late(self, operand: Expression, *, as_array: bool) -> bool:
        """Say whether a value is not there yet while the last region's loop runs."""
        return operand.ready >= (self.current, LOOP if as_array else AFTER)

    def scalar(self, kind: Kind, text: str, *operands: Expression, arrays: Sequence[int] = ()) -> Expression:
        """Write a scalar statement without effects."""
        late = any(operand.ready >= (self.current, LOOP) for operand in operands)
        part = AFTER if late else BEFORE
        key = (kind, text, tuple(operand.name for operand in operands), tuple(arrays))
        if key not in self._same:
            self._same[key] = Expression(self, kind, self.fresh("t"), (self.current, part), lanes=False)
            self._add(part, Statement(text, operands, frozenset(arrays), self._same[key], effect=False))
        return self._same[key]

    def in_order(
        self, text: str, *operands: Expression, arrays: Sequence[int] = (), kind: Kind | None = None
    ) -> Expression:
        """Write a statement with effects, behind all such statements before it; give its result if it has a kind."""
        parts = self.regions[-1].parts
        late = parts[LOOP] or parts[AFTER] or any(operand.ready >= (self.current, LOOP) for operand in operands)
        part = AFTER if late else BEFORE
        result = Expression(self, kind or U64, self.fresh("t"), (self.current, part), lanes=False)
        self._add(part, Statement(text, operands, frozenset(arrays), result if kind else None, effect=True))
        return result

    def array(self, kind: Kind, name: str) -> Expression:
        """Return a value of lanes that an effect before has put into an array."""
        part = AFTER if self.regions[-1].parts[AFTER] else BEFORE
        result = Expression(self, kind, self.fresh("t"), (self.current, part), lanes=True)
        result.array = name
        return result

    def store_lanes(self, text: str, value: Expression) -> None:
        """Write a statement of the last loop that has an effect: ``{0}`` is the value, which is known there."""
        self._add(LOOP, Statement(text, (value,), frozenset(), None, effect=True))

    def reach(self, *values: Expression) -> None:
        """Begin a new region if the last one's loop runs too early for a value."""
        if any(self._too_late(value, as_array=False) for value in values):
            self.new_region()

    def _add(self, part: int, statement: Statement) -> None:
        self.regions[-1].parts[part].append(statement)

    def lanes_of(self, bits: Expression) -> Expression:
        """Return a scalar of 64 bits as a mask of lanes."""
        found = self._lane_masks.get(bits.name)
        if found is None or found.ready[0] != self.current:
            found = self.on_lanes(BOOL, "lanes_of({0}, g)", _Scalar.of(bits))
            found.bits = bits
            self._lane_masks[bits.name] = found
        return found

    def bits_of(self, mask: Expression) -> Expression:
        """Return a mask of lanes as a scalar of 64 bits."""
        if not mask.lanes:
            return self.apply(Op.WHERE, (mask, self.constant(U64, -1), self.constant(U64, 0)), U64)
        if mask.bits is not None:
            return mask.bits
        if mask.ready >= (self.current, AFTER):
            self.new_region()
        result = Expression(self, U64, self.fresh("m"), (self.current, AFTER), lanes=False)
        self.regions[-1].masks.append((result, mask))
        return result

    def spread(self, value: Expression) -> Expression:
        """Return a value as one of lanes."""
        return value if value.lanes else self.on_lanes(value.kind, "{0}", value)


class _Scalar(Expression):
    """A scalar that a statement of the loop takes as a scalar."""

    __slots__ = ()

    @classmethod
    def of(cls, value: Expression) -> _Scalar:
        return cls(value.body, value.kind, value.name, value.ready, lanes=False)


def operand_text(value: Expression, *, in_loop: bool) -> str:
    """Return how a statement names an operand that is not passed as an array."""
    if in_loop and not value.lanes and not isinstance(value, _Scalar):
        return splat(value.kind, value.name)
    return value.name
