"""A wave: its registers, its place in the program, and its access to memory. The reference ``Machine``."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.algebra import U32, Kind, Value
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Instruction, Operand
from rocmatrix.emulator.lanes import DTYPES, Lanes, constant
from rocmatrix.emulator.matrix_registers import execute_matrix
from rocmatrix.emulator.memory import LocalMemory, Memory
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS
from rocmatrix.emulator.observer import Observer
from rocmatrix.emulator.placement import Placement
from rocmatrix.emulator.registers import (
    APERTURE_SIZE,
    PRIVATE_APERTURE,
    SHARED_APERTURE,
    Bools,
    Registers,
    array_of,
)
from rocmatrix.emulator.reports import AccessError, FaultKind, UnsupportedError, WaveId
from rocmatrix.emulator.semantics.access import WHOLE, write_now
from rocmatrix.emulator.semantics.machine import WAVE, Combine, Space

if TYPE_CHECKING:
    from rocmatrix.emulator.pending import Pending
    from rocmatrix.emulator.races.tracker import WaveTracker

Addresses = NDArray[np.uint64]


class Status(Enum):
    """What a wave is doing."""

    READY = auto()
    AT_BARRIER = auto()
    ENDED = auto()


class Wave(Registers):
    """One wave of 64 lanes.

    Attributes:
        identity: workgroup and number.
        kernel: name of what it executes.
        pc: address of the next instruction.
        status: what it is doing.
        instruction: the instruction that is being executed.
        executed: instructions that it has executed.
        indexes_registers: whether ``s_set_gpr_idx_on`` is in force.
        lds: LDS of its workgroup.
        scratch: its scratch, a row for each lane.
        memory: the global address space.
        observer: who watches, or ``None``.
        numerics: how arithmetic is done where that is not documented to the last bit.
        number: number in the launch.
        races: the race detector's view of the wave, or ``None``.
        late: holds what loads found until a wait must have it; ``None`` where they arrive at once.
        changes: writes that changed memory.
        placement: where it runs, once a launch has decided that.
        invented: what it asked for that differs from run to run, so that the emulator has made it up; the waves of a
            launch share the set.
        asks_for_time: whether it has read a clock, so that its registers do not decide all that it does next.
    """

    def __init__(
        self,
        *,
        identity: WaveId,
        kernel: str,
        mode: Mode,
        pc: int,
        lds: LocalMemory,
        scratch: LocalMemory,
        memory: Memory,
        observer: Observer | None,
    ) -> None:
        """Start at an address with all registers zero; whoever dispatches sets those that the descriptor asks for."""
        super().__init__(mode)
        self.identity = identity
        self.kernel = kernel
        self.pc = pc
        self.status = Status.READY
        self.instruction: Instruction | None = None
        self.executed = 0
        self.indexes_registers = False
        self.lds = lds
        self.scratch = scratch
        self.memory = memory
        self.observer = observer
        self.numerics = DEFAULT_NUMERICS
        self.number = 0
        self.races: WaveTracker | None = None
        self.late: Pending | None = None
        self.changes = 0
        self.placement: Placement | None = None
        self.invented: set[str] = set()
        self.asks_for_time = False

    def require(self, condition: Value, what: str) -> None:
        """Refuse to go on where a condition does not hold in every active lane."""
        holds = array_of(condition)
        if not (holds | ~self.active).all():
            raise UnsupportedError(what, kernel=self.kernel, instruction=self.instruction)

    def _lanes(self, lanes: Value | None) -> Bools:
        return self.active if lanes is None else self.active & array_of(lanes)

    def _parts(self, space: Space, address: Value, lanes: Bools) -> list[tuple[Space, Addresses, Bools]]:
        """Return an access split by the memory that its lanes mean; FLAT addresses choose by their aperture."""
        addresses = np.broadcast_to(array_of(address), (WAVE,))
        if space is not Space.FLAT:
            return [(space, addresses, lanes)]
        parts = []
        rest = lanes
        for local, base in ((Space.LDS, SHARED_APERTURE), (Space.SCRATCH, PRIVATE_APERTURE)):
            inside = lanes & (addresses >= np.uint64(base)) & (addresses < np.uint64(base + APERTURE_SIZE))
            if inside.any():
                parts.append((local, addresses - np.uint64(base), inside))
                rest = rest & ~inside
        if rest.any() or not parts:
            parts.append((Space.GLOBAL, addresses, rest))
        return parts

    def _read_bytes(self, space: Space, addresses: Addresses, size: int, lanes: Bools) -> NDArray[np.uint8]:
        if self.observer is not None:
            self.observer.access(self, space, addresses, size, lanes, reads=True, writes=False)
        if self.races is not None:
            self.races.access(space, addresses, size, lanes, reads=True)
        if space is Space.GLOBAL:
            return self.memory.read(addresses, size, lanes)
        local = self.lds if space is Space.LDS else self.scratch
        return local.read(addresses.astype(np.int64), size, lanes)

    def _write_bytes(self, space: Space, addresses: Addresses, values: NDArray[np.uint8], lanes: Bools) -> None:
        if self.observer is not None:
            self.observer.access(self, space, addresses, values.shape[1], lanes, reads=False, writes=True)
        if self.races is not None:
            self.races.access(space, addresses, values.shape[1], lanes, reads=False, values=values)
        if space is Space.GLOBAL:
            self.changes += self.memory.write(addresses, values, lanes)
        else:
            local = self.lds if space is Space.LDS else self.scratch
            self.changes += local.write(addresses.astype(np.int64), values, lanes)

    def load(self, space: Space, address: Value, size: int, lanes: Value | None = None) -> tuple[Value, ...]:
        """Load bytes in each active lane."""
        octets = np.zeros((WAVE, size), dtype=np.uint8)
        for part, addresses, inside in self._parts(space, address, self._lanes(lanes)):
            octets |= self._read_bytes(part, addresses, size, inside)
        if size < 4:  # noqa: PLR2004 - less than a register
            return (Lanes(U32, octets.view(f"uint{8 * size}")[:, 0].astype(np.uint32)),)
        words = octets.view(np.uint32)
        return tuple(Lanes(U32, np.ascontiguousarray(words[:, number])) for number in range(size // 4))

    def store(
        self, space: Space, address: Value, values: Sequence[Value], size: int, lanes: Value | None = None
    ) -> None:
        """Store bytes of each active lane."""
        words = np.empty((WAVE, len(values)), dtype=np.uint32)
        for number, value in enumerate(values):
            words[:, number] = array_of(value)
        octets = words.view(np.uint8)[:, :size]
        for part, addresses, inside in self._parts(space, address, self._lanes(lanes)):
            self._write_bytes(part, addresses, octets, inside)

    def atomic(
        self,
        space: Space,
        address: Value,
        kind: Kind,
        combine: Combine,
        data: Sequence[Value],
        *,
        lanes: Value | None = None,
    ) -> Value:
        """Replace memory lane after lane; lanes that share an address see each other's results in their order."""
        size = kind.bits // 8
        dtype = DTYPES[kind]
        arrays = [np.broadcast_to(array_of(value), (WAVE,)) for value in data]
        found = np.zeros(WAVE, dtype=dtype)
        for part, addresses, inside in self._parts(space, address, self._lanes(lanes)):
            self._check_alignment(addresses, size, inside)
            if self.observer is not None:
                self.observer.access(self, part, addresses, size, inside, reads=True, writes=True)
            for turn in turns_of(addresses, inside):
                observer, self.observer = self.observer, None
                try:
                    octets = self._read_bytes(part, addresses, size, turn)
                    old = np.ascontiguousarray(octets).view(dtype)[:, 0]
                    operands = [Lanes(kind, array) for array in arrays]
                    new = array_of(combine(Lanes(kind, old), *operands))
                    fresh = np.ascontiguousarray(np.broadcast_to(new, (WAVE,))).view(np.uint8).reshape(WAVE, size)
                    self._write_bytes(part, addresses, fresh, turn)
                finally:
                    self.observer = observer
                found[turn] = old[turn]
        return Lanes(kind, found)

    def _check_alignment(self, addresses: Addresses, size: int, lanes: Bools) -> None:
        wrong = lanes & (addresses % np.uint64(size) != 0)
        if wrong.any():
            lane = int(wrong.argmax())
            what = f"an atomic of {size} bytes needs an address that is a multiple of {size}"
            raise AccessError(FaultKind.MISALIGNED, what, lane=lane, address=int(addresses[lane]))

    def load_scalar(self, address: Value, count: int) -> tuple[Value, ...]:
        """Load registers for the whole wave."""
        place = int(array_of(address)[0])
        if self.observer is not None:
            lanes = np.arange(WAVE) == 0
            self.observer.access(
                self, Space.GLOBAL, np.full(WAVE, place, np.uint64), 4 * count, lanes, reads=True, writes=False
            )
        if self.races is not None:
            lanes = np.arange(WAVE) == 0
            self.races.access(Space.GLOBAL, np.full(WAVE, place, np.uint64), 4 * count, lanes, reads=True)
        words = self.memory.bytes_at(place, 4 * count).view(np.uint32)
        return tuple(Lanes(U32, words[number : number + 1].copy()) for number in range(count))

    def load_scalar_or_zero(self, address: Value, inside: Value) -> Value:
        """Load one register, or give zero."""
        return self.load_scalar(address, 1)[0] if array_of(inside)[0] else constant(U32, 0)

    def deliver(self, destination: Operand, values: Sequence[Value], bits: int = WHOLE) -> None:
        """Let registers get what an access found: now, or when a wait must have it."""
        if self.late is None:
            write_now(self, destination, values, bits)
        else:
            self.late.to_registers(self, destination, values, bits)

    def deliver_to_lds(self, address: Value, values: Sequence[Value]) -> None:
        """Let a dword of LDS for each active lane get what a load found."""
        if self.late is None:
            self.store(Space.LDS, address, values, 4)
            return
        addresses, octets = np.broadcast_to(array_of(address), (WAVE,)), _octets(values[0])
        self.lds.check(addresses.astype(np.int64), 4, self.active, writing=True)
        if self.observer is not None:
            self.observer.access(self, Space.LDS, addresses, 4, self.active, reads=False, writes=True)
        if self.races is not None:
            self.races.access(Space.LDS, addresses, 4, self.active, reads=False, values=octets)
        self.late.to_lds(self, addresses, values[0])

    def follows(self, value: Value) -> bool:  # noqa: ARG002 - for who tracks values
        """Say whether more is known of a value than its number."""
        return False

    def receive(self, register: Operand, value: Value, bits: int, lanes: Bools) -> None:
        """Write what has arrived to some bits of a vector register, in the lanes that were active."""
        words = self.file(register)[register.index]
        np.copyto(words, words & np.uint32(~bits & WHOLE) | array_of(value) & np.uint32(bits), where=lanes)

    def receive_in_lds(self, addresses: Addresses, value: Value, lanes: Bools) -> None:
        """Write a dword that has arrived to LDS."""
        self.changes += self.lds.write(addresses.astype(np.int64), _octets(value), lanes)

    def matrix(self, instruction: Instruction) -> None:
        """Execute a matrix instruction."""
        execute_matrix(self, instruction)


def _octets(value: Value) -> NDArray[np.uint8]:
    """Return a dword of each lane as bytes, shape (64, 4)."""
    return np.ascontiguousarray(np.broadcast_to(array_of(value), (WAVE,))).view(np.uint8).reshape(WAVE, 4)


def turns_of(addresses: Addresses, lanes: Bools) -> list[Bools]:
    """Return masks of lanes, none with two lanes at one address: the n-th turn holds the n-th lane of each address."""
    turns = []
    rest = lanes
    while rest.any():
        numbers = np.flatnonzero(rest)
        _, first = np.unique(addresses[numbers], return_index=True)
        turn = np.zeros(WAVE, dtype=np.bool_)
        turn[numbers[first]] = True
        turns.append(turn)
        rest = rest & ~turn
    return turns
