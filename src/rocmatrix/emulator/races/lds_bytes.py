"""Stamps of LDS, and what an access does with them: each byte's last write, each wave's last read and atomic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.races import stamps
from rocmatrix.emulator.races.clocks import Counter
from rocmatrix.emulator.races.conflicts import Party
from rocmatrix.emulator.races.global_bytes import first_writes, report_collision
from rocmatrix.emulator.races.stamps import Stamps
from rocmatrix.emulator.semantics.machine import Space

if TYPE_CHECKING:
    from rocmatrix.emulator.races.reference import ReferenceWave

Bools = NDArray[np.bool_]
_DWORD = 4


class LdsBytes:
    """Stamps of the LDS of one workgroup.

    Attributes:
        writes: the last plain write of each byte.
        others: for each wave, the last read of each byte, then for each wave the last atomic.
    """

    def __init__(self, waves: int, size: int) -> None:
        """Start with bytes that nobody has touched."""
        self.writes: Stamps = np.zeros(size, np.uint64)
        self.others: Stamps = np.zeros((2 * waves, size), np.uint64)


def access(
    wave: ReferenceWave,
    addresses: NDArray[np.int64],
    size: int,
    lanes: Bools,
    *,
    values: NDArray[np.uint8] | None,
) -> None:
    """Hold an access of LDS against what is known, and remember it.

    Args:
        wave: who accesses.
        addresses: for each lane.
        size: bytes for each lane.
        lanes: which lanes access.
        values: what a store writes.
    """
    group, table = wave.group, wave.lds
    numbers = np.flatnonzero(lanes)
    start = addresses[numbers]
    if (start < 0).any() or (start + size > len(table.writes)).any():
        return  # the access itself is refused
    places = start[:, None] + np.arange(size)
    atomic = wave.current.issue.atomic
    if atomic:
        _synchronise(wave, np.unique(start // _DWORD))
    writes = values is not None or atomic
    bad = _conflicting(wave, places, writes=writes)
    if values is not None:
        bad[:, :, 0] &= (wave.wave.lds.data[0][places] != values[numbers]) & first_writes(places)
        report_collision(wave, Space.LDS, numbers, addresses, places, values[numbers])
    for row, byte, slot in np.argwhere(bad):
        lane, earlier = int(numbers[row]), _party(wave, int(places[row, byte]), int(slot))
        wave.report(Space.LDS, lane, int(addresses[lane]), writes=writes, earlier=earlier)
    mine = wave.number + (group.count if atomic else 0)
    changed: Stamps = table.writes if writes and not atomic else table.others[mine]
    changed[places] = np.uint64(wave.current.lds_stamp)


def _party(wave: ReferenceWave, place: int, slot: int) -> Party:
    """Return who has left a stamp: slot 0 is the plain write, then ``LdsBytes.others``."""
    group, table = wave.group, wave.lds
    stamp = int(table.others[slot - 1, place] if slot else table.writes[place])
    agent = stamps.lds_agent_of(stamp) % group.count
    wrote = slot == 0 or slot > group.count
    return Party(wave=group.first + agent, place=stamps.lds_place_of(stamp), writes=wrote)


def _conflicting(wave: ReferenceWave, places: NDArray[np.int64], *, writes: bool) -> Bools:
    """Say of each byte which stamps conflict with an access: last axis the plain write, then ``LdsBytes.others``.

    Reads do not race with reads, nor atomics with atomics.
    """
    count, limits = wave.group.count, _limits(wave)
    written, others = wave.lds.writes[places], wave.lds.others[:, places]
    bad = np.zeros((*places.shape, 1 + 2 * count), np.bool_)
    bad[:, :, 0] = stamps.lds_numbers(written) > limits[stamps.lds_agents(written)]
    late = stamps.lds_numbers(others) > np.tile(limits[:count], 2)[:, None, None]
    bad[:, :, 1:] = np.moveaxis(late, 0, -1)
    if not writes:
        bad[:, :, 1 : 1 + count] = False
    if wave.current.issue.atomic:
        bad[:, :, 1 + count :] = False
    return bad


def _limits(wave: ReferenceWave) -> NDArray[np.uint64]:
    """Return for each agent up to which number its accesses come before what the wave does now."""
    group, number = wave.group, wave.number
    limits: NDArray[np.uint64] = group.lds_clock[number].copy()
    everything = np.iinfo(np.uint64).max
    loads = wave.current.issue.to_lds
    limits[number] = group.counters[number, Counter.LGKM_DONE] if loads else everything
    limits[group.count + number] = everything if loads else group.counters[number, Counter.VM_DONE]
    return limits


def _synchronise(wave: ReferenceWave, dwords: NDArray[np.int64]) -> None:
    """Learn, where the atomic returns what it found, what others knew who changed it; tell what the wave knows."""
    group, number = wave.group, wave.number
    if wave.current.issue.returns:
        group.lds_clock[number] = np.maximum(group.lds_clock[number], group.lds_sync[dwords].max(axis=0))
    group.lds_sync[dwords] = np.maximum(group.lds_sync[dwords], group.lds_knowledge(number))
