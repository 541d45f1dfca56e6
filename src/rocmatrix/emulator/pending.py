"""What loads of a wave found and what has not arrived yet, in a layout that generated code shares (``late.h``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.algebra import U32, Value, convert
from rocmatrix.emulator.delivery import CAPACITY, LAYOUT, Place, Unit, awaited, counted, unit_of
from rocmatrix.emulator.instruction import Instruction, Operand, RegisterFile
from rocmatrix.emulator.lanes import Lanes
from rocmatrix.emulator.registers import array_of
from rocmatrix.emulator.wait_counts import Wait

if TYPE_CHECKING:
    from rocmatrix.emulator.wave import Wave

_WORD = 32
_PLACES = {RegisterFile.VGPR: Place.VGPR, RegisterFile.AGPR: Place.AGPR, RegisterFile.SGPR: Place.SGPR}
_FILES = {place: file for file, place in _PLACES.items()}
_IN_ORDER = (Unit.MEMORY, Unit.LDS)
_BOTH_WAITED = 3


class Pending:
    """What is under way in one wave.

    Attributes:
        memory: all of it, in the layout of ``LAYOUT``.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.memory = np.zeros((), dtype=LAYOUT)
        self.memory["order"] = np.arange(CAPACITY)
        self._entries = self.memory["entries"]
        self._followed: dict[int, tuple[Value, ...]] = {}

    @property
    def _count(self) -> int:
        return int(self.memory["count"])

    def to_registers(self, wave: Wave, destination: Operand, values: Sequence[Value], bits: int) -> None:
        """Keep what an instruction found for some bits of consecutive registers."""
        parts = [part for value in values for part in _registers(value)]
        place = _PLACES[destination.file]
        number = self._add(wave, place, parts)
        entry = self._entries[number]
        entry["first"], entry["count"], entry["bits"] = destination.index, len(parts), bits
        if place is Place.SGPR:
            entry["words"].reshape(-1)[: len(parts)] = [int(array_of(part)[0]) for part in parts]
            return
        for row, part in zip(entry["words"], parts, strict=False):
            row[:] = array_of(part)

    def to_lds(self, wave: Wave, addresses: NDArray[np.integer], value: Value) -> None:
        """Keep a dword of each active lane for LDS."""
        entry = self._entries[self._add(wave, Place.LDS, [value])]
        entry["words"][0], entry["addresses"] = array_of(value), addresses

    def _add(self, wave: Wave, place: Place, values: Sequence[Value]) -> int:
        """Take a free entry, and return its number."""
        unit = None if wave.instruction is None else unit_of(wave.instruction)
        if unit is None:
            raise AssertionError("only instructions that are counted have results to deliver")
        if self._count == CAPACITY:
            self._arrive(wave, 0)
        number = int(self.memory["order"][self._count])
        self.memory["count"] += 1
        entry = self._entries[number]
        entry["number"] = self.memory["issued"][unit] if unit in _IN_ORDER else 0
        entry["unit"], entry["waited"], entry["place"] = unit, 0, place
        entry["lanes"] = np.packbits(wave.active, bitorder="little").view(np.uint64)[0]
        entry["undefined"] = followed = any(map(wave.follows, values))
        if followed:
            self._followed[number] = tuple(values)
        return number

    def after(self, wave: Wave, instruction: Instruction) -> None:
        """See an instruction that was executed: count it, or let arrive what it waited for."""
        wait = awaited(instruction)
        if wait is not None:
            self._wait(wave, wait)
            return
        unit = counted(instruction)
        if unit is not None:
            self.memory["issued"][unit] += 1

    def _wait(self, wave: Wave, wait: Wait) -> None:
        place = 0
        while place < self._count:
            if self._is_due(int(self.memory["order"][place]), wait):
                self._arrive(wave, place)
            else:
                place += 1

    def _is_due(self, number: int, wait: Wait) -> bool:
        """Say whether a result must be there behind a wait."""
        entry = self._entries[number]
        unit = Unit(int(entry["unit"]))
        if unit is Unit.SCALAR:
            return wait.lgkm == 0
        if unit is Unit.FLAT:
            entry["waited"] |= np.uint64((wait.vm == 0) | (wait.lgkm == 0) << 1)
            return int(entry["waited"]) == _BOTH_WAITED
        # of the accesses in this order at most so many may be under way, and those behind it are the last to arrive
        issued = int(self.memory["issued"][unit]) - int(entry["number"])
        return issued > (wait.vm if unit is Unit.MEMORY else wait.lgkm)

    def _arrive(self, wave: Wave, place: int) -> None:
        """Deliver a result, by its place among those that are under way, and free its entry."""
        number = self._drop(place)
        entry = self._entries[number]
        where, values = Place(int(entry["place"])), self._followed.pop(number, None)
        lanes = np.unpackbits(entry["lanes"].reshape(1).view(np.uint8), bitorder="little").view(np.bool_)
        if where is Place.LDS:
            value = values[0] if values else Lanes(U32, entry["words"][0])
            wave.receive_in_lds(entry["addresses"].astype(np.uint64), value, lanes)
            return
        words = entry["words"].reshape(-1, 1) if where is Place.SGPR else entry["words"]
        for offset in range(int(entry["count"])):
            value = values[offset] if values else Lanes(U32, words[offset].copy())
            register = Operand(file=_FILES[where], index=int(entry["first"]) + offset)
            if where is Place.SGPR:
                wave.write(register, value)
            else:
                wave.receive(register, value, int(entry["bits"]), lanes)

    def end(self, wave: Wave) -> None:
        """Let loads to LDS arrive at the end of a wave, where other waves may find them; its registers are gone."""
        for place in reversed(range(self._count)):
            if self._entries[int(self.memory["order"][place])]["place"] != Place.LDS:
                self._drop(place)
        while self._count:
            self._arrive(wave, 0)

    def _drop(self, place: int) -> int:
        """Free an entry, by its place among those that are under way, and return its number."""
        order = self.memory["order"]
        number = int(order[place])
        order[place : self._count] = np.roll(order[place : self._count], -1)
        self.memory["count"] -= 1
        return number

    def snapshot(self) -> bytes:
        """Return what decides what will arrive when, whatever was counted before."""
        numbers = self.memory["order"][: self._count].astype(np.int64)
        entries = self._entries[numbers].copy()
        for unit in _IN_ORDER:
            chosen = entries["unit"] == unit
            entries["number"][chosen] = self.memory["issued"][unit] - entries["number"][chosen]
        return entries.tobytes()


def _registers(value: Value) -> tuple[Value, ...]:
    """Return a value of 32 or 64 bits as one for each register."""
    if value.kind.bits == _WORD:
        return (value,)
    return convert(value, U32), convert(value >> _WORD, U32)
