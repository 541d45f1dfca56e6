"""What orders accesses of different workgroups: release and acquire at agent scope, by the gfx942 memory model of LLVM.

A workgroup's plain stores stay in the L2 cache of its XCD, and plain loads may come from a cache that is stale. A wave
hands data over by ``buffer_wbl2 sc1``, a wait until that is complete, and an atomic store or read-modify-write of agent
scope; another one takes it over by an atomic load or read-modify-write that finds that value, a wait for it, and
``buffer_inv sc1``. Which XCD a workgroup runs on is promised to nobody, so no two workgroups count as sharing an L2. A
kernel's end does all of this by itself: nothing here outlives a launch.

Knowledge is a mapping from waves to the number on vmcnt up to which their accesses are visible. Both executors use this
module; generated code calls it where a wave releases or acquires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.races.clocks import Counter, GroupClocks

Knowledge = Mapping[int, int]
_NOTHING: Knowledge = {}


def joined(*parts: Knowledge) -> Knowledge:
    """Return what several parts know together; the parts stay as they are."""
    filled = [part for part in parts if part]
    if len(filled) < 2:  # noqa: PLR2004 - nothing to join
        return filled[0] if filled else _NOTHING
    largest = max(filled, key=len)
    result = dict(largest)
    for part in filled:
        if part is not largest:
            for wave, number in part.items():
                result[wave] = max(result.get(wave, 0), number)
    return result


@dataclass(kw_only=True)
class View:
    """What one wave knows beyond its workgroup.

    Attributes:
        released: what it made visible to others, or knows to be visible.
        pending: what a write-back that is under way makes visible, and its number.
        observed: what it found in atomic accesses, with their numbers; it may rely on it after an invalidation.
        acquired: up to which number it sees each wave's accesses; ``None`` for nobody's.
    """

    released: Knowledge = field(default_factory=dict)
    pending: tuple[int, Knowledge] | None = None
    observed: list[tuple[int, Knowledge]] = field(default_factory=list)
    acquired: NDArray[np.uint64] | None = None


class Scopes:
    """Releases and acquisitions of one launch."""

    def __init__(self, total: int) -> None:
        """Start with nothing released.

        Args:
            total: waves of the launch.
        """
        self._total = total
        self._places: dict[int, Knowledge] = {}
        self._views: dict[int, View] = {}

    @property
    def places(self) -> int:
        """Number of addresses at which something was released."""
        return len(self._places)

    def view(self, group: GroupClocks, wave: int) -> View:
        """Return what a wave of a workgroup knows."""
        return self._views.setdefault(group.first + wave, View())

    def acquired(self, group: GroupClocks, wave: int) -> NDArray[np.uint64] | None:
        """Return up to which number a wave sees each wave's accesses; ``None`` if it has acquired nothing."""
        view = self._views.get(group.first + wave)
        return None if view is None else view.acquired

    def forget(self, group: GroupClocks) -> None:
        """Let go of what the waves of a workgroup that has ended knew."""
        for wave in range(group.count):
            self._views.pop(group.first + wave, None)

    def write_back(self, group: GroupClocks, wave: int) -> None:
        """See ``buffer_wbl2``: what the wave has issued, and knows of others, becomes visible when it is complete."""
        view = self.view(group, wave)
        self._settle(group, wave, view)
        own = {group.first + other: int(number) for other, number in enumerate(group.clock[wave]) if number}
        number = int(group.counters[wave, Counter.VM_ISSUED])
        own[group.first + wave] = number
        before = view.pending[1] if view.pending is not None else _NOTHING
        view.pending = number, joined(view.released, before, own)
        group.counters[wave, Counter.RELEASES] = 1

    @staticmethod
    def _settle(group: GroupClocks, wave: int, view: View) -> None:
        if view.pending is not None and group.counters[wave, Counter.VM_DONE] >= view.pending[0]:
            view.released, view.pending = joined(view.released, view.pending[1]), None

    def publish(self, group: GroupClocks, wave: int, addresses: Iterable[int], *, replaces: bool) -> None:
        """See an atomic write: who finds it learns what the wave has released.

        Args:
            group: the workgroup.
            wave: its wave.
            addresses: that are written.
            replaces: it is a store; a read-modify-write also passes on what others released there.
        """
        view = self.view(group, wave)
        self._settle(group, wave, view)
        for address in set(addresses):
            known = view.released if replaces else joined(self._places.get(address, _NOTHING), view.released)
            if known:
                self._places[address] = known
            else:
                self._places.pop(address, None)

    def observe(self, group: GroupClocks, wave: int, addresses: Iterable[int]) -> None:
        """See an atomic read."""
        number = int(group.counters[wave, Counter.VM_ISSUED])
        found = [self._places[address] for address in set(addresses) if address in self._places]
        if found:
            view = self.view(group, wave)
            view.observed = [one for one in view.observed if all(one[1] is not known for known in found)]
            view.observed += [(number, known) for known in found]

    def acquire(self, group: GroupClocks, wave: int) -> None:
        """See ``buffer_inv``: later loads see what the atomic reads that are complete have found."""
        view = self._views.get(group.first + wave)
        if view is None or not view.observed:
            return
        done = group.counters[wave, Counter.VM_DONE]
        known = joined(*(one for number, one in view.observed if number <= done))
        view.observed = [one for one in view.observed if one[0] > done]
        if known:
            view.released = joined(view.released, known)
            group.counters[wave, Counter.RELEASES] = 1
            self._see(group, wave, view, known)

    def _see(self, group: GroupClocks, wave: int, view: View, known: Knowledge) -> None:
        # a new array each time: waves that met at a barrier share one
        seen = np.zeros(self._total, np.uint64) if view.acquired is None else view.acquired.copy()
        others, numbers = np.array(list(known), np.int64), np.array(list(known.values()), np.uint64)
        seen[others] = np.maximum(seen[others], numbers)
        group.clock[wave] = np.maximum(group.clock[wave], seen[group.first : group.first + group.count])
        view.acquired = seen

    @staticmethod
    def _found(group: GroupClocks, views: Sequence[tuple[int, View]]) -> list[tuple[int, Knowledge]]:
        """Return what the waves of a workgroup have found in accesses that are complete, each once."""
        found = {
            id(known): (0, known)
            for wave, view in views
            for number, known in view.observed
            if number <= group.counters[wave, Counter.VM_DONE]
        }
        return list(found.values())

    def barrier(self, group: GroupClocks, live: Iterable[int]) -> None:
        """See that waves of a workgroup met: each knows what all know, and may rely on what any has found."""
        if not self._views:
            return  # as in most kernels: nothing was ever released or found
        views = [
            (wave, self._views[group.first + wave]) for wave in range(group.count) if group.first + wave in self._views
        ]
        for wave, view in views:
            self._settle(group, wave, view)
        released = joined(*(view.released for _, view in views))
        seen = [view.acquired for _, view in views if view.acquired is not None]
        found = self._found(group, views)
        if not released and not seen and not found:
            return
        together = np.maximum.reduce(seen) if seen else None
        for wave in live:
            view = self.view(group, wave)
            view.released = released
            view.acquired = together
            view.observed = [*found, *(one for one in view.observed if one[0] > group.counters[wave, Counter.VM_DONE])]
            group.counters[wave, Counter.RELEASES] = bool(released) or view.pending is not None
