"""What the race detector says: two accesses that nothing orders, or lanes that collide; each pair once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.reports import Fault, FaultKind, WaveId
from rocmatrix.emulator.semantics.machine import Space

MOST = 64
"""Findings of one launch: who has that many needs no more."""


@dataclass(frozen=True, kw_only=True)
class Party:
    """One of two accesses.

    Attributes:
        wave: number in the launch.
        place: of the instruction, in dwords from the beginning of the code.
        writes: it writes.
    """

    wave: int
    place: int
    writes: bool


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Two accesses that race, or one whose lanes collide.

    Attributes:
        space: GLOBAL or LDS.
        lane: of the later access.
        address: that this lane accesses.
        later: the access that was made just now.
        earlier: the one that it conflicts with; ``None`` for a collision.
    """

    space: Space
    lane: int
    address: int
    later: Party
    earlier: Party | None

    @property
    def key(self) -> tuple[object, ...]:
        """What is reported once: the same pair of instructions, whichever came first."""
        if self.earlier is None:
            return self.space, self.later.place
        return self.space, frozenset((self.later.place, self.earlier.place))


@dataclass(frozen=True, kw_only=True)
class Names:
    """How waves, instructions and memory of a launch are called.

    Attributes:
        kernel: its name.
        wave: a wave by its number in the launch.
        instruction: the instruction at a place, where it is known.
        memory: the address space.
    """

    kernel: str
    wave: Callable[[int], WaveId]
    instruction: Callable[[int], Instruction | None]
    memory: Memory

    def fault(self, conflict: Conflict) -> Fault:
        """Return a conflict as a fault."""
        return Fault(
            kind=FaultKind.RACE if conflict.earlier else FaultKind.COLLISION,
            kernel=self.kernel,
            instruction=self.instruction(conflict.later.place),
            wave=self.wave(conflict.later.wave),
            lane=conflict.lane,
            address=conflict.address,
            detail=self._detail(conflict),
        )

    def _detail(self, conflict: Conflict) -> str:
        where = self._where(conflict)
        if conflict.earlier is None:
            return f"lanes of it write different values to {where}"
        earlier = conflict.earlier
        did = "writes" if conflict.later.writes else "reads"
        had = "wrote" if earlier.writes else "read"
        other = self.instruction(earlier.place)
        at = f" at {other}" if other is not None else ""
        who = self.wave(earlier.wave)
        mine = self.wave(conflict.later.wave)
        if mine == who:
            return f"it {did} {where}, which the same wave {had}{at} in an access that may still be under way"
        missing = (
            "a barrier, behind a wait for the earlier access, would"
            if mine.workgroup == who.workgroup
            else "a release and an acquire of agent scope would"
        )
        return f"it {did} {where}, which {who} {had}{at}; nothing orders the two, as {missing}"

    def _where(self, conflict: Conflict) -> str:
        if conflict.space is Space.LDS:
            return f"byte {conflict.address} of LDS"
        allocation = self.memory.find(conflict.address)
        if allocation is None:
            return "memory"
        return f"byte {conflict.address - allocation.address} of {allocation.name}"


class Conflicts:
    """Conflicts of a launch, each pair of instructions once, the first ones only."""

    def __init__(self) -> None:
        """Start with none."""
        self._found: dict[tuple[object, ...], Conflict] = {}

    def add(self, conflict: Conflict) -> None:
        """Take one, unless its pair is known or there are enough."""
        if len(self._found) < MOST:
            self._found.setdefault(conflict.key, conflict)

    def faults(self, names: Names) -> tuple[Fault, ...]:
        """Return them as faults, in the order of the code."""
        ordered = sorted(
            self._found.values(), key=lambda one: (one.later.place, one.earlier.place if one.earlier else -1)
        )
        return tuple(names.fault(conflict) for conflict in ordered)
