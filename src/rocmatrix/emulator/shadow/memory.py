"""Undefined bits of memory: one byte of them for each byte of LDS, of scratch and of allocations nobody filled."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.memory import Addresses, Bytes, LocalMemory, Memory
from rocmatrix.emulator.reports import WaveId
from rocmatrix.emulator.shadow.origin import Origin

Bools = NDArray[np.bool_]

_ALL = 0xFF
_MOST_STORES = 1 << 18
"""Bytes of undefined data in memory whose history is kept; it is told of the others that nothing wrote them."""


@dataclass(frozen=True, kw_only=True)
class Store:
    """Who stored something undefined.

    Attributes:
        kernel: its name.
        instruction: the store.
        wave: the wave.
        lane: the lane, ``None`` where all do the same.
        origin: where the undefined bits came from.
    """

    kernel: str
    instruction: Instruction | None
    wave: WaveId
    lane: int | None
    origin: Origin


@dataclass(kw_only=True)
class Stores:
    """Undefined data in one memory, by the address of each byte; entries of bytes that are defined mean nothing."""

    by_byte: dict[int, Store] = field(default_factory=dict)

    def keep(self, address: int, bits: Bytes, store: Store) -> None:
        """Note that a store put undefined bits into some bytes."""
        if len(self.by_byte) >= _MOST_STORES:
            return
        for number in np.flatnonzero(bits).tolist():
            self.by_byte[address + number] = store

    def of(self, address: int, bits: Bytes) -> Store | None:
        """Return who stored the first undefined one of some bytes, ``None`` if nobody did."""
        return self.by_byte.get(address + int((bits != 0).argmax()))


class LocalShadow(LocalMemory):
    """Undefined bits of LDS or of a wave's scratch, with the layout of the memory itself."""

    def __init__(self, of: LocalMemory) -> None:
        """Start with everything undefined."""
        super().__init__(of.size, of.name, rows=len(of.data))
        self.data[:] = _ALL
        self.stores = Stores()

    def key(self, lane: int, address: int) -> int:
        """Return the key of a byte in ``stores``."""
        return address if len(self.data) == 1 else lane * self.size + address


def read_global(memory: Memory, addresses: Addresses, size: int, active: Bools) -> Bytes:
    """Return the undefined bits of ``size`` bytes for each lane, shape (64, size)."""
    result = np.zeros((len(addresses), size), dtype=np.uint8)
    for lanes, allocation in memory.by_allocation(addresses, size, active, writing=False):
        if allocation.undefined is not None:
            offsets = (addresses[lanes] - np.uint64(allocation.address)).astype(np.int64)
            result[lanes] = allocation.undefined[offsets[:, None] + np.arange(size)]
    return result


def write_global(memory: Memory, addresses: Addresses, bits: Bytes, active: Bools) -> None:
    """Set the undefined bits of the bytes of each active lane, shape (64, size)."""
    size = bits.shape[1]
    for lanes, allocation in memory.by_allocation(addresses, size, active, writing=True):
        shadow = allocation.undefined
        if shadow is None:
            if not bits[lanes].any():
                continue
            shadow = allocation.begin_shadow()
        offsets = (addresses[lanes] - np.uint64(allocation.address)).astype(np.int64)
        shadow[offsets[:, None] + np.arange(size)] = bits[lanes]


def global_bits(memory: Memory, address: int, size: int) -> Bytes:
    """Return the undefined bits of bytes of one allocation."""
    allocation = memory.find(address)
    if allocation is None or allocation.undefined is None:
        return np.zeros(size, dtype=np.uint8)
    start = address - allocation.address
    return allocation.undefined[start : start + size]


def place_name(memory: Memory, address: int) -> str:
    """Return an address in global memory for people."""
    allocation = memory.find(address)
    if allocation is None:
        raise AssertionError("only bytes of allocations are undefined")
    return f"byte {address - allocation.address} of {allocation.name}"
