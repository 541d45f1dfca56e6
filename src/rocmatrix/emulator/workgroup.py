"""Waves of a workgroup take turns until all have ended; barriers hold them together."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import NoReturn

from rocmatrix.emulator.endless import Doubt, can_end
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.races.tracker import Tracker
from rocmatrix.emulator.reports import Fault, FaultError, FaultKind
from rocmatrix.emulator.spin import TURN, Loop, Recurrence, find_loop
from rocmatrix.emulator.wave import Status, Wave

_DOUBTFUL = 1 << 12
"""Instructions after which it is asked, once, whether a path leads from a wave to its end."""
_SHORT_TURN = 256
"""Of a wave that has just begun, or was found waiting for memory that has changed since."""


@dataclass(kw_only=True)
class Progress:
    """What all workgroups of a launch did together.

    Attributes:
        changes: times that a wave changed memory.
        instructions: that were executed.
        can_end: what was found of waves that had executed much.
    """

    changes: int = 0
    instructions: int = 0
    can_end: dict[Doubt, bool] = field(default_factory=dict)


@dataclass(kw_only=True)
class _Turns:
    """What the scheduler remembers of a wave.

    Attributes:
        taken: turns that ended although the wave could go on.
        loop: in which it waits, if it does.
        changes: of memory when that was found.
        recurrence: looks for states that come back.
        doubted: whether it was asked if it can end.
    """

    taken: int = 0
    doubted: bool = False
    loop: Loop | None = None
    changes: int = 0
    recurrence: Recurrence = field(default_factory=Recurrence)


class Workgroup:
    """A workgroup that is running.

    Attributes:
        waves: all of them.
        progress: of all workgroups of the launch.
    """

    def __init__(
        self,
        waves: tuple[Wave, ...],
        program: Program,
        *,
        order: random.Random,
        limit: int,
        races: Tracker | None = None,
    ) -> None:
        """Take the waves of a workgroup.

        Args:
            waves: before their first instruction.
            program: their code.
            order: decides which wave goes first in each round.
            limit: instructions that one wave may execute.
            races: the race detector, if any.
        """
        self.waves = waves
        self._program = program
        self._order = order
        self._limit = limit
        self.progress = Progress()
        self._races = races
        self._turns = {id(wave): _Turns() for wave in waves}

    @property
    def ended(self) -> bool:
        """Whether all waves have ended."""
        return all(wave.status is Status.ENDED for wave in self.waves)

    @property
    def executed(self) -> int:
        """Instructions that the waves have executed together."""
        return sum(wave.executed for wave in self.waves)

    @property
    def stuck(self) -> bool:
        """Whether every live wave waits: at a barrier, or in a loop until memory changes, which it has not."""
        return all(wave.status is not Status.READY or self._waits(wave) for wave in self.waves)

    def _waits(self, wave: Wave) -> bool:
        turns = self._turns[id(wave)]
        return turns.loop is not None and turns.changes == self.progress.changes

    def loop_of(self, wave: Wave) -> Loop | None:
        """Return the loop in which a wave waits, if it does."""
        return self._turns[id(wave)].loop if wave.status is Status.READY else None

    def run_round(self) -> None:
        """Give each wave that can go on a turn; release the barrier when every live wave is there.

        A wave that waits for memory to change gets no turn before it has changed.

        Raises:
            FaultError: a wave did something wrong, or goes on for ever.
            UnsupportedError: a wave did something unknown.
        """
        ready = [wave for wave in self.waves if wave.status is Status.READY]
        self._order.shuffle(ready)
        for wave in ready:
            if self._waits(wave):
                continue
            self._run(wave)
            if wave.status is Status.ENDED and wave.observer is not None:
                wave.observer.end(wave)
            if wave.status is not Status.ENDED and wave.executed >= _DOUBTFUL:
                self._doubt(wave)
        live = tuple(wave for wave in self.waves if wave.status is not Status.ENDED)
        if live and all(wave.status is Status.AT_BARRIER for wave in live):
            self._release(live)

    def _doubt(self, wave: Wave) -> None:
        """Report a wave that cannot end, or has reached the limit."""
        turns, known = self._turns[id(wave)], self.progress.can_end
        if not turns.doubted:
            turns.doubted = True
            doubt = Doubt.of(wave)
            if doubt not in known:
                known[doubt] = can_end(self._program, doubt)
            if not known[doubt]:
                self._report_endless(wave, "no path leads from there to its end", proved=True)
        if wave.executed >= self._limit:
            self._report_endless(wave, f"a wave may execute {self._limit}", proved=False)

    def _run(self, wave: Wave) -> None:
        """Give a wave a turn, and look from time to time whether it only waits."""
        turns = self._turns[id(wave)]
        changes, executed = wave.changes, wave.executed
        waited, turns.loop = turns.loop is not None, None
        turn = _SHORT_TURN if waited else min(TURN, _SHORT_TURN << turns.taken)
        try:
            self._program.run(wave, min(turn, self._limit - wave.executed))
            if wave.status is Status.ENDED and wave.late is not None:
                wave.late.end(wave)
            if wave.status is Status.READY and wave.executed < self._limit:
                turns.taken += 1
                if waited or turns.taken & (turns.taken - 1) == 0:
                    turns.loop = find_loop(wave, self._program)
        finally:
            self.progress.changes += wave.changes - changes
            self.progress.instructions += wave.executed - executed
        if turns.loop is None and wave.status is Status.READY and wave.executed < self._limit:
            turns.loop = self._recurring(wave, turns)
        turns.changes = self.progress.changes

    def _recurring(self, wave: Wave, turns: _Turns) -> Loop | None:
        """Return the loop in which a wave is whose state has come back, however long it took."""
        executed = wave.executed
        try:
            return turns.recurrence.find(wave, self._program, self.progress.changes)
        finally:
            self.progress.instructions += wave.executed - executed

    def _release(self, live: tuple[Wave, ...]) -> None:
        for wave in live:
            wave.status = Status.READY
            self._turns[id(wave)].recurrence.forget()
        if live[0].observer is not None:
            live[0].observer.barrier(live)
        if self._races is not None:
            self._races.barrier(live)

    def _report_endless(self, wave: Wave, why: str, *, proved: bool) -> NoReturn:
        others = [
            other.identity.wave for other in self.waves if other.status is Status.AT_BARRIER and other is not wave
        ]
        detail = f"it has executed {wave.executed} instructions and does not end: {why}"
        if others:
            detail += f"; waves {others} wait at a barrier"
        kind = FaultKind.DEADLOCK if others and not proved else FaultKind.ENDLESS
        raise FaultError(
            Fault(kind=kind, kernel=wave.kernel, instruction=wave.instruction, wave=wave.identity, detail=detail)
        )
