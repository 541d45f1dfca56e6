"""Memory that the race detector shares with generated code: structures of ``runtime/races.h``, stamps of LDS."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.races.clocks import GroupClocks
from rocmatrix.emulator.wave import Wave

SLOTS = 3
"""Stamps of a byte of global memory: the last write, two reads."""
Event = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64)
"""What C calls: wave, kind of event, addresses, mask of lanes."""


class RaceShadow(ctypes.Structure):
    """``struct race_shadow``: stamps of one allocation."""

    _fields_ = (("dwords", ctypes.c_void_p), ("bytes", ctypes.c_void_p))


class RaceRecord(ctypes.Structure):
    """``struct race_record``: one conflict that C found."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            "space", "lane", "address", "place", "writes", "wave",
            "earlier_place", "earlier_writes", "earlier_wave", "collision",
        )
    )  # fmt: skip


class RaceLaunch(ctypes.Structure):
    """``struct race_launch``: what all waves of a launch share."""

    _fields_ = (
        ("shadows", ctypes.c_void_p),
        ("records", ctypes.c_void_p),
        ("record_count", ctypes.c_uint64),
        ("released", ctypes.c_uint64),
        ("event", Event),
    )


class RaceGroup(ctypes.Structure):
    """``struct race_group``: what the waves of a workgroup share."""

    _fields_ = (
        ("first", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("atomics", ctypes.c_uint64),
        ("clock", ctypes.c_void_p),
        ("lds_clock", ctypes.c_void_p),
        ("lds_dwords", ctypes.c_uint64),
        ("lds_whole", ctypes.c_void_p),
        ("lds_bytes", ctypes.c_void_p),
        ("lds_sync", ctypes.c_void_p),
    )


class Races(ctypes.Structure):
    """``struct races``: what generated code needs of one wave."""

    _fields_ = (
        ("launch", ctypes.c_void_p),
        ("group", ctypes.c_void_p),
        ("number", ctypes.c_uint64),
        ("counters", ctypes.c_void_p),
        ("acquired", ctypes.c_void_p),
        ("issue", ctypes.c_uint64),
        ("place", ctypes.c_uint64),
        ("stamp", ctypes.c_uint64),
        ("lds_stamp", ctypes.c_uint64),
    )


class LdsStamps:
    """Stamps of the LDS of one workgroup.

    Attributes:
        whole: of dwords: the last write, each wave's last read, each wave's last atomic.
        octets: the same of bytes; written when a dword is split, before they are read.
    """

    def __init__(self, planes: int, dwords: int) -> None:
        """Take memory for them."""
        self.whole: NDArray[np.uint64] = np.zeros((planes, dwords), np.uint64)
        self.octets: NDArray[np.uint64] = np.zeros((planes, 4 * dwords), np.uint64)


class NativeGroup:
    """One workgroup: its clocks, and the same as C sees them."""

    def __init__(self, waves: Sequence[Wave], spare: list[LdsStamps]) -> None:
        """Start with waves that have done nothing.

        Args:
            waves: of the workgroup.
            spare: stamps of workgroups that have ended; new pages cost more than old ones that are cleared.
        """
        self.clocks = clocks = GroupClocks(waves[0].number, len(waves), waves[0].lds.size)
        dwords = -(-waves[0].lds.size // 4)
        self.stamps = spare.pop() if spare else LdsStamps(1 + 2 * len(waves), dwords)
        self.stamps.whole.fill(0)
        self.structure = RaceGroup(
            first=clocks.first,
            count=clocks.count,
            clock=clocks.clock.ctypes.data,
            lds_clock=clocks.lds_clock.ctypes.data,
            lds_dwords=dwords,
            lds_whole=self.stamps.whole.ctypes.data,
            lds_bytes=self.stamps.octets.ctypes.data,
            lds_sync=clocks.lds_sync.ctypes.data,
        )
