"""Waves that repeat themselves: the proof that one waits for memory to change, or will never end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import VECTOR_MEMORY, Encoding
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.reports import AccessError, UnsupportedError
from rocmatrix.emulator.wave import Status, Wave

WATCH = 1024
"""Instructions of the longest loop that is recognised; loops that wait are short."""
_MEMORY = (*VECTOR_MEMORY, Encoding.DS, Encoding.SMEM)


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop whose every turn leaves a wave as it was.

    Attributes:
        first: lowest address of its instructions.
        last: highest address of one at which it may branch.
        reads: it accesses memory: it ends when another wave changes that.
    """

    first: int
    last: int
    reads: bool


@dataclass(frozen=True, kw_only=True)
class _Snapshot:
    """Everything that decides what a wave does next, memory aside."""

    pc: int
    fixed: tuple[int, bool, bool]
    scalars: NDArray[np.uint32]
    vectors: NDArray[np.uint32]
    accumulators: NDArray[np.uint32]

    @classmethod
    def of(cls, wave: Wave) -> _Snapshot:
        """Copy a wave's state."""
        return cls(
            pc=wave.pc,
            fixed=(wave.mode.bits, bool(wave.scc), wave.indexes_registers),
            scalars=wave.sgprs.copy(),
            vectors=wave.vgprs.copy(),
            accumulators=wave.agprs.copy(),
        )

    def is_that_of(self, wave: Wave) -> bool:
        """Say whether a wave is as it was."""
        return (
            self.pc == wave.pc
            and self.fixed == (wave.mode.bits, bool(wave.scc), wave.indexes_registers)
            and np.array_equal(self.scalars, wave.sgprs)
            and np.array_equal(self.vectors, wave.vgprs)
            and np.array_equal(self.accumulators, wave.agprs)
        )


def find_loop(wave: Wave, program: Program) -> Loop | None:
    """Run a wave for up to ``WATCH`` instructions; return the loop that it is in if it repeats its state.

    A wave that comes back to the same state, and has changed no byte of memory meanwhile, does the same again and again
    until another wave changes memory.

    Raises:
        FaultError: the wave did something wrong.
        UnsupportedError: the wave did something unknown.
    """
    before, changes = _Snapshot.of(wave), wave.changes
    end = wave.executed + WATCH
    places = [wave.pc]
    while wave.executed < end:
        program.run(wave, 1)
        if wave.status is not Status.READY or wave.changes != changes:
            return None
        if before.is_that_of(wave):
            last = max(*places, wave.instruction.address if wave.instruction else 0)
            return Loop(first=min(places), last=last, reads=_reads(program, min(places), last))
        places.append(wave.pc)
    return None


def _reads(program: Program, first: int, last: int) -> bool:
    """Say whether an instruction between two addresses accesses memory."""
    place = first
    while place <= last:
        try:
            instruction = program.at(place)[0]
        except (AccessError, UnsupportedError):
            return True  # data between instructions: who knows
        if instruction.encoding in _MEMORY:
            return True
        place = instruction.next_address
    return False
