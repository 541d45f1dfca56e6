"""Every semantics function works on values that are not NumPy arrays: what a translator needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from rocmatrix.emulator.algebra import Kind, Op, Value
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.interpreter import TABLES
from rocmatrix.emulator.lanes import Lanes, constant
from rocmatrix.emulator.semantics.arithmetic import PACKED, SCALAR, VECTOR, Arithmetic
from rocmatrix.emulator.semantics.atomics import ATOMICS
from tests.unit.emulator.machine import values

assert TABLES
OPERATIONS = [table[name] for table in (SCALAR, VECTOR, PACKED) for name in table]


@dataclass(frozen=True, eq=False)
class Node:
    """An expression: a leaf with lanes, or a primitive on other expressions."""

    leaf: Lanes | None = None
    op: Op | None = None
    kind: Kind | None = None
    operands: tuple[Node, ...] = ()

    def evaluate(self) -> Lanes:
        if self.leaf is not None:
            return self.leaf
        assert self.op is not None
        assert self.kind is not None
        first, *rest = [operand.evaluate() for operand in self.operands]
        return first.apply(self.op, tuple(rest), self.kind)


class Expression(Value):
    """A value that only remembers how it was made."""

    __slots__ = ("node",)

    def __init__(self, kind: Kind, node: Node) -> None:
        self.kind = kind
        self.node = node

    def apply(self, op: Op, others: tuple[Value, ...], kind: Kind) -> Expression:
        nodes = [self.node]
        for other in others:
            assert isinstance(other, Expression), "a semantics function mixed in a value of another implementation"
            nodes.append(other.node)
        return Expression(kind, Node(op=op, kind=kind, operands=tuple(nodes)))

    def constant(self, kind: Kind, number: float) -> Expression:
        return Expression(kind, Node(leaf=constant(kind, number)))


def _call(operation: Arithmetic, operands: list[Value]) -> tuple[Value, ...]:
    result = operation.function(*operands, Mode()) if operation.uses_mode else operation.function(*operands)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("operation", OPERATIONS, ids=[operation.name for operation in OPERATIONS])
def test_an_operation_gives_the_same_bits_as_expression_and_as_lanes(operation: Arithmetic) -> None:
    random = np.random.default_rng(1)
    lanes = [values(kind, random) for kind in operation.operands]
    expressions: list[Value] = [Expression(value.kind, Node(leaf=value)) for value in lanes]
    with np.errstate(all="ignore"):
        direct = _call(operation, list(lanes))
        remembered = _call(operation, expressions)
        assert tuple(value.kind for value in direct) == operation.results
        for lane, expression in zip(direct, remembered, strict=True):
            assert isinstance(lane, Lanes)
            assert isinstance(expression, Expression)
            evaluated = expression.node.evaluate()
            assert evaluated.kind is lane.kind
            assert np.broadcast_to(evaluated.array, (64,)).tobytes() == np.broadcast_to(lane.array, (64,)).tobytes()


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics_combine_expressions(name: str) -> None:
    atomic = ATOMICS[name]
    random = np.random.default_rng(2)
    operands = [values(atomic.kind, random) for _ in range(1 + atomic.operands)]
    with np.errstate(all="ignore"):
        direct = atomic.combine(*operands)
        remembered = atomic.combine(*(Expression(value.kind, Node(leaf=value)) for value in operands))
        assert isinstance(direct, Lanes)
        assert isinstance(remembered, Expression)
        assert direct.kind is atomic.kind
        assert remembered.node.evaluate().array.tobytes() == direct.array.tobytes()
