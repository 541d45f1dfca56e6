"""Waves of a workgroup take turns until all have ended; barriers hold them together."""

from __future__ import annotations

import random

from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.reports import Fault, FaultError, FaultKind
from rocmatrix.emulator.wave import Status, Wave

TURN = 4096
"""Instructions of a turn: a wave that spins gives way to the one that it waits for."""


class Workgroup:
    """A workgroup that is running."""

    def __init__(self, waves: tuple[Wave, ...], program: Program, *, order: random.Random, limit: int) -> None:
        """Take the waves of a workgroup.

        Args:
            waves: before their first instruction.
            program: their code.
            order: decides which wave goes first in each round.
            limit: instructions that one wave may execute.
        """
        self.waves = waves
        self._program = program
        self._order = order
        self._limit = limit

    @property
    def ended(self) -> bool:
        """Whether all waves have ended."""
        return all(wave.status is Status.ENDED for wave in self.waves)

    @property
    def executed(self) -> int:
        """Instructions that the waves have executed together."""
        return sum(wave.executed for wave in self.waves)

    def run_round(self) -> None:
        """Give each wave that can go on a turn; release the barrier when every live wave is there.

        Raises:
            FaultError: a wave did something wrong, or goes on for ever.
            UnsupportedError: a wave did something unknown.
        """
        ready = [wave for wave in self.waves if wave.status is Status.READY]
        self._order.shuffle(ready)
        for wave in ready:
            self._program.run(wave, min(TURN, self._limit - wave.executed))
            if wave.status is Status.ENDED and wave.observer is not None:
                wave.observer.end(wave)
            if wave.status is Status.READY and wave.executed >= self._limit:
                self._report_endless(wave)
        live = tuple(wave for wave in self.waves if wave.status is not Status.ENDED)
        if live and all(wave.status is Status.AT_BARRIER for wave in live):
            for wave in live:
                wave.status = Status.READY
            if live[0].observer is not None:
                live[0].observer.barrier(live)

    def _report_endless(self, wave: Wave) -> None:
        waiting = [other.identity.wave for other in self.waves if other.status is Status.AT_BARRIER]
        detail = f"it has executed {wave.executed} instructions and does not end"
        if waiting:
            detail += f", while waves {waiting} wait at a barrier"
        kind = FaultKind.DEADLOCK if waiting else FaultKind.ENDLESS
        raise FaultError(
            Fault(kind=kind, kernel=wave.kernel, instruction=wave.instruction, wave=wave.identity, detail=detail)
        )
