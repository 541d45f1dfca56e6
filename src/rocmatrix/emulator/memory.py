"""Memory of the emulated device: allocations with gaps between them, and byte-addressed arrays for LDS and scratch.

All bytes of an access must lie in one allocation; gaps are wide, so that an index that runs off one array does not land
in another. Accesses are made for all active lanes at once.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.reports import AccessError, FaultKind

Bytes = NDArray[np.uint8]
Addresses = NDArray[np.uint64]

_FIRST = 0x7F00_0000_0000
"""Where allocations begin: an ordinary user address, above all that a kernel could take for a 32-bit number."""
_GAP = 1 << 21
_PAGE = 4096


@dataclass(kw_only=True)
class Written:
    """What of an allocation was written: undefined bits of each byte, or ``None`` where everything was."""

    undefined: Bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """A stretch of memory.

    Attributes:
        name: what it is, for messages.
        address: its first byte.
        data: its bytes.
        writable: whether kernels may write it.
        written: what of it was written.
    """

    name: str
    address: int
    data: Bytes
    writable: bool = True
    written: Written = field(default_factory=Written)

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.address + len(self.data)

    @property
    def undefined(self) -> Bytes | None:
        """Undefined bits of each byte, or ``None`` where everything was written."""
        return self.written.undefined

    def begin_shadow(self, *, undefined: bool = False) -> Bytes:
        """Return new undefined bits of each byte: all of them, or none so far."""
        self.written.undefined = np.full(len(self.data), 0xFF if undefined else 0, dtype=np.uint8)
        return self.written.undefined


class Memory:
    """The global address space."""

    def __init__(self) -> None:
        """Start with nothing allocated."""
        self._starts: list[int] = []
        self._allocations: list[Allocation] = []
        self._next = _FIRST

    def allocate(
        self,
        size: int,
        name: str,
        *,
        align: int = 256,
        writable: bool = True,
        fill: int = 0,
        written: bool = True,
    ) -> Allocation:
        """Allocate bytes, all equal to ``fill``, with a gap behind them, written ones unless that is denied."""
        address = self.reserve(size, align=align)
        return self.allocate_at(address, size, name, writable=writable, fill=fill, written=written)

    def reserve(self, size: int, *, align: int = 256) -> int:
        """Return an address with ``size`` bytes behind it that nothing else will use; ``allocate_at`` makes them."""
        address = -(-self._next // max(align, _PAGE)) * max(align, _PAGE)
        self._next = address + size + _GAP
        return address

    def allocate_at(
        self, address: int, size: int, name: str, *, writable: bool = True, fill: int = 0, written: bool = True
    ) -> Allocation:
        """Allocate bytes at a reserved address."""
        data = np.full(size, fill, dtype=np.uint8)
        allocation = Allocation(name=name, address=address, data=data, writable=writable)
        if not written:
            allocation.begin_shadow(undefined=True)
        self.adopt(allocation)
        return allocation

    def adopt(self, allocation: Allocation) -> None:
        """Take in bytes that somebody else holds: kernels read and write them where they are."""
        index = bisect_right(self._starts, allocation.address)
        self._starts.insert(index, allocation.address)
        self._allocations.insert(index, allocation)

    def free(self, allocation: Allocation) -> None:
        """Take an allocation away; its addresses are never used again."""
        index = self._starts.index(allocation.address)
        del self._allocations[index], self._starts[index]

    def forget_unwritten(self) -> None:
        """Take everything that kernels may write for written: nobody has followed what they wrote."""
        for allocation in self._allocations:
            if allocation.writable:
                allocation.written.undefined = None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """What is allocated now, by address."""
        return tuple(self._allocations)

    def find(self, address: int) -> Allocation | None:
        """Return the allocation that holds an address."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._allocations[index].end:
            return self._allocations[index]
        return None

    def bytes_at(self, address: int, size: int, *, writing: bool = False, lane: int | None = None) -> Bytes:
        """Return a view of the bytes at one address.

        Raises:
            AccessError: no allocation holds all of them, or they are written and must not be.
        """
        allocation = self.find(address)
        if allocation is None or address + size > allocation.end:
            raise AccessError(
                FaultKind.OUT_OF_BOUNDS, self._describe(address, size, writing=writing), lane=lane, address=address
            )
        if writing and not allocation.writable:
            what = f"{size} bytes of {allocation.name} are written"
            raise AccessError(FaultKind.READ_ONLY, what, lane=lane, address=address)
        start = address - allocation.address
        return allocation.data[start : start + size]

    def read(self, addresses: Addresses, size: int, active: NDArray[np.bool_]) -> Bytes:
        """Return ``size`` bytes for each lane, shape (64, size); inactive lanes read zeros."""
        result = np.zeros((len(addresses), size), dtype=np.uint8)
        for lanes, allocation in self.by_allocation(addresses, size, active, writing=False):
            offsets = (addresses[lanes] - np.uint64(allocation.address)).astype(np.int64)
            result[lanes] = allocation.data[offsets[:, None] + np.arange(size)]
        return result

    def write(self, addresses: Addresses, values: Bytes, active: NDArray[np.bool_]) -> bool:
        """Store the bytes of each active lane, shape (64, size); of lanes that write one byte the last one wins.

        Say whether that changed anything.
        """
        size = values.shape[1]
        changed = False
        for lanes, allocation in self.by_allocation(addresses, size, active, writing=True):
            offsets = (addresses[lanes] - np.uint64(allocation.address)).astype(np.int64)
            places = offsets[:, None] + np.arange(size)
            changed = changed or not np.array_equal(allocation.data[places], values[lanes])
            allocation.data[places] = values[lanes]
        return changed

    def by_allocation(
        self, addresses: Addresses, size: int, active: NDArray[np.bool_], *, writing: bool
    ) -> list[tuple[NDArray[np.intp], Allocation]]:
        """Return the active lanes grouped by the allocation that holds their bytes.

        Raises:
            AccessError: the bytes of a lane lie outside, or must not be written.
        """
        groups = []
        rest = np.flatnonzero(active)
        while len(rest):
            first = int(rest[0])
            self.bytes_at(int(addresses[first]), size, writing=writing, lane=first)
            allocation = self.find(int(addresses[first]))
            if allocation is None:
                raise AssertionError("bytes_at() has found it")
            lower, upper = np.uint64(allocation.address), np.uint64(allocation.end - size)
            inside = (addresses[rest] >= lower) & (addresses[rest] <= upper)
            groups.append((rest[inside], allocation))
            rest = rest[~inside]
        return groups

    def _describe(self, address: int, size: int, *, writing: bool) -> str:
        access = f"{'writes' if writing else 'reads'} {size} bytes"
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address - self._allocations[index].end > _GAP:
            return f"it {access} where nothing is allocated"
        allocation = self._allocations[index]
        place = address - allocation.address
        return f"it {access} at byte {place} of {allocation.name}, which has {len(allocation.data)}"


