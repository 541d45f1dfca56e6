"""Stamps: one number says which access touched a byte last. 0 says that none has.

Accesses of a wave are numbered in the order in which they were issued, one sequence for each of the two counters that
``s_waitcnt`` waits for. A wait makes a prefix of a sequence complete; what orders two accesses is that the first one
was complete when its wave told the other one so.

A stamp of global memory: number on vmcnt from bit 41, wave from bit 21, place from bit 3, scope from bit 1, in bit 0
whether it was a write. A stamp of LDS: number from bit 32, place from bit 8, agent from bit 1. ``runtime/races.h`` has
the same layout.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Stamps = NDArray[np.uint64]

SEQUENCE_BITS, WAVE_BITS, PLACE_BITS = 23, 20, 18
LDS_PLACE_BITS = 24
MOST_WAVES = 1 << WAVE_BITS
"""Waves of a launch that stamps can tell apart."""
_LAST_NUMBER = (1 << SEQUENCE_BITS) - 1
_LAST_PLACE = (1 << PLACE_BITS) - 1
_LAST_LDS_NUMBER = (1 << 32) - 1


def global_stamp(*, number: int, wave: int, place: int, scope: int) -> int:
    """Return a stamp of global memory; numbers and places too large for it stay at the largest."""
    return min(number, _LAST_NUMBER) << 41 | wave << 21 | min(place, _LAST_PLACE) << 3 | scope << 1


def lds_stamp(*, number: int, agent: int, place: int) -> int:
    """Return a stamp of LDS."""
    place = min(place, (1 << LDS_PLACE_BITS) - 1)
    return min(number, _LAST_LDS_NUMBER) << 32 | place << 8 | agent << 1


def numbers(stamps: Stamps) -> Stamps:
    """Return the numbers of global stamps."""
    return stamps >> np.uint64(41)


def waves(stamps: Stamps) -> NDArray[np.int64]:
    """Return the waves of global stamps."""
    return (stamps >> np.uint64(21) & np.uint64(MOST_WAVES - 1)).astype(np.int64)


def scopes(stamps: Stamps) -> Stamps:
    """Return the scopes of global stamps."""
    return stamps >> np.uint64(1) & np.uint64(3)


def wrote(stamps: Stamps) -> NDArray[np.bool_]:
    """Say of global stamps whether the access was a write."""
    return (stamps & np.uint64(1)).astype(np.bool_)


def wave_of(stamp: int) -> int:
    """Return the wave of one global stamp."""
    return stamp >> 21 & (MOST_WAVES - 1)


def place_of(stamp: int) -> int:
    """Return the place of one global stamp: dwords from the beginning of the code."""
    return stamp >> 3 & _LAST_PLACE


def lds_agents(stamps: Stamps) -> NDArray[np.int64]:
    """Return the agents of LDS stamps."""
    return (stamps >> np.uint64(1) & np.uint64(0x7F)).astype(np.int64)


def lds_numbers(stamps: Stamps) -> Stamps:
    """Return the numbers of LDS stamps."""
    return stamps >> np.uint64(32)


def lds_agent_of(stamp: int) -> int:
    """Return the agent of one LDS stamp."""
    return stamp >> 1 & 0x7F


def lds_place_of(stamp: int) -> int:
    """Return the place of one LDS stamp: dwords from the beginning of the code."""
    return stamp >> 8 & ((1 << LDS_PLACE_BITS) - 1)
