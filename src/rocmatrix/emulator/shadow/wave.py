"""A tracked wave: undefined bits of registers and of memory, and what they decide when memory is accessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import U32, Kind, Value
from rocmatrix.emulator.instruction import Operand
from rocmatrix.emulator.lanes import DTYPES
from rocmatrix.emulator.registers import Bools, array_of
from rocmatrix.emulator.reports import AccessError
from rocmatrix.emulator.semantics.access import WHOLE
from rocmatrix.emulator.semantics.machine import WAVE, Combine, Space
from rocmatrix.emulator.shadow.memory import (
    LocalShadow,
    Store,
    Stores,
    global_bits,
    place_name,
    read_global,
    write_global,
)
from rocmatrix.emulator.shadow.origin import Findings, Origin
from rocmatrix.emulator.shadow.rules import undefined_dtype
from rocmatrix.emulator.shadow.tracking import RegisterTracking, WaveParts
from rocmatrix.emulator.shadow.values import Shadowed, origin_of, undefined_of
from rocmatrix.emulator.wave import turns_of

Addresses = NDArray[np.uint64]
Octets = NDArray[np.uint8]

_ADDRESS = "the address"
_WHETHER = "whether the lane accesses memory"
_REGISTER = 4


class TrackedWave(RegisterTracking):
    """A wave that follows what was never written.

    Attributes:
        lds_shadow: undefined bits of the workgroup's LDS.
        scratch_shadow: undefined bits of the wave's scratch.
        stores: who stored undefined bits to global memory.
    """

    def __init__(
        self, *, findings: Findings, lds_shadow: LocalShadow, stores: Stores, **wave: Unpack[WaveParts]
    ) -> None:
        """Start with scratch undefined."""
        super().__init__(findings=findings, **wave)
        self.lds_shadow = lds_shadow
        self.scratch_shadow = LocalShadow(self.scratch)
        self.stores = stores
        self.shadow.memory["lds"] = lds_shadow.data.ctypes.data
        self.shadow.memory["scratch"] = self.scratch_shadow.data.ctypes.data

    # -- vector memory -------------------------------------------------------------------------------------------

    def load(self, space: Space, address: Value, size: int, lanes: Value | None = None) -> tuple[Value, ...]:
        """Load bytes in each active lane."""
        inside = self._accessing(address, lanes)
        values = super().load(space, address, size, lanes)
        bits = np.zeros((WAVE, size), dtype=np.uint8)
        origin = None
        for part, addresses, among in self._parts(space, address, inside):
            found = self._read_bits(part, addresses, size, among)
            if found.any():
                bits |= found
                origin = origin or self._origin_in(part, addresses, found)
        words = bits.view(f"uint{8 * size}").astype(np.uint32) if size < _REGISTER else bits.view(np.uint32)
        return tuple(
            Shadowed(U32, array_of(value), np.ascontiguousarray(words[:, number]), origin)
            for number, value in enumerate(values)
        )

    def store(
        self, space: Space, address: Value, values: Sequence[Value], size: int, lanes: Value | None = None
    ) -> None:
        """Store bytes of each active lane; undefined ones too."""
        inside = self._accessing(address, lanes)
        super().store(space, address, values, size, lanes)
        words = np.zeros((WAVE, len(values)), dtype=np.uint32)
        for number, value in enumerate(values):
            undefined = undefined_of(value)
            if undefined is not None:
                words[:, number] = undefined
        bits = words.view(np.uint8)[:, :size]
        origin = next((origin for value in values if (origin := origin_of(value)) is not None), None)
        for part, addresses, among in self._parts(space, address, inside):
            self._write_bits(part, addresses, bits, among, origin)

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
        """Replace memory lane after lane; that of undefined memory matters, unless it is only exchanged."""
        inside = self._accessing(address, lanes)
        parts = self._parts(space, address, inside)
        size = kind.bits // 8
        if all(undefined_of(value) is None for value in data) and not self._undefined_at(parts, size):
            return Shadowed(kind, array_of(super().atomic(space, address, kind, combine, data, lanes=lanes)))
        found, undefined = np.zeros(WAVE, DTYPES[kind]), np.zeros(WAVE, undefined_dtype(kind))
        origin = None
        for part, addresses, among in parts:
            self._check_alignment(addresses, size, among)
            if self.observer is not None:
                self.observer.access(self, part, addresses, size, among, reads=True, writes=True)
            for turn in turns_of(addresses, among):
                old = self._old(part, addresses, turn, kind)
                origin = origin or origin_of(old)
                found[turn] = array_of(old)[turn]
                bits = undefined_of(old)
                if bits is not None:
                    undefined[turn] = bits[turn]
                self._replace(part, addresses, turn, old, combine(old, *data))
        return Shadowed(kind, found, undefined, origin)

    def _undefined_at(self, parts: Sequence[tuple[Space, Addresses, Bools]], size: int) -> bool:
        """Say whether any of the bytes is undefined; bytes that cannot be accessed are another's business."""
        try:
            return any(self._read_bits(part, addresses, size, among).any() for part, addresses, among in parts)
        except AccessError:
            return False

    def _old(self, part: Space, addresses: Addresses, turn: Bools, kind: Kind) -> Shadowed:
        """Return what is in memory before an atomic."""
        size = kind.bits // 8
        observer, self.observer = self.observer, None
        try:
            octets = self._read_bytes(part, addresses, size, turn)
        finally:
            self.observer = observer
        bits = self._read_bits(part, addresses, size, turn)
        array = np.ascontiguousarray(octets).view(DTYPES[kind])[:, 0]
        origin = self._origin_in(part, addresses, bits) if bits.any() else None
        return Shadowed(kind, array, np.ascontiguousarray(bits).view(undefined_dtype(kind))[:, 0], origin)

    def _replace(self, part: Space, addresses: Addresses, turn: Bools, old: Shadowed, new: Value) -> None:
        """Store what an atomic made of memory; report undefined memory that it computed with."""
        if undefined_of(old) is not None:
            both = np.broadcast_to(old.undefined != 0, (WAVE,)) & turn
            self.matters(new, "what the atomic makes of memory", both, addresses)
        octets, bits = (
            np.ascontiguousarray(np.broadcast_to(array, (WAVE,))).view(np.uint8).reshape(WAVE, -1)
            for array in (array_of(new), _bits_or_zeros(new))
        )
        observer, self.observer = self.observer, None
        try:
            self._write_bytes(part, addresses, octets, turn)
        finally:
            self.observer = observer
        self._write_bits(part, addresses, bits, turn, origin_of(new))

    def _accessing(self, address: Value, lanes: Value | None) -> Bools:
        """Return the lanes that access memory; report addresses that are undefined there."""
        inside = self._lanes(lanes)
        addresses = array_of(address)
        self.matters(address, _ADDRESS, inside, addresses)
        if lanes is not None:
            self.matters(lanes, _WHETHER, self.active, addresses)
        return inside

    # -- what arrives late ---------------------------------------------------------------------------------------

    def deliver_to_lds(self, address: Value, values: Sequence[Value]) -> None:
        """Let LDS get what a load found; an address that is undefined matters now."""
        if self.late is not None:
            self._accessing(address, None)
        super().deliver_to_lds(address, values)

    def follows(self, value: Value) -> bool:
        """Say whether some bit of a value is undefined."""
        return undefined_of(value) is not None

    def receive(self, register: Operand, value: Value, bits: int, lanes: Bools) -> None:
        """Write what has arrived, and which of its bits are undefined."""
        super().receive(register, value, bits, lanes)
        undefined, file = undefined_of(value), self.shadow.file(register.file)
        if bits != WHOLE:
            kept = file.bits[register.index] & np.uint32(~bits & WHOLE)
            undefined = kept if undefined is None else kept | undefined & np.uint32(bits)
        file.write(register.index, undefined, origin_of(value), lanes)

    def receive_in_lds(self, addresses: Addresses, value: Value, lanes: Bools) -> None:
        """Write a dword that has arrived to LDS, and which of its bits are undefined."""
        super().receive_in_lds(addresses, value, lanes)
        bits = np.ascontiguousarray(np.broadcast_to(_bits_or_zeros(value), (WAVE,))).view(np.uint8).reshape(WAVE, 4)
        self._write_bits(Space.LDS, addresses, bits, lanes, origin_of(value))

    # -- scalar memory -------------------------------------------------------------------------------------------

    def load_scalar(self, address: Value, count: int) -> tuple[Value, ...]:
        """Load registers for the whole wave."""
        self.matters(address, _ADDRESS, addresses=array_of(address))
        values = super().load_scalar(address, count)
        place = int(array_of(address)[0])
        bits = global_bits(self.memory, place, 4 * count)
        if not bits.any():
            return tuple(Shadowed(U32, array_of(value)) for value in values)
        origin = self._origin_in(Space.GLOBAL, np.full(1, place, np.uint64), bits[None, :])
        words = bits.copy().view(np.uint32)
        return tuple(
            Shadowed(U32, array_of(value), words[number : number + 1], origin) for number, value in enumerate(values)
        )

    def load_scalar_or_zero(self, address: Value, inside: Value) -> Value:
        """Load one register, or give zero."""
        self.matters(inside, _WHETHER)
        return super().load_scalar_or_zero(address, inside)

    # -- undefined bits of memory --------------------------------------------------------------------------------

    def _local(self, part: Space) -> LocalShadow:
        return self.lds_shadow if part is Space.LDS else self.scratch_shadow

    def _read_bits(self, part: Space, addresses: Addresses, size: int, lanes: Bools) -> Octets:
        if part is Space.GLOBAL:
            return read_global(self.memory, addresses, size, lanes)
        return self._local(part).read(addresses.astype(np.int64), size, lanes)

    def _write_bits(self, part: Space, addresses: Addresses, bits: Octets, lanes: Bools, origin: Origin | None) -> None:
        if part is Space.GLOBAL:
            write_global(self.memory, addresses, bits, lanes)
        else:
            self._local(part).write(addresses.astype(np.int64), bits, lanes)
        if origin is None:
            return
        stores = self.stores if part is Space.GLOBAL else self._local(part).stores
        for lane in np.flatnonzero(bits.any(axis=1) & lanes).tolist():
            store = Store(
                kernel=self.kernel, instruction=self.instruction, wave=self.identity, lane=lane, origin=origin
            )
            stores.keep(self._key(part, lane, int(addresses[lane])), bits[lane], store)

    def _key(self, part: Space, lane: int, address: int) -> int:
        return address if part is Space.GLOBAL else self._local(part).key(lane, address)

    def _origin_in(self, part: Space, addresses: Addresses, bits: Octets) -> Origin:
        """Return where the first undefined bits of a load come from: whoever stored them, or memory itself."""
        lane = int(bits.any(axis=1).argmax())
        first = int((bits[lane] != 0).argmax())
        address = int(addresses[lane])
        stores = self.stores if part is Space.GLOBAL else self._local(part).stores
        store = stores.of(self._key(part, lane, address), bits[lane])
        if store is not None:
            return store.origin
        if part is Space.GLOBAL:
            return Origin(what=place_name(self.memory, address + first), loaded=self.instruction)
        return Origin(what=f"byte {address + first} of {self._local(part).name}", loaded=self.instruction)


def _bits_or_zeros(value: Value) -> Array:
    undefined = undefined_of(value)
    return np.zeros(1, undefined_dtype(value.kind)) if undefined is None else undefined
