"""Waves that repeat themselves: the proof that one waits for memory to change, or will never end."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import VECTOR_MEMORY, Encoding
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.reports import AccessError, UnsupportedError
from rocmatrix.emulator.wave import Status, Wave

WATCH = 1024
"""Instructions of the longest loop that is recognised; loops that wait are short."""
TURN = 4096
"""Instructions of a turn: a wave that spins gives way to the one that it waits for."""
_FIRST_NOTED = 8
"""Turn whose states are noted first: shorter loops are found without."""
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
    late: bytes

    @classmethod
    def of(cls, wave: Wave) -> _Snapshot:
        """Copy a wave's state."""
        return cls(
            pc=wave.pc,
            fixed=(wave.mode.bits, bool(wave.scc), wave.indexes_registers),
            scalars=wave.sgprs.copy(),
            vectors=wave.vgprs.copy(),
            accumulators=wave.agprs.copy(),
            late=b"" if wave.late is None else wave.late.snapshot(),
        )

    def is_that_of(self, wave: Wave) -> bool:
        """Say whether a wave is as it was."""
        return (
            self.pc == wave.pc
            and self.fixed == (wave.mode.bits, bool(wave.scc), wave.indexes_registers)
            and np.array_equal(self.scalars, wave.sgprs)
            and np.array_equal(self.vectors, wave.vgprs)
            and np.array_equal(self.accumulators, wave.agprs)
            and (wave.late is None or self.late == wave.late.snapshot())
        )


@dataclass(kw_only=True)
class _Extent:
    """Where a wave has been: in no more memory than that, however many instructions it executes.

    Attributes:
        first: lowest address.
        last: highest address.
    """

    first: int
    last: int

    def step(self, wave: Wave, program: Program) -> None:
        """Let a wave go on to the end of a basic block: the turn of one instruction ends there."""
        place = wave.pc
        program.run(wave, 1)
        self.first = min(self.first, place)
        self.last = max(self.last, place, wave.instruction.address if wave.instruction else place)

    def loop(self, program: Program) -> Loop:
        """Return the loop of a wave that is back at the start."""
        return Loop(first=self.first, last=self.last, reads=_reads(program, self.first, self.last))


def find_loop(wave: Wave, program: Program) -> Loop | None:
    """Run a wave for up to ``WATCH`` instructions; return the loop that it is in if it repeats its state.

    A wave that comes back to the same state, and has changed no byte of memory meanwhile, does the same again and again
    until another wave changes memory; unless it asked for the time, which its state does not hold.

    Raises:
        FaultError: the wave did something wrong.
        UnsupportedError: the wave did something unknown.
    """
    before, changes = _Snapshot.of(wave), wave.changes
    end = wave.executed + WATCH
    extent = _Extent(first=wave.pc, last=wave.pc)
    while wave.executed < end:
        extent.step(wave, program)
        if wave.status is not Status.READY or wave.changes != changes:
            return None
        if before.is_that_of(wave) and not wave.asks_for_time:
            return extent.loop(program)
    return None


class Recurrence:
    """Whether the state of a wave comes back, in however many instructions.

    Of one whole turn the states at all branches are noted, in short. A wave that repeats itself ends a later turn in
    one of them; then it goes on for as long as that took, and if all of its state is the same again, it will be for
    ever. Which turn is noted follows R. P. Brent's cycle finding: the 8th, the 16th, the 32nd...
    """

    def __init__(self) -> None:
        """Start before the first turn."""
        self._seen: dict[tuple[int, int, int], int] = {}
        self._changes = 0
        self._turns = 0

    def forget(self) -> None:
        """Begin anew: the wave has met others, and what it did since depended on them."""
        self._seen.clear()

    def find(self, wave: Wave, program: Program, changes: int) -> Loop | None:
        """See the end of a turn; return the loop that the wave is in if it was like this before.

        Args:
            wave: which goes on.
            program: its code.
            changes: of memory by all waves so far.

        Raises:
            FaultError: the wave did something wrong.
            UnsupportedError: the wave did something unknown.
        """
        self._turns += 1
        if self._turns >= _FIRST_NOTED and self._turns & (self._turns - 1) == 0:
            self._note(wave, program, changes)
        elif self._seen and self._changes == changes and not wave.asks_for_time:
            executed = self._seen.get(_in_short(wave))
            if executed is not None:
                return _come_back(wave, program, wave.executed - executed)
        return None

    def _note(self, wave: Wave, program: Program, changes: int) -> None:
        """Let a wave take a turn, and note its states."""
        self._seen.clear()
        self._changes = changes
        before, end = wave.changes, wave.executed + TURN
        while wave.executed < end:
            self._seen[_in_short(wave)] = wave.executed
            program.run(wave, 1)
            if wave.status is not Status.READY or wave.changes != before:
                self._seen.clear()
                return


def _in_short(wave: Wave) -> tuple[int, int, int]:
    check = 0
    for registers in (wave.sgprs, wave.vgprs, wave.agprs):
        check = crc32(registers.data, check)
    return wave.pc, bool(wave.scc) | wave.mode.bits << 1, check


def _come_back(wave: Wave, program: Program, period: int) -> Loop | None:
    """Let a wave go on; return the loop if it is then as it was, without having changed memory or met others."""
    before, changes, end = _Snapshot.of(wave), wave.changes, wave.executed + period
    extent = _Extent(first=wave.pc, last=wave.pc)
    while wave.executed < end:
        extent.step(wave, program)
        if wave.status is not Status.READY:
            return None
    return extent.loop(program) if wave.changes == changes and before.is_that_of(wave) else None


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
