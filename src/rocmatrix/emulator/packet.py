"""The dispatch packet that a kernel may read: what the launcher put into the queue."""

from __future__ import annotations

import struct

from rocmatrix.emulator.code_object import Kernel
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.memory import Allocation


def dispatch_packet(
    kernel: Kernel, image: int, geometry: Geometry, kernarg: Allocation, *, private: int, group: int
) -> bytes:
    """Return the 64 bytes of an AQL kernel dispatch packet (HSA Runtime, hsa_kernel_dispatch_packet_t)."""
    sizes = [count * size for count, size in zip(geometry.grid, geometry.block, strict=True)]
    address = image + kernel.descriptor_address
    header = 2 | 1 << 8 | 2 << 9 | 2 << 11  # kernel dispatch, barrier bit, system acquire and release
    return struct.pack(
        "<HHHHHHIIIIIQQQQ",
        header,
        geometry.dimensions,
        *geometry.block,
        0,
        *sizes,
        private,
        group,
        address,
        kernarg.address,
        0,
        0,
    )
