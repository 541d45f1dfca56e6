"""The state of a wave as generated code sees it (``runtime/wave.h``), shared with the reference's NumPy arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.numerics import Approximation
from rocmatrix.emulator.shadow.wave import TrackedWave
from rocmatrix.emulator.translator.race_tracker import NativeRaces
from rocmatrix.emulator.wave import Wave

_LANES, _REGISTERS, _SCALARS = 64, 256, 128
_CACHE_LINE = 64


class Stop(IntEnum):
    """Why generated code stopped (``runtime/wave.h``)."""

    UNKNOWN = 2
    """At code that is not translated."""
    LIMIT = 3
    AT_BARRIER = 4
    ENDED = 5
    SLEEPS = 6
    FAULT = 7
    UNMET = 8
    """A requirement of the model does not hold."""
    UNWRITTEN = 9
    """In front of what reads undefined bits."""
    APPROXIMATES = 10
    """In front of a block with approximations, which are not the nearest ones."""
    CROWDED = 11
    """In front of a block for whose results there may be no room."""


class Space(IntEnum):
    """Memory of a fault."""

    GLOBAL = 0
    LDS = 1
    SCRATCH = 2


class Access(IntEnum):
    """What a fault was doing."""

    READS = 0
    WRITES = 1
    MISALIGNED = 2


class _Allocation(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("writable", ctypes.c_uint64),
        ("undefined", ctypes.c_void_p),
    )


class State(ctypes.Structure):
    """``struct wave``."""

    _fields_ = (
        ("v", ctypes.c_uint32 * _LANES * _REGISTERS),
        ("a", ctypes.c_uint32 * _LANES * _REGISTERS),
        ("s", ctypes.c_uint32 * _SCALARS),
        ("scc", ctypes.c_uint64),
        ("pc", ctypes.c_uint64),
        ("executed", ctypes.c_uint64),
        ("last", ctypes.c_uint64),
        ("base", ctypes.c_uint64),
        ("code_size", ctypes.c_uint64),
        ("blocks", ctypes.c_void_p),
        ("lds", ctypes.c_void_p),
        ("lds_size", ctypes.c_uint64),
        ("scratch", ctypes.c_void_p),
        ("scratch_size", ctypes.c_uint64),
        ("allocations", ctypes.c_void_p),
        ("allocation_count", ctypes.c_uint64),
        ("recent", ctypes.c_void_p),
        ("fault_space", ctypes.c_uint64),
        ("fault_access", ctypes.c_uint64),
        ("fault_lane", ctypes.c_uint64),
        ("fault_address", ctypes.c_uint64),
        ("fault_size", ctypes.c_uint64),
        ("fault_place", ctypes.c_uint64),
        ("message", ctypes.c_char_p),
        ("changes", ctypes.c_uint64),
        ("races", ctypes.c_void_p),
        ("shadow", ctypes.c_void_p),
        ("late", ctypes.c_void_p),
        ("at_an_end", ctypes.c_uint64),
    )


class _Entry(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint32), ("last", ctypes.c_uint32), ("run", ctypes.c_void_p))


class _Refusal(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("reason", ctypes.c_char_p))


class AllocationTable:
    """Allocations of device memory as generated code searches them."""

    def __init__(self, memory: Memory) -> None:
        """Take what is allocated now."""
        self._held = memory.allocations
        self._table = (_Allocation * max(1, len(self._held)))()
        for entry, allocation in zip(self._table, self._held, strict=False):
            entry.address = allocation.address
            entry.size = len(allocation.data)
            entry.data = allocation.data.ctypes.data
            entry.writable = allocation.writable
        self.refresh()

    def refresh(self) -> None:
        """Take over where undefined bits of allocations are kept now."""
        for entry, allocation in zip(self._table, self._held, strict=False):
            entry.undefined = None if allocation.undefined is None else allocation.undefined.ctypes.data

    @property
    def address(self) -> int:
        """Where the table lies in this process."""
        return ctypes.addressof(self._table)

    @property
    def count(self) -> int:
        """Number of allocations."""
        return len(self._held)


class NativeWave:
    """One wave's state in the layout of generated code; the wave's own arrays become views of it."""

    def __init__(self, wave: Wave, table: AllocationTable) -> None:
        """Move a wave's registers here."""
        self._wave = wave
        self._table = table
        self._memory = np.zeros(ctypes.sizeof(State) + _CACHE_LINE, dtype=np.uint8)
        start = -self._memory.ctypes.data % _CACHE_LINE
        self.state = State.from_buffer(self._memory.data, start)
        for name, old in (("v", wave.vgprs), ("a", wave.agprs), ("s", wave.sgprs)):
            view: NDArray[np.uint32] = np.ctypeslib.as_array(getattr(self.state, name))
            view[:] = old
        wave.vgprs, wave.agprs = (np.ctypeslib.as_array(part) for part in (self.state.v, self.state.a))
        wave.sgprs = np.ctypeslib.as_array(self.state.s)
        self.state.allocations, self.state.allocation_count = table.address, table.count
        self.state.lds, self.state.lds_size = wave.lds.data.ctypes.data, wave.lds.size
        self.state.scratch, self.state.scratch_size = wave.scratch.data.ctypes.data, wave.scratch.size
        if isinstance(wave, TrackedWave):
            self.state.shadow = wave.shadow.memory.ctypes.data
        if wave.late is not None:
            self.state.late = wave.late.memory.ctypes.data
        self.state.at_an_end = wave.numerics.approximation is not Approximation.NEAREST
        self.address = ctypes.addressof(self.state)

    def follow(self, races: NativeRaces, library: ctypes.CDLL) -> None:
        """Let the race detector follow the wave."""
        self.state.races = races.address
        races.native = self.address, library

    def use(self, base: int, code_size: int, blocks: int) -> None:
        """Run in this code: its address, its size in bytes, and where the table of its blocks lies."""
        self.state.base, self.state.code_size, self.state.blocks = base, code_size, blocks

    def enter(self) -> None:
        """Take over what the reference keeps outside of arrays."""
        self.state.pc, self.state.executed, self.state.scc = self._wave.pc, self._wave.executed, int(self._wave.scc)
        self.state.changes = self._wave.changes

    def leave(self) -> None:
        """Give it back; the reference learns of a changed EXEC too."""
        wave = self._wave
        wave.pc, wave.executed, wave.scc = self.state.pc, self.state.executed, bool(self.state.scc)
        wave.changes = self.state.changes

    def refresh(self) -> None:
        """Tell the reference of the active lanes, before it executes an instruction."""
        octets = self._wave.sgprs[126:128].view(np.uint8)
        self._wave.set_exec(np.unpackbits(octets, bitorder="little").view(np.bool_))


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A library that is loaded.

    Attributes:
        library: keeps it loaded.
        blocks: offset -> address of the function, and offset of the block's last instruction.
        refusals: offset -> why generated code does not execute the instruction.
    """

    library: ctypes.CDLL
    blocks: dict[int, tuple[int, int]]
    refusals: dict[int, str]


def load(path: Path) -> Loaded:
    """Load a compiled translation and read its tables."""
    library = ctypes.CDLL(str(path))
    library.run_wave.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
    blocks = {}
    entry = ctypes.pointer(_Entry.in_dll(library, "entries"))
    number = 0
    while entry[number].run:
        blocks[entry[number].offset] = (entry[number].run, entry[number].last)
        number += 1
    refusals = {}
    refusal = ctypes.pointer(_Refusal.in_dll(library, "refusals"))
    number = 0
    while refusal[number].reason:
        refusals[refusal[number].offset] = refusal[number].reason.decode()
        number += 1
    return Loaded(library=library, blocks=blocks, refusals=refusals)
