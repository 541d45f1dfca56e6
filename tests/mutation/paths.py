"""Where two programs are that are executed side by side, and in what they differ there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import z3

from rocmatrix.emulator.analysis.effects import effects_of
from rocmatrix.emulator.instruction import Instruction
from tests.mutation.symbolic import SymbolicMachine
from tests.mutation.symbolic_registers import Place


@dataclass
class Path:
    """Both programs at one place."""

    place: int
    first: SymbolicMachine
    second: SymbolicMachine
    budget: list[int]
    depth: int = 0
    same_lanes: bool = True
    differing: set[Place] = field(default_factory=set)


def constants_of(path: Path) -> Mapping[Place, tuple[int, int]] | None:
    """Return what differs on a path, if it is a constant in each program."""
    found = {}
    for place in path.differing:
        one, other = (z3.simplify(machine.word(place)) for machine in (path.first, path.second))
        if not (z3.is_bv_value(one) and z3.is_bv_value(other)):
            return None
        found[place] = one.as_long(), other.as_long()
    return found


def writes_of(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Return the registers that instructions write."""
    return frozenset[int]().union(*(effects_of(each).writes for each in instructions))
