"""The kernel descriptor: 64 bytes that say what a wave starts with.

Layout: AMDGPUUsage of LLVM, "Kernel Descriptor", and its bits for gfx90a and gfx942. A bit that must be zero there and
is not, or that asks for something that this machine does not have, is refused.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from rocmatrix.emulator.reports import UnsupportedError

SIZE = 64
"""Bytes of a descriptor."""
PRELOAD_ENTRY = 256
"""Bytes of compatible code before the entry of a kernel whose arguments are preloaded (LLVM, AMDGPUUsage)."""

_LAYOUT = struct.Struct("<III4sq20sIIIHH4s")


class Rounding(IntEnum):
    """Rounding of float arithmetic, as MODE holds it."""

    NEAREST_EVEN = 0
    PLUS_INFINITY = 1
    MINUS_INFINITY = 2
    TOWARDS_ZERO = 3


class Denormals(IntEnum):
    """What happens to denormal numbers, as MODE holds it."""

    FLUSH_SOURCES_AND_RESULTS = 0
    FLUSH_RESULTS = 1
    FLUSH_SOURCES = 2
    KEEP = 3


@dataclass(frozen=True, kw_only=True)
class Mode:
    """The MODE register: what decides the results of float arithmetic (ISA document, "Mode register").

    Attributes:
        round_32: rounding of float32 arithmetic.
        round_16_64: rounding of float16 and float64 arithmetic.
        denormals_32: denormals of float32.
        denormals_16_64: denormals of float16 and float64.
        dx10_clamp: clamping turns NaN into 0.
        ieee: minimum and maximum make signalling NaN quiet.
        fp16_overflow: conversions to float16 and to 8-bit floats saturate instead of making infinity or NaN.
    """

    round_32: Rounding = Rounding.NEAREST_EVEN
    round_16_64: Rounding = Rounding.NEAREST_EVEN
    denormals_32: Denormals = Denormals.KEEP
    denormals_16_64: Denormals = Denormals.KEEP
    dx10_clamp: bool = True
    ieee: bool = True
    fp16_overflow: bool = False

    @property
    def bits(self) -> int:
        """The register's value."""
        low = self.round_32 | self.round_16_64 << 2 | self.denormals_32 << 4 | self.denormals_16_64 << 6
        return low | self.dx10_clamp << 8 | self.ieee << 9 | self.fp16_overflow << 23

    @classmethod
    def from_bits(cls, bits: int) -> Mode:
        """Return the mode of a register's value.

        Raises:
            UnsupportedError: a bit is set whose effect is not modelled (debug, exceptions, VSKIP, GPR indexing, CSP).
        """
        if unknown := bits & ~0x8003FF & 0xFFFFFFFF:
            raise UnsupportedError(f"bits {unknown:#x} of the MODE register")
        return cls(
            round_32=Rounding(bits & 3),
            round_16_64=Rounding(bits >> 2 & 3),
            denormals_32=Denormals(bits >> 4 & 3),
            denormals_16_64=Denormals(bits >> 6 & 3),
            dx10_clamp=bool(bits >> 8 & 1),
            ieee=bool(bits >> 9 & 1),
            fp16_overflow=bool(bits >> 23 & 1),
        )


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """What a kernel asks the hardware for.

    Attributes:
        group_size: bytes of LDS, without what the launch adds.
        private_size: bytes of scratch for each lane.
        kernarg_size: bytes of arguments; 0 where the compiler did not say.
        entry_offset: bytes from the descriptor to the first instruction.
        vector_registers: VGPRs and AGPRs of a wave together.
        accumulator_offset: how many of them are VGPRs.
        mode: the MODE register at the start.
        user_sgprs: SGPRs that are set before the workgroup's.
        dispatch_pointer: address of the dispatch packet is asked for; the next four alike.
        queue_pointer: address of the queue.
        kernarg_pointer: address of the arguments.
        dispatch_id: number of the dispatch.
        private_size_register: bytes of scratch, in a register.
        preload_length: dwords of arguments that are put into SGPRs.
        preload_offset: first of them, in dwords.
        workgroup_ids: whether x, y, z are asked for.
        workgroup_info: whether the register about the workgroup is asked for.
        workitem_ids: 0: x, 1: x and y, 2: x, y and z are packed into v0.
        scratch: whether the wave uses scratch.
        dynamic_stack: the compiler could not bound the stack.
        split_workgroup: waves of a workgroup may be on different compute units (tg_split).
    """

    group_size: int
    private_size: int
    kernarg_size: int
    entry_offset: int
    vector_registers: int
    accumulator_offset: int
    mode: Mode
    user_sgprs: int
    dispatch_pointer: bool
    queue_pointer: bool
    kernarg_pointer: bool
    dispatch_id: bool
    private_size_register: bool
    preload_length: int
    preload_offset: int
    workgroup_ids: tuple[bool, bool, bool]
    workgroup_info: bool
    workitem_ids: int
    scratch: bool
    dynamic_stack: bool
    split_workgroup: bool


