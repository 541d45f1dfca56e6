"""What may be known of a register at a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto


class Known(Enum):
    """What is known of a register beside a number."""

    QUIET = auto()
    """It is no signalling NaN of float32, in all lanes."""
    ALL_LANES = auto()
    """It is half of a mask of all lanes that the wave began with."""
    WORK_ITEM = auto()
    """It holds what v0 held when the wave began."""


@dataclass(frozen=True)
class Lanes:
    """A set of lanes as ``s_and_saveexec`` makes it: those that stay active, or those of ``within`` that do not.

    Attributes:
        others: whether it is the lanes that do not stay.
        place: address of the instruction.
        within: the lanes that were active before it.
    """

    others: bool
    place: int
    within: Fact


@dataclass(frozen=True)
class Result:
    """What the instruction at an address gave to a VGPR, in all lanes, or to an SGPR, when it was executed last.

    Attributes:
        place: the address.
        part: which of several registers.
    """

    place: int
    part: int = 0


@dataclass(frozen=True)
class Compared:
    """A mask of all lanes in which an integer comparison of a constant with a result holds.

    Attributes:
        name: of the instruction, such as ``v_cmp_lt_i32``.
        constant: its first operand.
        result: its second one.
    """

    name: str
    constant: int
    result: Result


@dataclass(frozen=True)
class Made:
    """The only result of the instruction at an address comes of these operands, as they were given.

    Attributes:
        place: the address.
        operands: numbers, and what other instructions gave.
    """

    place: int
    operands: tuple[int | Result, ...]


Fact = int | Known | Lanes | Result | Compared | Made
State = Mapping[int, Fact]
"""By the numbers of ``analysis.effects``; an integer is the register's value, in all lanes.

What results are made of is kept by negative numbers, see ``made_key``.
"""


def made_key(place: int) -> int:
    """Return the number by which is kept what the result of the instruction at an address is made of."""
    return -1 - place
