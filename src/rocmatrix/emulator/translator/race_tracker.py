"""The race detector of generated code: what C asks of Python, what the reference does for it, records as conflicts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.races.clocks import GroupClocks
from rocmatrix.emulator.races.conflicts import MOST, Conflict, Conflicts, Names, Party
from rocmatrix.emulator.races.issue import Issue, issue_of
from rocmatrix.emulator.races.scopes import Scopes
from rocmatrix.emulator.reports import Fault
from rocmatrix.emulator.semantics.machine import WAVE, Space
from rocmatrix.emulator.translator.race_memory import (
    SLOTS,
    Event,
    LdsStamps,
    NativeGroup,
    RaceLaunch,
    RaceRecord,
    Races,
    RaceShadow,
)
from rocmatrix.emulator.wait_counts import wait_of
from rocmatrix.emulator.wave import Wave

_WRITE_BACK, _ACQUIRE, _OBSERVE, _PUBLISH = 1, 2, 3, 4
_READ, _WRITE, _ATOMIC = 0, 1, 2
_IN_LDS = 1


class NativeTracker:
    """Follows one launch that generated code executes."""

    def __init__(self, names: Names, code: int, total: int) -> None:
        """Start before the first workgroup; memory must not be allocated or freed until the last has ended.

        Args:
            names: for reports, and the memory.
            code: address from which places in the code are counted.
            total: waves of the launch.
        """
        self.code = code
        self._names = names
        self._scopes = Scopes(total)
        self._groups: dict[tuple[int, int, int], NativeGroup] = {}
        self._waves: dict[int, NativeRaces] = {}
        self._failure: BaseException | None = None
        self._records = (RaceRecord * MOST)()
        self._spare: list[LdsStamps] = []
        self._stamps: list[NDArray[np.uint64]] = []
        allocations = names.memory.allocations
        self._shadows = (RaceShadow * max(1, len(allocations)))()
        for shadow, allocation in zip(self._shadows, allocations, strict=False):
            if allocation.writable:
                size = len(allocation.data)
                # pages of zeros become real when they are touched
                dwords = np.zeros((size // 4 + 1) * SLOTS, np.uint64)
                octets = np.zeros((size + 4) * SLOTS, np.uint64)
                self._stamps += [dwords, octets]
                shadow.dwords, shadow.bytes = dwords.ctypes.data, octets.ctypes.data
        self._launch = RaceLaunch(
            shadows=ctypes.addressof(self._shadows),
            records=ctypes.addressof(self._records),
            event=Event(self._event),
        )

    def start(self, waves: Sequence[Wave]) -> None:
        """See a workgroup that begins."""
        group = self._groups[waves[0].identity.workgroup] = NativeGroup(waves, self._spare)
        for wave in waves:
            wave.races = self._waves[wave.number] = NativeRaces(self, group, wave)

    def structure(self, group: GroupClocks, group_structure: int, number: int) -> Races:
        """Return what generated code needs of a wave."""
        return Races(
            launch=ctypes.addressof(self._launch),
            group=group_structure,
            number=number,
            counters=group.counters.ctypes.data,
        )

    def barrier(self, waves: Sequence[Wave]) -> None:
        """See that the live waves of a workgroup met.

        Raises:
            BaseException: what went wrong in a call from C before.
        """
        self.check()
        group = self._groups[waves[0].identity.workgroup].clocks
        live = [wave.identity.wave for wave in waves]
        group.barrier(live)
        self._scopes.barrier(group, live)
        for wave in waves:
            self._show_acquired(self._waves[wave.number])

    def end(self, waves: Sequence[Wave]) -> None:
        """See that a workgroup has ended."""
        self.check()
        group = self._groups.pop(waves[0].identity.workgroup)
        self._spare.append(group.stamps)
        self._scopes.forget(group.clocks)
        for wave in waves:
            del self._waves[wave.number]

    def findings(self) -> tuple[Fault, ...]:
        """Return what was found so far."""
        conflicts = Conflicts()
        for record in self._records[: self._launch.record_count]:
            conflicts.add(_conflict(record))
        return conflicts.faults(self._names)

    def check(self) -> None:
        """Raise what went wrong in a call from C, which cannot pass it on."""
        if self._failure is not None:
            raise self._failure

    def _event(self, number: int, kind: int, addresses: Sequence[int], mask: int) -> None:
        """Do what C leaves to Python: it concerns other workgroups."""
        try:
            wave = self._waves[number]
            group, place = wave.group.clocks, wave.wave.identity.wave
            if kind == _WRITE_BACK:
                self._scopes.write_back(group, place)
                return
            if kind == _ACQUIRE:
                self._scopes.acquire(group, place)
                self._show_acquired(wave)
                return
            listed = [addresses[lane] for lane in range(WAVE) if mask >> lane & 1]
            if kind == _OBSERVE:
                self._scopes.observe(group, place, listed)
            else:
                atomic = Issue(atomic=True).bits
                self._scopes.publish(group, place, listed, replaces=not wave.structure.issue & atomic)
                self._launch.released = self._scopes.places
        except BaseException as err:  # noqa: BLE001 - raised again by check()
            self._failure = err

    def _show_acquired(self, wave: NativeRaces) -> None:
        acquired = self._scopes.acquired(wave.group.clocks, wave.wave.identity.wave)
        if acquired is wave.acquired:
            return
        wave.acquired = acquired
        wave.structure.acquired = None if acquired is None else acquired.ctypes.data


def _conflict(record: RaceRecord) -> Conflict:
    earlier = Party(wave=record.earlier_wave, place=record.earlier_place, writes=bool(record.earlier_writes))
    return Conflict(
        space=Space.LDS if record.space == _IN_LDS else Space.GLOBAL,
        lane=record.lane,
        address=record.address,
        later=Party(wave=record.wave, place=record.place, writes=bool(record.writes)),
        earlier=None if record.collision else earlier,
    )


class NativeRaces:
    """Follows one wave; generated code does it by itself, and this is for instructions that the reference executes.

    Attributes:
        wave: the wave.
        group: its workgroup.
        structure: what generated code sees.
        acquired: keeps the array alive that ``structure`` points to.
        native: address of the wave's state and the library, once there is one.
    """

    def __init__(self, tracker: NativeTracker, group: NativeGroup, wave: Wave) -> None:
        """Start before the wave's first instruction."""
        self._tracker = tracker
        self.group = group
        self.wave = wave
        number = wave.identity.wave
        self.structure = tracker.structure(group.clocks, ctypes.addressof(group.structure), number)
        self.acquired: NDArray[np.uint64] | None = None
        self.native: tuple[int, ctypes.CDLL] | None = None
        self._issue = Issue()
        self._changed: set[Space] = set()

    @property
    def address(self) -> int:
        """Where the structure lies in this process."""
        return ctypes.addressof(self.structure)

    def _call(self, name: str) -> Callable[..., None] | None:
        return None if self.native is None else getattr(self.native[1], f"run_race_{name}")

    def begin(self, instruction: Instruction) -> None:
        """See an instruction that is about to be executed by the reference."""
        wait, issue = wait_of(instruction), issue_of(instruction)
        address = self.native[0] if self.native else 0
        self._changed = set()
        if wait is not None and (call := self._call("wait")):
            call(ctypes.c_uint64(address), ctypes.c_uint64(wait.vm), ctypes.c_uint64(wait.lgkm))
        elif issue is not None and (call := self._call("begin")):
            self._issue = issue
            place = instruction.address - self._tracker.code
            call(ctypes.c_uint64(address), ctypes.c_uint64(place), ctypes.c_uint64(issue.bits))

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
        """See an access of an instruction that the reference executes."""
        call = self._call("access")
        atomic = self._issue.atomic
        if call is None or self.native is None or space is Space.SCRATCH or (atomic and space in self._changed):
            return
        self._changed.add(space)
        where = np.where(lanes, addresses, 0).astype(np.uint64)
        places = self._places(space, where, size, lanes)
        if places is None:
            return  # the access itself is refused
        words = np.zeros((4, WAVE), np.uint32)
        if values is not None:
            words.view(np.uint8).reshape(4, WAVE, 4)[:] = (
                np.pad(values, ((0, 0), (0, 16 - size))).reshape(WAVE, 4, 4).swapaxes(0, 1)
            )
        pointers = (ctypes.c_void_p * 4)(*(words.ctypes.data + number * WAVE * 4 for number in range(4)))
        mask = int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")
        mode = _ATOMIC if atomic else _READ if reads else _WRITE
        call(
            ctypes.c_uint64(self.native[0]),
            ctypes.c_uint64(space is Space.LDS),
            ctypes.c_void_p(where.ctypes.data),
            ctypes.c_void_p(places.ctypes.data),
            ctypes.c_uint64(mask),
            ctypes.c_uint64(size),
            ctypes.c_uint64(mode),
            pointers,
        )

    def _places(
        self, space: Space, addresses: NDArray[np.uint64], size: int, lanes: NDArray[np.bool_]
    ) -> NDArray[np.uint64] | None:
        """Return where the bytes of each lane lie in this process, or ``None`` if they do not exist."""
        if space is Space.LDS:
            inside = bool((addresses[lanes] + np.uint64(size) <= np.uint64(self.wave.lds.size)).all())
            return addresses + np.uint64(self.wave.lds.data.ctypes.data) if inside else None
        places = np.zeros(WAVE, np.uint64)
        for lane in np.flatnonzero(lanes).tolist():
            allocation = self.wave.memory.find(int(addresses[lane]))
            if allocation is None or int(addresses[lane]) + size > allocation.end:
                return None
            places[lane] = allocation.data.ctypes.data + int(addresses[lane]) - allocation.address
        return places