def read_descriptor(data: bytes, kernel: str) -> Descriptor:
    """Read the 64 bytes of a descriptor.

    Raises:
        UnsupportedError: it asks for what is not modelled, or is no descriptor of a wave of 64 lanes on gfx942.
    """
    group, private, kernarg, zero_1, entry, zero_2, rsrc3, rsrc1, rsrc2, properties, preload, zero_3 = _LAYOUT.unpack(
        data
    )
    reserved = zero_1 + zero_2 + zero_3
    _refuse_unknown(kernel, reserved, rsrc1=rsrc1, rsrc2=rsrc2, rsrc3=rsrc3, properties=properties)
    return Descriptor(
        group_size=group,
        private_size=private,
        kernarg_size=kernarg,
        entry_offset=entry,
        vector_registers=8 * ((rsrc1 & 0x3F) + 1),
        accumulator_offset=4 * ((rsrc3 & 0x3F) + 1),
        mode=Mode.from_bits(
            rsrc1 >> 12 & 0xFF | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 | (rsrc1 >> 26 & 1) << 23
        ),
        user_sgprs=rsrc2 >> 1 & 0x1F,
        dispatch_pointer=bool(properties & 0x2),
        queue_pointer=bool(properties & 0x4),
        kernarg_pointer=bool(properties & 0x8),
        dispatch_id=bool(properties & 0x10),
        private_size_register=bool(properties & 0x40),
        preload_length=preload & 0x7F,
        preload_offset=preload >> 7,
        workgroup_ids=(bool(rsrc2 >> 7 & 1), bool(rsrc2 >> 8 & 1), bool(rsrc2 >> 9 & 1)),
        workgroup_info=bool(rsrc2 >> 10 & 1),
        workitem_ids=rsrc2 >> 11 & 3,
        scratch=bool(rsrc2 & 1),
        dynamic_stack=bool(properties & 0x800),
        split_workgroup=bool(rsrc3 >> 16 & 1),
    )


def _refuse_unknown(kernel: str, reserved: bytes, *, rsrc1: int, rsrc2: int, rsrc3: int, properties: int) -> None:
    """Refuse every bit that is set and whose meaning is not modelled."""
    wrong = {
        "reserved bytes": int.from_bytes(reserved, "little"),
        "a private segment buffer (the target has architected flat scratch)": properties & 0x1,
        "a flat scratch initialisation (the target has architected flat scratch)": properties & 0x20,
        "waves of 32 lanes": properties & 0x400,
        "reserved kernel code properties": properties & ~0x0C7E,
        "a wave priority in the descriptor": rsrc1 & 0xC00,
        "privileged mode": rsrc1 & 0x100000,
        "debug mode": rsrc1 & 0x400000,
        "the bulky, cdbg or reserved bits of compute_pgm_rsrc1": rsrc1 & 0xFB000000,
        "float and address exceptions": rsrc2 & 0x7F006000,
        "the reserved bit of compute_pgm_rsrc2": rsrc2 & 0x80000000,
        "an LDS size in compute_pgm_rsrc2": rsrc2 & 0x00FF8000,
        "a third work-item layout": int(rsrc2 >> 11 & 3 == 3),  # noqa: PLR2004 - the undefined one of four
        "reserved bits of compute_pgm_rsrc3": rsrc3 & ~0x1003F,
    }
    for what, bits in wrong.items():
        if bits:
            raise UnsupportedError(f"{what} ({bits:#x}) in a kernel descriptor", kernel=kernel)
