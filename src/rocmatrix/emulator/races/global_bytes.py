"""Stamps of global memory, and what an access does with them.

Of each byte the last write is known, and two reads of different workgroups, or of one if only one has read it. With
more readers than two workgroups a later write is held against these two: without a release and an acquire between them
it races with at least one.

Two waves that write the same value to a byte do not count as racing: whichever comes last, memory is the same. A read
beside a write counts whatever the value is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.memory import Allocation
from rocmatrix.emulator.races import stamps
from rocmatrix.emulator.races.conflicts import Party
from rocmatrix.emulator.races.issue import Scope
from rocmatrix.emulator.races.stamps import Stamps
from rocmatrix.emulator.semantics.machine import Space

if TYPE_CHECKING:
    from rocmatrix.emulator.races.reference import ReferenceWave

Bools = NDArray[np.bool_]


class GlobalBytes:
    """Stamps of one allocation.

    Attributes:
        slots: for each byte the last write, and two reads or earlier writes that the last one did not make superfluous.
    """

    def __init__(self, size: int) -> None:
        """Start with bytes that nobody has touched."""
        self.slots: Stamps = np.zeros((size, 3), np.uint64)


@dataclass(frozen=True, kw_only=True)
class _Judgement:
    """What one wave knows of stamps, an array of the same shape each.

    Attributes:
        stamps: the stamps.
        ordered: there is none, or the access is the wave's own or comes before what it does now.
        excused: both accesses are atomic, each within the other's scope.
        near: the access was made by the same workgroup.
    """

    stamps: Stamps
    ordered: Bools
    excused: Bools
    near: Bools


def _judge(wave: ReferenceWave, found: Stamps) -> _Judgement:
    group = wave.group
    others, numbers = stamps.waves(found), stamps.numbers(found)
    near = (others >= group.first) & (others < group.first + group.count)
    own = others == wave.identity
    ordered = (found == 0) | own
    clock = group.clock[wave.number][np.where(near, others - group.first, 0)]
    ordered |= near & (clock >= numbers)
    acquired = wave.tracker.scopes.view(group, wave.number).acquired
    if acquired is not None:
        ordered |= acquired[np.where(found == 0, 0, others)] >= numbers
    least = np.where(near, np.uint64(Scope.WORKGROUP), np.uint64(Scope.AGENT))
    mine = wave.current.issue.scope
    excused = (stamps.scopes(found) >= least) & (mine >= least)
    return _Judgement(stamps=found, ordered=ordered, excused=excused, near=near)


def access(
    wave: ReferenceWave,
    allocation: Allocation,
    addresses: NDArray[np.uint64],
    size: int,
    lanes: Bools,
    *,
    reads: bool,
    values: NDArray[np.uint8] | None,
) -> None:
    """Hold an access of global memory against what is known, and remember it.

    Args:
        wave: who accesses.
        allocation: where; all bytes lie in it.
        addresses: for each lane.
        size: bytes for each lane.
        lanes: which lanes access.
        reads: memory is read.
        values: what a store writes.
    """
    table = wave.tracker.bytes_of(allocation).slots
    numbers = np.flatnonzero(lanes)
    start = (addresses[numbers] - np.uint64(allocation.address)).astype(np.int64)
    places = start[:, None] + np.arange(size)
    issue, atomic = wave.current.issue, wave.current.issue.atomic
    if issue.scope >= Scope.WORKGROUP and reads and (issue.returns or not atomic):
        _learn(wave, table[places.ravel(), 0])
    judged = _judge(wave, table[places])
    bad, writes = ~judged.ordered & ~judged.excused, values is not None or atomic
    if not writes:
        bad[:, :, 1:] &= stamps.wrote(judged.stamps[:, :, 1:])
    if values is not None:
        bad[:, :, 0] &= (allocation.data[places] != values[numbers]) & first_writes(places)
        report_collision(wave, Space.GLOBAL, numbers, addresses, places, values[numbers])
    for row, byte, slot in np.argwhere(bad):
        lane = int(numbers[row])
        left = int(judged.stamps[row, byte, slot])
        wave.report(Space.GLOBAL, lane, int(addresses[lane]), writes=writes, earlier=_party(left))
    _remember(wave, table, places, judged, writes=writes)


def _party(stamp: int) -> Party:
    return Party(wave=stamps.wave_of(stamp), place=stamps.place_of(stamp), writes=bool(stamp & 1))


def _learn(wave: ReferenceWave, found: Stamps) -> None:
    """Learn what waves of the same workgroup had done when they wrote what is found."""
    group = wave.group
    for stamp in np.unique(found):
        other = stamps.wave_of(int(stamp)) - group.first
        near = stamp and 0 <= other < group.count and other != wave.number
        if near and (int(stamp) >> 1 & 3) >= Scope.WORKGROUP:
            group.learn(wave.number, other, int(stamp) >> 41)


def _remember(
    wave: ReferenceWave, table: Stamps, places: NDArray[np.int64], judged: _Judgement, *, writes: bool
) -> None:
    """Put the access in place of what it makes superfluous: what comes before it, or what was reported."""
    flat = places.ravel()
    stamp = np.uint64(wave.current.stamp)
    ordered = judged.ordered.reshape(-1, 3)
    if writes:
        excused = judged.excused.reshape(-1, 3)
        found = judged.stamps.reshape(-1, 3)
        kept = np.where(~ordered & excused, found, np.uint64(0))
        # an atomic hides neither another wave's from a later plain access, nor a plain write from a later atomic
        scope = wave.current.issue.scope
        hidden = (kept[:, 0] != 0) | ((found[:, 0] != 0) & (stamps.scopes(found[:, 0]) < min(scope, Scope.AGENT)))
        first = hidden & (kept[:, 1] == 0)
        kept[first, 1] = found[first, 0]
        kept[hidden & ~first, 2] = found[hidden & ~first, 0]
        table[flat, 1:] = kept[:, 1:]
        table[flat, 0] = stamp | np.uint64(1)
        return
    near = judged.near.reshape(-1, 3)[:, 1]
    first = ordered[:, 1] | (~ordered[:, 2] & near)
    table[flat[first], 1] = stamp
    table[flat[~first], 2] = stamp


def first_writes(places: NDArray[np.int64]) -> Bools:
    """Say of each byte of each lane whether no lane before writes it too: that one's value is what counts in a race."""
    first = np.zeros(places.size, np.bool_)
    first[np.unique(places, return_index=True)[1]] = True
    return first.reshape(places.shape)


def report_collision(  # noqa: PLR0917 - an access has so many parts
    wave: ReferenceWave,
    space: Space,
    numbers: NDArray[np.intp],
    addresses: NDArray[np.integer],
    places: NDArray[np.int64],
    values: NDArray[np.uint8],
) -> None:
    """Report the first lane of a store that writes another value than a lane before it to the same byte."""
    flat = places.ravel()
    _, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
    if len(first) == len(flat):
        return
    written = values.ravel()
    wrong = written != written[first[inverse.ravel()]]
    if wrong.any():
        lane = int(numbers[int(wrong.argmax()) // places.shape[1]])
        wave.report(space, lane, int(addresses[lane]), writes=True, earlier=None)
