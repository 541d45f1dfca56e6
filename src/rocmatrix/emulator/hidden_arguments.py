"""Hidden kernel arguments: what the HIP runtime appends to a program's own.

Names and meanings: AMDGPUUsage of LLVM, "Code Object V5 Kernel Argument Metadata" and the versions around it. Pointers
to services that are not emulated (printf, host calls, device heap, queues) get an address where nothing is allocated:
a kernel that lists but does not use them runs, one that uses them is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.emulator.metadata import KernelMetadata
from rocmatrix.emulator.registers import PRIVATE_APERTURE, SHARED_APERTURE
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.errors import InputError

Extent = tuple[int, int, int]

NOT_EMULATED = 0x6BAD_0000_0000
"""Address that stands for services which are not emulated; nothing is ever allocated there."""

_SERVICES = (
    "hidden_printf_buffer",
    "hidden_hostcall_buffer",
    "hidden_heap_v1",
    "hidden_default_queue",
    "hidden_completion_action",
    "hidden_multigrid_sync_arg",
    "hidden_queue_ptr",
)
_NOTHING = "hidden_none"


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Extents of a launch: workgroups of the grid, work-items of a workgroup; bytes of dynamic LDS."""

    grid: Extent
    block: Extent
    dynamic_lds: int = 0

    @property
    def dimensions(self) -> int:
        """Number of dimensions: the last one that is not 1."""
        sizes = [count * size for count, size in zip(self.grid, self.block, strict=True)]
        return max((axis + 1 for axis, size in enumerate(sizes) if size > 1), default=1)


def hidden_value(kind: str, geometry: Geometry) -> int:
    """Return the value of a hidden argument.

    Raises:
        UnsupportedError: the kind is not known.
    """
    known = {
        "hidden_grid_dims": geometry.dimensions,
        "hidden_dynamic_lds_size": geometry.dynamic_lds,
        "hidden_private_base": PRIVATE_APERTURE >> 32,
        "hidden_shared_base": SHARED_APERTURE >> 32,
    }
    for axis, letter in enumerate("xyz"):
        known[f"hidden_block_count_{letter}"] = geometry.grid[axis]
        known[f"hidden_group_size_{letter}"] = geometry.block[axis]
        known[f"hidden_remainder_{letter}"] = 0
        known[f"hidden_global_offset_{letter}"] = 0
    if kind in known:
        return known[kind]
    if kind in _SERVICES:
        return NOT_EMULATED
    raise UnsupportedError(f"the hidden argument {kind}")


def fill_hidden(kernarg: bytearray, metadata: KernelMetadata, geometry: Geometry) -> None:
    """Write the hidden arguments into a kernarg segment.

    Raises:
        InputError: one has too few bytes for its value.
        UnsupportedError: the kind of one is not known.
    """
    for argument in metadata.args:
        if argument.is_hidden and argument.value_kind != _NOTHING:
            value = hidden_value(argument.value_kind, geometry)
            if value >> 8 * argument.size:
                what = f"{argument.value_kind} of {metadata.name} is {value}, and has {argument.size} bytes"
                raise InputError(what, fix="Launch fewer work-items, or give a code object that clang made.")
            kernarg[argument.offset : argument.offset + argument.size] = value.to_bytes(argument.size, "little")
