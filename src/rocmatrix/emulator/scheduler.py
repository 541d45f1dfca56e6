"""Which workgroups run when: in a seeded order, and more at a time where some wait for others.

Ordinary kernels run one workgroup after the other, which is quickest. When every wave that runs waits for memory to
change, or none has ended for long, another workgroup joins, up to as many as a device holds. Flags between workgroups
therefore work as far as they do on a device, which does not promise to hold more than that at a time either.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NoReturn

from rocmatrix.emulator.dispatch import Dispatch
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.pending import Pending
from rocmatrix.emulator.placement import place as where
from rocmatrix.emulator.races.launch import first_wave
from rocmatrix.emulator.races.tracker import Tracker
from rocmatrix.emulator.reports import Fault, FaultError, FaultKind
from rocmatrix.emulator.wave import Status, Wave
from rocmatrix.emulator.workgroup import Progress, Workgroup

if TYPE_CHECKING:
    from rocmatrix.emulator.device import Options

_PATIENCE = 1 << 22
"""Instructions after which another workgroup joins although no wave is known to wait: it may in a way unknown here."""
_NAMED = 6
"""Waves that a report of a deadlock names."""


class Scheduler:
    """Runs one launch.

    Attributes:
        waves: that have been started.
        invented: what they asked for that differs from run to run.
    """

    def __init__(self, dispatch: Dispatch, program: Program, options: Options, races: Tracker | None = None) -> None:
        """Prepare.

        Args:
            dispatch: the launch.
            program: executes its kernel.
            options: order, limits, how many run at the same time.
            races: the race detector, if any.
        """
        self._dispatch = dispatch
        self._program = program
        self._order = random.Random(options.seed)  # noqa: S311 - a reproducible order, no secret
        self._options = options
        self._residency = options.residency
        self._most = max(options.residency, options.most_resident)
        self._races = races
        self._progress = Progress()
        extents = dispatch.geometry.grid
        self._waiting = [(x, y, z) for z in range(extents[2]) for y in range(extents[1]) for x in range(extents[0])]
        self._order.shuffle(self._waiting)
        self._running: list[Workgroup] = []
        self._grown = 0
        self.waves = 0
        self.invented: set[str] = set()

    @property
    def instructions(self) -> int:
        """Instructions that all waves have executed together."""
        return self._progress.instructions

    def run(self) -> None:
        """Run all workgroups to their end.

        Raises:
            FaultError: a wave did something wrong, or waves wait for ever.
            UnsupportedError: a wave did something unknown.
        """
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._residency:
                self._start()
            for workgroup in self._running:
                workgroup.run_round()
            self._retire()
            if self._running:
                self._make_room()

    def _start(self) -> None:
        """Let the next workgroup begin."""
        place = self._waiting.pop()
        made = self._dispatch.make_waves(place)
        first = first_wave(self._dispatch, place)
        for number, wave in enumerate(made):
            wave.number = first + number
            wave.numerics = self._options.numerics
            wave.placement = where(self._options.topology, self._options.seed, first // len(made), number)
            wave.invented = self.invented
            wave.late = Pending() if self._options.delivery.is_late(self._options.seed, wave.number) else None
        if self._races is not None:
            self._races.start(made)
        workgroup = Workgroup(made, self._program, order=self._order, limit=self._options.limit, races=self._races)
        workgroup.progress = self._progress
        self._running.append(workgroup)
        self.waves += len(made)

    def _retire(self) -> None:
        ended = [workgroup for workgroup in self._running if workgroup.ended]
        if not ended:
            return
        if self._races is not None:
            for workgroup in ended:
                self._races.end(workgroup.waves)
        self._running = [workgroup for workgroup in self._running if not workgroup.ended]
        self._grown = self._progress.instructions

    def _make_room(self) -> None:
        """Let more workgroups run where those that do may wait for them; report where nothing can go on."""
        stuck = all(workgroup.stuck for workgroup in self._running)
        if not stuck and self._progress.instructions - self._grown < _PATIENCE:
            return
        if self._waiting and len(self._running) < self._most:
            self._residency = min(self._most, len(self._running) * 2 if stuck else len(self._running) + 1)
            self._grown = self._progress.instructions
        elif stuck:
            self._report_stuck()

    def _report_stuck(self) -> NoReturn:
        """Report waves that wait for ever.

        Raises:
            FaultError: always.
        """
        waves = [(workgroup, wave) for workgroup in self._running for wave in workgroup.waves]
        live = [(workgroup, wave) for workgroup, wave in waves if wave.status is not Status.ENDED]
        loops = [workgroup.loop_of(wave) for workgroup, wave in live]
        waits = any(loop is None or loop.reads for loop in loops)
        # one that loops says more than one that waits for it at a barrier
        first = next((wave for (_, wave), loop in zip(live, loops, strict=True) if loop is not None), live[0][1])
        named = [self._what(workgroup, wave) for workgroup, wave in live[:_NAMED]]
        if len(live) > _NAMED:
            named.append(f"{len(live) - _NAMED} more waves wait")
        if self._waiting:
            named.append(
                f"{len(self._waiting)} workgroups have not begun, because a device holds no more than {self._most}"
            )
        detail = "it does not end, and nothing can change that: " + "; ".join(named)
        kind = FaultKind.DEADLOCK if waits else FaultKind.ENDLESS
        raise FaultError(
            Fault(kind=kind, kernel=first.kernel, instruction=first.instruction, wave=first.identity, detail=detail)
        )

    @staticmethod
    def _what(workgroup: Workgroup, wave: Wave) -> str:
        loop = workgroup.loop_of(wave)
        if loop is None:
            return f"{wave.identity} waits at a barrier at {wave.instruction}"
        why = "until memory changes that nobody will change" if loop.reads else "without reading memory"
        return f"{wave.identity} repeats {loop.first:#x} to {loop.last:#x} {why}"