class LocalMemory:
    """Memory with addresses from zero: the LDS of a workgroup, or the scratch of a wave with one row for each lane."""

    def __init__(self, size: int, name: str, *, rows: int = 1) -> None:
        """Make ``rows`` times ``size`` bytes of zeros."""
        self.name = name
        self.size = size
        self.data = np.zeros((rows, size), dtype=np.uint8)
        self._rows = np.zeros(64, dtype=np.int64) if rows == 1 else np.arange(rows, dtype=np.int64)

    def check(self, addresses: NDArray[np.int64], size: int, active: NDArray[np.bool_], *, writing: bool) -> None:
        """Refuse addresses of active lanes outside of it.

        Raises:
            AccessError: the first lane that is outside.
        """
        wrong = active & ((addresses < 0) | (addresses + size > self.size))
        if wrong.any():
            lane = int(wrong.argmax())
            verb = "writes" if writing else "reads"
            what = f"it {verb} {size} bytes at byte {addresses[lane]} of {self.name}, which has {self.size}"
            raise AccessError(FaultKind.OUT_OF_BOUNDS, what, lane=lane, address=int(addresses[lane]))

    def read(self, addresses: NDArray[np.int64], size: int, active: NDArray[np.bool_]) -> Bytes:
        """Return ``size`` bytes for each lane, shape (64, size); inactive lanes read zeros."""
        self.check(addresses, size, active, writing=False)
        places = np.where(active, addresses, 0)[:, None] + np.arange(size)
        if not self.size:
            return np.zeros((64, size), dtype=np.uint8)
        result = self.data[self._rows[:, None], np.minimum(places, self.size - 1)]
        result[~active] = 0
        return result

    def write(self, addresses: NDArray[np.int64], values: Bytes, active: NDArray[np.bool_]) -> bool:
        """Store the bytes of each active lane, shape (64, size); of lanes that write one byte the last one wins.

        Say whether that changed anything.
        """
        size = values.shape[1]
        self.check(addresses, size, active, writing=True)
        rows, places = self._rows[active][:, None], addresses[active][:, None] + np.arange(size)
        changed = not np.array_equal(self.data[rows, places], values[active])
        self.data[rows, places] = values[active]
        return changed
