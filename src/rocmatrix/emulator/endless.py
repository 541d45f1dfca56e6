"""The proof that a wave cannot end, though its registers change in each turn: no path that it may take leads out.

Compilers give a loop without an end a branch to one that is never taken (LLVM, AMDGPUUnifyDivergentExitNodes): its
condition is a mask that the loop does not write. So a branch on what no instruction writes that the wave can reach is
followed one way only, and that as long as it makes more such branches known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from rocmatrix.emulator.analysis.effects import effects_of
from rocmatrix.emulator.instruction import EXEC, SCC, VCC, Instruction
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.reports import AccessError, UnsupportedError
from rocmatrix.emulator.semantics.control import CONDITIONS, Flow
from rocmatrix.emulator.wave import Wave

_OUT = (Flow.END, Flow.TRAP, Flow.JUMP)
"""Control flow that ends a wave, or goes where only the run knows."""
_MOVES = ("s_mov_b32", "s_mov_b64")


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """What decides whether a wave can end.

    Attributes:
        pc: where it is.
        scc, vcc, active: whether SCC, VCC and EXEC are anything but zero.
    """

    pc: int
    scc: bool
    vcc: bool
    active: bool

    @classmethod
    def of(cls, wave: Wave) -> Doubt:
        """Look at a wave between two of its turns."""
        return cls(
            pc=wave.pc,
            scc=bool(wave.scc),
            vcc=bool(wave.sgprs[VCC : VCC + 2].any()),
            active=bool(wave.sgprs[EXEC : EXEC + 2].any()),
        )

    def takes(self, branch: str) -> bool:
        """Say whether a conditional branch is taken as things are."""
        value = {"scc": self.scc, "vcc": self.vcc, "exe": self.active}[branch.removeprefix("s_cbranch_")[:3]]
        return value == branch.endswith(("scc1", "nz"))


@dataclass(kw_only=True)
class _Reached:
    """What can be reached when some branches are known: whether that has a way out, and what it writes."""

    out: bool = False
    written: set[int] = field(default_factory=set)
    branches: dict[int, Instruction] = field(default_factory=dict)


def can_end(program: Program, doubt: Doubt) -> bool:
    """Say whether a path may lead from where a wave is to its end, to a trap, or to where nobody knows.

    ``False`` is a proof: whatever its other registers and memory hold, the wave never ends.
    """
    known: dict[int, bool] = {}
    while True:
        reached = _reach(program, doubt.pc, known)
        if not reached.out:
            return False
        decided = {
            place: doubt.takes(branch.name)
            for place, branch in reached.branches.items()
            if not effects_of(branch).reads & reached.written
        }
        if decided.keys() <= known.keys():
            return True
        known |= decided


def _reach(program: Program, start: int, known: Mapping[int, bool]) -> _Reached:
    """Follow all paths; of branches that are known the one way."""
    reached = _Reached()
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        place = waiting.pop()
        while place not in seen:
            seen.add(place)
            try:
                instruction, flow, _ = program.at(place)
            except (AccessError, UnsupportedError):
                reached.out = True  # the run says what is wrong there
                break
            reached.written |= _scalars_written(instruction)
            if flow in _OUT:
                reached.out = True
                break
            place = instruction.next_address
            if flow is Flow.BRANCH:
                conditional = instruction.name in CONDITIONS
                if conditional:
                    reached.branches[instruction.address] = instruction
                taken = known.get(instruction.address) if conditional else True
                if taken is None:
                    waiting.append(instruction.branch_target)
                elif taken:
                    place = instruction.branch_target
    return reached


@cache
def _scalars_written(instruction: Instruction) -> frozenset[int]:
    """Return the scalar registers that may be another value behind an instruction."""
    if instruction.name in _MOVES and instruction.sources == instruction.destinations:
        return frozenset()
    return frozenset(register for register in effects_of(instruction).writes if register <= SCC)
