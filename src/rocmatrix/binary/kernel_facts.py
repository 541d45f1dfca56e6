"""What a code object says of its kernels, and what its machine code shows: frozen values, for every gfx."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelArgument:
    """One argument in the kernarg segment.

    Attributes:
        offset: bytes from the segment's start; ``size`` in bytes alike.
        kind: ``.value_kind`` of the metadata, e.g. ``by_value``, ``global_buffer``, ``hidden_block_count_x``.
        name: as the source calls it; ``""`` where the compiler did not say.
        address_space: ``.address_space`` of a pointer; ``None`` for all else.
    """

    offset: int
    size: int
    kind: str
    name: str = ""
    address_space: str | None = None


class Limit(StrEnum):
    """What keeps more waves from running on a SIMD."""

    WAVE_SLOTS = "wave slots"
    VECTOR_REGISTERS = "vector registers"
    SCALAR_REGISTERS = "scalar registers"
    LDS = "LDS"


@dataclass(frozen=True, kw_only=True, slots=True)
class Occupancy:
    """How many waves of a kernel a SIMD can hold, for workgroups of the largest size that the kernel allows.

    Attributes:
        waves_per_simd: the lowest of the limits.
        limit: which one that is; of equal ones the first in the order of ``Limit``.
        by_vector_registers: waves per SIMD that VGPRs and AGPRs allow.
        by_lds: waves per SIMD that static LDS allows; ``None`` where the kernel uses none.
        workgroups_per_cu: workgroups that a compute unit can hold.
        source: where the formula comes from.
    """

    waves_per_simd: int
    limit: Limit
    by_vector_registers: int
    by_lds: int | None
    workgroups_per_cu: int
    source: str


@dataclass(frozen=True, kw_only=True)
class InstructionMix:
    """How many instructions of each class some code has.

    Attributes:
        matrix: MFMA and SMFMAC by mnemonic, e.g. ``{"v_mfma_f32_16x16x32_fp8_fp8": 64}``.
        valu: other vector arithmetic, moves to and from AGPRs included.
        salu: scalar arithmetic, without branches, waits and barriers.
        lds: LDS reads and writes (``ds_*``).
        vmem: vector memory: global, flat, scratch and buffer.
        smem: scalar memory.
        barriers: ``s_barrier``.
        waits: ``s_waitcnt`` and its kind.
        branches: jumps and calls, conditional or not.
        other: what fits none of these: ``s_nop``, ``s_sleep``, ``s_setprio``, the end of the program.
    """

    matrix: dict[str, int]
    valu: int
    salu: int
    lds: int
    vmem: int
    smem: int
    barriers: int
    waits: int
    branches: int
    other: int


@dataclass(frozen=True, kw_only=True)
class HotLoop:
    """The loop in which a kernel most likely spends its time: the innermost one with most matrix instructions.

    Where no loop has any, it is the largest innermost loop. Loops are found by jumps back.

    Attributes:
        address: of its first instruction as the code lies, as the code object numbers it.
        end: of its last; between the two may lie instructions that are not part of it.
        instructions: in it, each counted once.
        mix: of what.
    """

    address: int
    end: int
    instructions: int
    mix: InstructionMix


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """One kernel of a code object, from the metadata note; sizes in bytes, counts per work-item or wave as LLVM's.

    Attributes:
        name: as the program knows it.
        symbol: of the kernel descriptor, e.g. ``gemm.kd``.
        vgprs: vector registers; on gfx90a and its successors VGPRs and AGPRs together.
        agprs: accumulation registers; ``None`` where the metadata does not say.
        sgprs: scalar registers.
        vgpr_spills: vector registers spilled to scratch, ``sgpr_spills`` scalar ones; ``None`` where it does not say.
        lds: static LDS of a workgroup (``.group_segment_fixed_size``).
        scratch: private memory of a work-item (``.private_segment_fixed_size``).
        dynamic_stack: whether it may need more scratch than that; ``None`` where the metadata does not say.
        max_workgroup: work-items of a workgroup at most.
        required_workgroup: the only extents that it may be launched with; ``None`` if any.
        wavefront: lanes of a wave.
        kernarg_size: bytes of arguments, hidden ones included.
        kernarg_align: alignment of the arguments.
        arguments: their layout, hidden ones included, in order.
        occupancy: ``None`` where the formula of the arch is not known here.
        instructions: in the whole kernel; ``None`` where no decoder was at hand.
        hot_loop: ``None`` if it has no loop or where no decoder was at hand.
        unread: why ``instructions`` and ``hot_loop`` are not known, one sentence; ``None`` where they are.
    """

    name: str
    symbol: str
    vgprs: int
    agprs: int | None
    sgprs: int
    vgpr_spills: int | None
    sgpr_spills: int | None
    lds: int
    scratch: int
    dynamic_stack: bool | None
    max_workgroup: int
    required_workgroup: tuple[int, int, int] | None
    wavefront: int
    kernarg_size: int
    kernarg_align: int
    arguments: tuple[KernelArgument, ...]
    occupancy: Occupancy | None = None
    instructions: InstructionMix | None = None
    hot_loop: HotLoop | None = None
    unread: str | None = None
