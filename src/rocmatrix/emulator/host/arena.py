"""Memory of the emulated device as the host sees it: real addresses in this process, at the same place in every run.

A launcher does arithmetic with device pointers, and a kernel gets them as they are; so they are real. They begin at a
fixed address, far from what the emulator itself hands out and from where Linux maps libraries, so that a run repeats
with the same addresses in its reports. Between allocations lies a gap that no access of a kernel may touch.
"""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rocmatrix.errors import MissingRequirementError

Bytes = NDArray[np.uint8]

BASE = 0x6000_0000_0000
"""First address of the arena."""
SIZE = 1 << 38
"""Bytes of address space; memory is used only where something is written."""
ALIGNMENT = 512
"""Bytes that allocations are aligned to: kMinBlockSize of torch's caching allocator (c10/core/CachingAllocator.h)."""
GAP = 1 << 21
POISON = 0x7B
"""What memory holds before anything is written: a large finite number in every float type of 16 bits and more."""

_PROTECTION = 1 | 2  # PROT_READ, PROT_WRITE
_FLAGS = 0x02 | 0x20 | 0x4000 | 0x100000  # MAP_PRIVATE, _ANONYMOUS, _NORESERVE, _FIXED_NOREPLACE
_FAILED = ctypes.c_void_p(-1).value


@dataclass(frozen=True, kw_only=True)
class Block:
    """One allocation.

    Attributes:
        name: what it is, for messages.
        address: of its first byte.
        data: its bytes, at that address.
        writable: whether kernels may write it.
        host: whether it is pinned host memory.
    """

    name: str
    address: int
    data: Bytes
    writable: bool = True
    host: bool = False

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.address + len(self.data)


class Arena:
    """All memory of the device. One for each process."""

    def __init__(self, limit: int) -> None:
        """Reserve the addresses.

        Args:
            limit: bytes that can be allocated at the same time: the memory of the device.

        Raises:
            MissingRequirementError: this process cannot have these addresses.
        """
        self._libc = libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
        found = libc.mmap(BASE, SIZE, _PROTECTION, _FLAGS, -1, 0)
        if found in (None, _FAILED) or found != BASE:
            raise MissingRequirementError(
                f"the addresses from {BASE:#x} cannot be reserved for device memory: {os.strerror(ctypes.get_errno())}",
                fix="Allow the process more address space (ulimit -v) and overcommitment (vm.overcommit_memory).",
            )
        self._limit = limit
        self._used = 0
        self._next = BASE
        self._starts: list[int] = []
        self._blocks: list[Block] = []
        self._host_writes: list[tuple[int, int]] = []

    def close(self) -> None:
        """Give the addresses back; whatever still points there must not be used."""
        self._libc.munmap(ctypes.c_void_p(BASE), ctypes.c_size_t(SIZE))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Everything that is allocated, by address."""
        return tuple(self._blocks)

    def allocate(self, size: int, name: str, *, writable: bool = True, host: bool = False) -> Block | None:
        """Allocate poisoned bytes; ``None`` if the device has not that many left. Addresses are never used again."""
        end = self._next + size + GAP
        if self._used + size > self._limit or end > BASE + SIZE:
            return None
        address = self._next
        data = np.ndarray((size,), np.uint8, memoryview((ctypes.c_uint8 * size).from_address(address)))
        data[:] = POISON
        block = Block(name=name, address=address, data=data, writable=writable, host=host)
        self._next = -(-end // ALIGNMENT) * ALIGNMENT
        self._used += size
        self._starts.append(address)
        self._blocks.append(block)
        return block

    def free(self, address: int) -> bool:
        """Take an allocation away; ``False`` if none begins there."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or self._starts[index] != address:
            return False
        self._used -= len(self._blocks[index].data)
        del self._starts[index], self._blocks[index]
        return True

    def host_wrote(self, address: int, size: int) -> None:
        """Note that the host may have written bytes, which are not the kernels' to write any more."""
        self._host_writes.append((address, size))

    def take_host_writes(self) -> list[tuple[int, int]]:
        """Return what the host may have written since the last time: address and size in bytes."""
        taken, self._host_writes = self._host_writes, []
        return taken

    def find(self, address: int) -> Block | None:
        """Return the allocation that holds an address."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < max(self._blocks[index].end, self._starts[index] + 1):
            return self._blocks[index]
        return None

    def problem(self, address: int, size: int) -> str | None:
        """Say why the bytes at an address cannot be used; ``None`` if they can, or are no device memory at all."""
        if not BASE <= address < BASE + SIZE:
            return None
        block = self.find(address)
        if block is None:
            return f"{size} bytes at {address:#x}, where nothing is allocated"
        if address + size > block.end:
            place = address - block.address
            return f"{size} bytes from byte {place} of {block.name}, which has {len(block.data)}"
        return None
