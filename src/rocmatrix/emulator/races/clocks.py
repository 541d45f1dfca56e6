"""What the waves of a workgroup know of each other: how much of whose accesses is ordered before their own.

Every array is shared with generated code.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

_DWORD = 4


class Counter(IntEnum):
    """Columns of ``GroupClocks.counters``."""

    VM_ISSUED = 0
    VM_DONE = 1
    LGKM_ISSUED = 2
    LGKM_DONE = 3
    RELEASES = 4
    """Not 0 if the wave has something that other workgroups may learn of."""


class GroupClocks:
    """The clocks of one workgroup.

    An agent of LDS is a wave's LDS instructions, or (numbers from ``count`` on) its loads to LDS, which are ordered by
    vmcnt.

    Attributes:
        first: number of its first wave in the launch.
        count: waves.
        counters: for each wave, accesses issued and known to be complete, on either counter.
        clock: for each wave, up to which number on vmcnt each wave's accesses are ordered before its own.
        lds_clock: the same for each agent of LDS.
        lds_sync: for each dword of LDS, what those who changed it atomically knew.
    """

    def __init__(self, first: int, count: int, lds_size: int) -> None:
        """Start with waves that have done nothing."""
        self.first = first
        self.count = count
        self.counters: NDArray[np.uint64] = np.zeros((count, len(Counter)), np.uint64)
        # scalar loads bear the number of what was complete when they were issued, which must not be 0
        self.counters[:, (Counter.VM_ISSUED, Counter.VM_DONE)] = 1
        self.clock: NDArray[np.uint64] = np.zeros((count, count), np.uint64)
        self.lds_clock: NDArray[np.uint64] = np.zeros((count, 2 * count), np.uint64)
        self.lds_sync: NDArray[np.uint64] = np.zeros((-(-lds_size // _DWORD), 2 * count), np.uint64)
        # what each wave has of its own: views of the diagonals, into which a barrier puts the columns of the counters
        self._own = self.clock.reshape(-1)[:: count + 1]
        self._own_lds = self.lds_clock.reshape(-1)[:: 2 * count + 1][:count]
        self._own_loads = self.lds_clock.reshape(-1)[count :: 2 * count + 1]

    def barrier(self, live: Sequence[int]) -> None:
        """Let waves know what all, ended ones too, knew, had issued to global memory, and had complete in LDS.

        Waves of a workgroup share a compute unit, whose accesses of global memory stay in the order in which they were
        issued; so compilers do not wait for them before a barrier (LLVM, AMDGPUUsage, "Memory Model gfx942": without
        TgSplit no vmcnt at workgroup scope).
        """
        self._own[:] = self.counters[:, Counter.VM_ISSUED]
        self._own_lds[:] = self.counters[:, Counter.LGKM_DONE]
        self._own_loads[:] = self.counters[:, Counter.VM_DONE]
        rows = slice(None) if len(live) == self.count else live
        self.clock[rows] = self.clock.max(axis=0)
        self.lds_clock[rows] = self.lds_clock.max(axis=0)

    def learn(self, wave: int, other: int, number: int) -> None:
        """Let a wave know what another one told it by an atomic access of global memory, whose number this is."""
        self.clock[wave] = np.maximum(self.clock[wave], self.clock[other])
        self.clock[wave, other] = max(int(self.clock[wave, other]), number - 1)
        self.lds_clock[wave] = np.maximum(self.lds_clock[wave], self.lds_clock[other])
        for agent, counter in ((other, Counter.LGKM_DONE), (self.count + other, Counter.VM_DONE)):
            self.lds_clock[wave, agent] = max(self.lds_clock[wave, agent], self.counters[other, counter])

    def lds_knowledge(self, wave: int) -> NDArray[np.uint64]:
        """Return a wave's row of ``lds_clock`` with its own complete accesses."""
        row: NDArray[np.uint64] = self.lds_clock[wave].copy()
        row[wave] = self.counters[wave, Counter.LGKM_DONE]
        row[self.count + wave] = self.counters[wave, Counter.VM_DONE]
        return row
