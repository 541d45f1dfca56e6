"""A dispatch: what the packet processor does between a launch and the first instruction of a wave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.code_object import Kernel
from rocmatrix.emulator.descriptor import PRELOAD_ENTRY
from rocmatrix.emulator.hidden_arguments import NOT_EMULATED, Geometry, fill_hidden
from rocmatrix.emulator.memory import Allocation, LocalMemory, Memory
from rocmatrix.emulator.observer import Observer
from rocmatrix.emulator.packet import dispatch_packet
from rocmatrix.emulator.reports import UnsupportedError, WaveId
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.wave import Wave
from rocmatrix.errors import InputError

if TYPE_CHECKING:
    from rocmatrix.emulator.shadow.tracker import Tracker

LDS_BYTES = 65536
"""LDS of a compute unit (CDNA 3 white paper)."""
SCRATCH_BYTES = 131056
"""Scratch that a lane can have: a wave's is counted in 13 bits of 1 KiB (COMPUTE_TMPRING_SIZE; ROCr refuses more)."""
DEFAULT_STACK = 1024
"""What HIP gives each lane for a stack without a known bound, unless the program asks for more (hipLimitStackSize)."""
MAX_WORKITEMS = 1024
_KERNARG_ALIGN = 16
UNWRITTEN_WORD, UNWRITTEN_BYTE = 0x7FBADBAD, 0xBD
"""What registers, LDS and scratch hold before anything is written: a signalling NaN, no useful address."""


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """One kernel launch, ready to make waves.

    Attributes:
        kernel: what is launched.
        entry: address of the first instruction.
        geometry: extents.
        kernarg: the arguments in memory.
        packet: the dispatch packet in memory.
        memory: the address space.
        private_size: bytes of scratch for each lane.
        group_size: bytes of LDS for each workgroup.
        number: number of the dispatch in its queue.
        preloads: whether the firmware preloads arguments.
        observer: who watches.
        tracker: makes waves that follow what was never written; ``None`` for plain ones.
    """

    kernel: Kernel
    entry: int
    geometry: Geometry
    kernarg: Allocation
    packet: Allocation
    memory: Memory
    private_size: int
    group_size: int
    number: int
    preloads: bool
    observer: Observer | None
    tracker: Tracker | None = None

    def make_waves(self, workgroup: tuple[int, int, int]) -> tuple[Wave, ...]:
        """Return the waves of a workgroup, before their first instruction; they share the workgroup's LDS."""
        lds = LocalMemory(self.group_size, "the workgroup's LDS")
        lds.data[:] = UNWRITTEN_BYTE
        workitems = self.geometry.block[0] * self.geometry.block[1] * self.geometry.block[2]
        make = Wave if self.tracker is None else self.tracker.maker(lds)
        return tuple(self._wave(workgroup, number, workitems, lds, make) for number in range(-(-workitems // WAVE)))

    def _wave(
        self,
        workgroup: tuple[int, int, int],
        number: int,
        workitems: int,
        lds: LocalMemory,
        make: Callable[..., Wave],
    ) -> Wave:
        scratch = LocalMemory(self.private_size, "the lane's scratch", rows=WAVE)
        scratch.data[:] = UNWRITTEN_BYTE
        wave = make(
            identity=WaveId(workgroup=workgroup, wave=number),
            kernel=self.kernel.name,
            mode=self.kernel.descriptor.mode,
            pc=self.entry,
            lds=lds,
            scratch=scratch,
            memory=self.memory,
            observer=self.observer,
        )
        for registers in (wave.sgprs, wave.vgprs, wave.agprs):
            registers[:] = UNWRITTEN_WORD
        values = [*self._user_registers(), *self._workgroup_registers(workgroup)]
        wave.sgprs[: len(values)] = values
        ids = np.arange(number * WAVE, (number + 1) * WAVE, dtype=np.uint32)
        width, height = (np.uint32(size) for size in self.geometry.block[:2])
        packed = ids % width | ids // width % height << np.uint32(10) | ids // (width * height) << np.uint32(20)
        wave.vgprs[0] = packed
        wave.set_exec(ids < workitems)
        if self.tracker is not None:
            self.tracker.defines(wave, self._undefined_scalars(len(values)))
        return wave

    def _undefined_scalars(self, count: int) -> NDArray[np.uint32]:
        """Return the undefined bits of the scalar registers that are set up: of preloaded padding, if anything."""
        undefined = np.zeros(count, dtype=np.uint32)
        descriptor = self.kernel.descriptor
        first, length = 4 * descriptor.preload_offset, descriptor.preload_length
        preloaded = slice(descriptor.user_sgprs - length, descriptor.user_sgprs)
        if not self.preloads:
            undefined[preloaded] = 0xFFFFFFFF
        elif self.kernarg.undefined is not None:
            undefined[preloaded] = self.kernarg.undefined[first : first + 4 * length].view(np.uint32)
        return undefined

    def _user_registers(self) -> list[int]:
        """Return the user SGPRs in the order of AMDGPUUsage, "SGPR Register Set Up Order"."""
        descriptor = self.kernel.descriptor
        words: list[int] = []
        for wanted, value in (
            (descriptor.dispatch_pointer, self.packet.address),
            (descriptor.queue_pointer, NOT_EMULATED),
            (descriptor.kernarg_pointer, self.kernarg.address),
            (descriptor.dispatch_id, self.number),
        ):
            if wanted:
                words += [value & 0xFFFFFFFF, value >> 32]
        if descriptor.private_size_register:
            words.append(self.private_size)
        if self.preloads:
            first = 4 * descriptor.preload_offset
            preloaded = self.kernarg.data[first : first + 4 * descriptor.preload_length]
            words += preloaded.view(np.uint32).tolist()
        else:
            words += [UNWRITTEN_WORD] * descriptor.preload_length
        if len(words) != descriptor.user_sgprs:
            what = f"a kernel descriptor with {descriptor.user_sgprs} user SGPRs of which {len(words)} are explained"
            raise UnsupportedError(what, kernel=self.kernel.name)
        return words

    def _workgroup_registers(self, workgroup: tuple[int, int, int]) -> list[int]:
        descriptor = self.kernel.descriptor
        if descriptor.workgroup_info:
            raise UnsupportedError("the workgroup information register", kernel=self.kernel.name)
        return [number for number, wanted in zip(workgroup, descriptor.workgroup_ids, strict=True) if wanted]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a launch finds, whatever it launches.

    Attributes:
        memory: the address space.
        number: number of the dispatch in its queue.
        dynamic_stack: bytes of scratch that each lane of a kernel without a known bound gets at least.
        preloads: whether the firmware preloads arguments, where a kernel asks for it.
        observer: who watches.
        tracker: follows what was never written.
    """

    memory: Memory
    number: int = 0
    dynamic_stack: int = DEFAULT_STACK
    preloads: bool = True
    observer: Observer | None = None
    tracker: Tracker | None = None


def make_dispatch(kernel: Kernel, image: int, geometry: Geometry, arguments: bytes, setting: Setting) -> Dispatch:
    """Prepare a launch: check it, and put arguments and packet into memory.

    Args:
        kernel: what is launched.
        image: address at which its code object is loaded.
        geometry: extents.
        arguments: the program's own arguments as they lie in the kernarg segment, up to the last of them.
        setting: memory and everything else.

    Raises:
        InputError: extents or arguments do not fit the kernel.
        UnsupportedError: the kernel asks for something that is not modelled.
    """
    check_geometry(kernel, geometry)
    private = _private_size(kernel, setting.dynamic_stack)
    group = kernel.descriptor.group_size + geometry.dynamic_lds
    kernarg = _put_arguments(kernel, geometry, arguments, setting)
    content = dispatch_packet(kernel, image, geometry, kernarg, private=private, group=group)
    preloading = setting.preloads and kernel.descriptor.preload_length > 0
    return Dispatch(
        kernel=kernel,
        entry=image + kernel.entry + (PRELOAD_ENTRY if preloading else 0),
        geometry=geometry,
        kernarg=kernarg,
        packet=_put(content, "the dispatch packet", setting.memory),
        memory=setting.memory,
        private_size=private,
        group_size=group,
        number=setting.number,
        preloads=preloading,
        observer=setting.observer,
        tracker=setting.tracker,
    )


def _put(content: bytes, name: str, memory: Memory) -> Allocation:
    """Return memory that kernels only read, with this content."""
    allocation = memory.allocate(len(content), name, writable=False)
    allocation.data[:] = np.frombuffer(content, dtype=np.uint8)
    return allocation


def _put_arguments(kernel: Kernel, geometry: Geometry, arguments: bytes, setting: Setting) -> Allocation:
    kernarg = _put(kernarg_bytes(kernel, geometry, arguments), "the kernel's arguments", setting.memory)
    if setting.tracker is not None:
        setting.tracker.shadow_arguments(kernarg, kernel.metadata)
    return kernarg


def _private_size(kernel: Kernel, dynamic_stack: int) -> int:
    """Return bytes of scratch for each lane: as ROCm's runtime does, the larger one of a kernel's own and the stack.

    Raises:
        InputError: a lane cannot have as much.
    """
    descriptor = kernel.descriptor
    size = max(descriptor.private_size, dynamic_stack if descriptor.dynamic_stack else 0)
    if size > SCRATCH_BYTES:
        what = f"each lane needs {size} bytes of scratch, and there are {SCRATCH_BYTES} ({kernel.name})"
        raise InputError(what, fix="Make the kernel's arrays smaller.")
    return size


def _kernarg_size(kernel: Kernel) -> int:
    """Return bytes to allocate: LLVM widens loads of arguments up to the segment's alignment, which is 16 at least."""
    preloaded = 4 * (kernel.descriptor.preload_offset + kernel.descriptor.preload_length)
    size = max(kernel.metadata.kernarg_segment_size, preloaded, 1)
    return -(-size // _KERNARG_ALIGN) * _KERNARG_ALIGN


def kernarg_bytes(kernel: Kernel, geometry: Geometry, arguments: bytes) -> bytes:
    """Return the kernarg segment: the program's own arguments, then the hidden ones.

    Raises:
        InputError: the arguments are not as long as the kernel's own.
    """
    own = [argument for argument in kernel.metadata.args if not argument.is_hidden]
    size = max((argument.offset + argument.size for argument in own), default=0)
    if len(arguments) != size:
        what = f"the kernel {kernel.name} takes {size} bytes of arguments, and was given {len(arguments)}"
        raise InputError(what, fix="Lay the arguments out as the code object's metadata says.")
    segment = bytearray(arguments).ljust(_kernarg_size(kernel), bytes((UNWRITTEN_BYTE,)))
    fill_hidden(segment, kernel.metadata, geometry)
    return bytes(segment)


def check_geometry(kernel: Kernel, geometry: Geometry) -> None:
    """Refuse extents that the kernel or the machine cannot have.

    Raises:
        InputError: with the reason.
    """
    metadata = kernel.metadata
    workitems = geometry.block[0] * geometry.block[1] * geometry.block[2]
    limit = min(metadata.max_flat_workgroup_size, MAX_WORKITEMS)
    wrong = None
    if min(geometry.block) < 1 or min(geometry.grid) < 1:
        wrong = "an extent of the launch is less than 1"
    elif workitems > limit:
        wrong = f"a workgroup of {workitems} work-items is larger than the {limit} that the kernel allows"
    elif metadata.reqd_workgroup_size and tuple(metadata.reqd_workgroup_size) != geometry.block:
        wrong = f"the kernel was compiled for workgroups of {metadata.reqd_workgroup_size}, not {geometry.block}"
    elif kernel.descriptor.group_size + geometry.dynamic_lds > LDS_BYTES:
        total = kernel.descriptor.group_size + geometry.dynamic_lds
        wrong = f"a workgroup needs {total} bytes of LDS, and there are {LDS_BYTES}"
    elif max(count * size for count, size in zip(geometry.grid, geometry.block, strict=True)) >= 1 << 32:
        wrong = "the grid has more work-items along one axis than 32 bits count"
    if wrong:
        raise InputError(f"{wrong} ({kernel.name})", fix="Change the extents of the launch.")
