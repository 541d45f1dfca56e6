"""The race detector of the reference interpreter: one stamp for each byte, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.memory import Allocation, Memory
from rocmatrix.emulator.races import global_bytes, lds_bytes, stamps
from rocmatrix.emulator.races.clocks import Counter, GroupClocks
from rocmatrix.emulator.races.conflicts import Conflict, Conflicts, Names, Party
from rocmatrix.emulator.races.issue import Cache, Issue, Scope, issue_of
from rocmatrix.emulator.races.scopes import Scopes
from rocmatrix.emulator.reports import Fault
from rocmatrix.emulator.semantics.machine import Space
from rocmatrix.emulator.wait_counts import wait_of
from rocmatrix.emulator.wave import Wave

_NO_ISSUE = Issue()


class ReferenceTracker:
    """Follows one launch."""

    def __init__(self, names: Names, code: int, total: int) -> None:
        """Start before the first workgroup.

        Args:
            names: for reports, and the memory.
            code: address from which places in the code are counted.
            total: waves of the launch.
        """
        self.names = names
        self.code = code
        self.scopes = Scopes(total)
        self.conflicts = Conflicts()
        self._bytes: dict[int, global_bytes.GlobalBytes] = {}
        self._groups: dict[tuple[int, int, int], GroupClocks] = {}
        self._started = 0

    @property
    def memory(self) -> Memory:
        """The address space."""
        return self.names.memory

    def start(self, waves: Sequence[Wave]) -> None:
        """See a workgroup that begins."""
        group = GroupClocks(waves[0].number, len(waves), waves[0].lds.size)
        lds = lds_bytes.LdsBytes(len(waves), waves[0].lds.size)
        self._groups[waves[0].identity.workgroup] = group
        for wave in waves:
            wave.races = ReferenceWave(self, group, lds, wave)

    def barrier(self, waves: Sequence[Wave]) -> None:
        """See that the live waves of a workgroup met."""
        group = self._groups[waves[0].identity.workgroup]
        live = [wave.identity.wave for wave in waves]
        group.barrier(live)
        self.scopes.barrier(group, live)

    def end(self, waves: Sequence[Wave]) -> None:
        """See that a workgroup has ended."""
        self.scopes.forget(self._groups.pop(waves[0].identity.workgroup))

    def findings(self) -> tuple[Fault, ...]:
        """Return what was found so far."""
        return self.conflicts.faults(self.names)

    def bytes_of(self, allocation: Allocation) -> global_bytes.GlobalBytes:
        """Return the stamps of an allocation."""
        found = self._bytes.get(allocation.address)
        if found is None:
            found = self._bytes[allocation.address] = global_bytes.GlobalBytes(len(allocation.data))
        return found


@dataclass(kw_only=True)
class Current:
    """The instruction that a wave is executing.

    Attributes:
        issue: what it is.
        stamp: of its accesses of global memory.
        lds_stamp: of its accesses of LDS.
        place: in the code.
        changed: memory that it has changed atomically.
    """

    issue: Issue = _NO_ISSUE
    stamp: int = 0
    lds_stamp: int = 0
    place: int = 0
    changed: set[Space] = field(default_factory=set)


class ReferenceWave:
    """Follows one wave."""

    def __init__(self, tracker: ReferenceTracker, group: GroupClocks, lds: lds_bytes.LdsBytes, wave: Wave) -> None:
        """Start before its first instruction."""
        self.tracker = tracker
        self.group = group
        self.lds = lds
        self.number = wave.identity.wave
        self.wave = wave
        self.current = Current()
        self.counters = group.counters[self.number]

    @property
    def identity(self) -> int:
        """Number of the wave in the launch."""
        return self.group.first + self.number

    def begin(self, instruction: Instruction) -> None:
        """See an instruction that is about to be executed: count it, or see what it waited for."""
        wait = wait_of(instruction)
        if wait is not None:
            self._wait(Counter.VM_ISSUED, wait.vm)
            self._wait(Counter.LGKM_ISSUED, wait.lgkm)
            return
        issue = issue_of(instruction)
        if issue is None:
            return
        counters = self.counters
        counters[Counter.VM_ISSUED] += issue.vm
        counters[Counter.LGKM_ISSUED] += issue.lgkm
        place = (instruction.address - self.tracker.code) // 4
        number = int(counters[Counter.VM_ISSUED if issue.vm else Counter.VM_DONE])
        count = self.group.count
        self.current = Current(
            issue=issue,
            place=place,
            stamp=stamps.global_stamp(number=number, wave=self.identity, place=place, scope=issue.scope),
            lds_stamp=stamps.lds_stamp(
                number=number if issue.to_lds else int(counters[Counter.LGKM_ISSUED]),
                agent=self.number + (count if issue.to_lds else 0),
                place=place,
            ),
        )
        if issue.cache is Cache.WRITE_BACK:
            self.tracker.scopes.write_back(self.group, self.number)
        elif issue.cache is Cache.INVALIDATE:
            self.tracker.scopes.acquire(self.group, self.number)

    def _wait(self, issued: Counter, most: int) -> None:
        """Know that all but the last accesses are complete; the column behind ``issued`` says so."""
        done = max(int(self.counters[issued + 1]), int(self.counters[issued]) - most)
        self.counters[issued + 1] = done

    def access(
        self,
        space: Space,
        addresses: NDArray[np.integer],
        size: int,
        lanes: NDArray[np.bool_],
        *,
        reads: bool,
        values: NDArray[np.uint8] | None = None,
    ) -> None:
        """See an access before it happens."""
        if space is Space.SCRATCH or not lanes.any() or (values is not None and self.current.issue.atomic):
            return  # private; nothing; what an atomic writes was seen when it read
        if self.current.issue.atomic:
            if space in self.current.changed:
                return  # later turns of an atomic are those of lanes that share an address with one of the first
            self.current.changed.add(space)
        if space is Space.LDS:
            lds_bytes.access(self, addresses.astype(np.int64), size, lanes, values=values)
        else:
            self._global(addresses.astype(np.uint64), size, lanes, reads=reads, values=values)

    def _global(
        self,
        addresses: NDArray[np.uint64],
        size: int,
        lanes: NDArray[np.bool_],
        *,
        reads: bool,
        values: NDArray[np.uint8] | None,
    ) -> None:
        issue, scopes = self.current.issue, self.tracker.scopes
        writes = values is not None or issue.atomic
        listed = addresses[lanes].tolist() if issue.scope >= Scope.AGENT else []
        if listed and reads and scopes.places and (issue.returns or not issue.atomic):
            scopes.observe(self.group, self.number, listed)
        rest = lanes.copy()
        while rest.any():
            allocation = self.tracker.memory.find(int(addresses[rest.argmax()]))
            if allocation is None:
                return  # the access itself is refused
            start, end = np.uint64(allocation.address), np.uint64(allocation.end)
            inside = rest & (addresses >= start) & (addresses < end)
            if bool((addresses[inside] + np.uint64(size) > end).any()):
                return
            if allocation.writable:
                global_bytes.access(self, allocation, addresses, size, inside, reads=reads, values=values)
            rest &= ~inside
        if listed and writes and (self.counters[Counter.RELEASES] or scopes.places):
            scopes.publish(self.group, self.number, listed, replaces=not issue.atomic)

    def report(self, space: Space, lane: int, address: int, *, writes: bool, earlier: Party | None) -> None:
        """Report a conflict of the instruction."""
        later = Party(wave=self.identity, place=self.current.place, writes=writes)
        self.tracker.conflicts.add(Conflict(space=space, lane=lane, address=address, later=later, earlier=earlier))
