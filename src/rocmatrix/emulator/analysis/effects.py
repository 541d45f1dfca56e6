"""What one instruction reads and writes, implicit registers included, as sets of numbers.

A register is one number: scalar registers as an encoding numbers them (VCC 106, M0 124, EXEC 126, SCC 253), VGPRs from
256, AGPRs from 512.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from rocmatrix.emulator.instruction import EXEC, M0, SCC, VCC, Encoding, Instruction, Operand, RegisterFile, scalar_name

FIRST_VGPR, FIRST_AGPR, LAST = 256, 512, 768
_FIRST = {RegisterFile.SGPR: 0, RegisterFile.VGPR: FIRST_VGPR, RegisterFile.AGPR: FIRST_AGPR}
EXEC_PAIR = frozenset((EXEC, EXEC + 1))
VCC_PAIR = frozenset((VCC, VCC + 1))
NONE: frozenset[int] = frozenset()
ALL_SGPRS = frozenset(range(FIRST_VGPR))


class Unit(Enum):
    """Which part of a compute unit executes an instruction."""

    SALU = auto()
    """Scalar arithmetic, and the control instructions."""
    SMEM = auto()
    VALU = auto()
    MATRIX = auto()
    """MFMA and SMFMAC; moves to and from AGPRs are VALU."""
    VMEM = auto()
    """MUBUF, GLOBAL and SCRATCH."""
    FLAT = auto()
    """Memory or LDS, which the address decides."""
    LDS = auto()


_UNITS = {
    Encoding.SMEM: Unit.SMEM,
    Encoding.DS: Unit.LDS,
    Encoding.FLAT: Unit.FLAT,
    Encoding.GLOBAL: Unit.VMEM,
    Encoding.SCRATCH: Unit.VMEM,
    Encoding.MUBUF: Unit.VMEM,
    Encoding.VOP1: Unit.VALU,
    Encoding.VOP2: Unit.VALU,
    Encoding.VOPC: Unit.VALU,
    Encoding.VOP3: Unit.VALU,
    Encoding.VOP3P: Unit.VALU,
    Encoding.MAI: Unit.VALU,
}
_WITHOUT_EXEC = ("v_readlane_b32", "v_writelane_b32", "v_nop")
_READS_SCC = ("s_addc_u32", "s_subb_u32", "s_cselect_b32", "s_cselect_b64", "s_cmov_b32", "s_cmov_b64", "s_cmovk_i32")
_KEEPS_SCC = ("s_mov", "s_cmov", "s_cselect", "s_mul_", "s_pack_", "s_getpc", "s_setpc", "s_swappc", "s_call", "s_bfm_",
              "s_getreg", "s_setreg", "s_brev", "s_ff", "s_flbit", "s_sext", "s_bitset", "s_cbranch", "s_rfe",
              "s_set_gpr_idx", "s_bitreplicate", "s_branch", "s_nop", "s_waitcnt", "s_endpgm", "s_barrier",
              "s_sleep", "s_setprio", "s_trap", "s_sendmsg")  # fmt: skip
_BRANCHES = {
    "s_cbranch_scc0": frozenset((SCC,)),
    "s_cbranch_scc1": frozenset((SCC,)),
    "s_cbranch_vccz": VCC_PAIR,
    "s_cbranch_vccnz": VCC_PAIR,
    "s_cbranch_execz": EXEC_PAIR,
    "s_cbranch_execnz": EXEC_PAIR,
}
_READS_M0 = ("s_movrel", "s_sendmsg", "s_ttracedata", "s_set_gpr_idx", "ds_read_addtid", "ds_write_addtid", "ds_gws_")


@dataclass(frozen=True, kw_only=True, slots=True)
class Effects:
    """What one instruction does to registers.

    Attributes:
        unit: what executes it.
        sources: registers that its operands name.
        reads: those and the implicit ones.
        writes: registers that it writes or, for loads, will write.
        address: registers of a memory instruction that say where.
        data: registers whose values a memory instruction takes along.
        everything: ``reads`` and ``writes``.
    """

    unit: Unit
    sources: frozenset[int]
    reads: frozenset[int]
    writes: frozenset[int]
    address: frozenset[int]
    data: frozenset[int]
    everything: frozenset[int]


def registers_of(operand: Operand) -> frozenset[int]:
    """Return the registers of an operand; constants and literals have none."""
    first = _FIRST.get(operand.file)
    if first is None:
        return NONE
    return frozenset(range(first + operand.index, first + operand.index + operand.count))


def union(operands: Iterable[Operand]) -> frozenset[int]:
    """Return the registers of several operands."""
    return frozenset().union(*map(registers_of, operands))


def unit_of(instruction: Instruction) -> Unit:
    """Return what executes an instruction."""
    if instruction.encoding is Encoding.MAI and instruction.name.startswith(("v_mfma", "v_smfmac")):
        return Unit.MATRIX
    return _UNITS.get(instruction.encoding, Unit.SALU)


def is_vector_memory(unit: Unit) -> bool:
    """Say whether an instruction counts on vmcnt."""
    return unit in (Unit.VMEM, Unit.FLAT)


def is_vector_arithmetic(unit: Unit) -> bool:
    """Say whether an instruction is executed by the vector or the matrix unit."""
    return unit in (Unit.VALU, Unit.MATRIX)


def effects_of(instruction: Instruction) -> Effects:
    """Return what an instruction reads and writes."""
    unit = unit_of(instruction)
    sources = union(instruction.sources)
    if instruction.name.startswith("v_smfmac"):
        sources |= union(instruction.destinations)
    reads = sources | _implicit_reads(instruction, unit)
    writes = union(instruction.destinations) | _implicit_writes(instruction, unit)
    address, data = _memory_parts(instruction, unit)
    return Effects(
        unit=unit,
        sources=sources,
        reads=reads,
        writes=writes,
        address=address,
        data=data,
        everything=reads | writes,
    )


def _implicit_reads(instruction: Instruction, unit: Unit) -> frozenset[int]:
    name = instruction.name
    reads = _BRANCHES.get(name, NONE)
    if name in _READS_SCC:
        reads |= {SCC}
    if name.startswith(_READS_M0) or (instruction.memory is not None and instruction.memory.gds):
        reads |= {M0}
    if "saveexec" in name or "wrexec" in name:
        reads |= EXEC_PAIR
    if unit not in (Unit.SALU, Unit.SMEM, Unit.MATRIX) and name not in _WITHOUT_EXEC:
        reads |= EXEC_PAIR
    return reads


def _implicit_writes(instruction: Instruction, unit: Unit) -> frozenset[int]:
    name = instruction.name
    writes = NONE
    if name.startswith("v_cmpx") or "saveexec" in name or "wrexec" in name:
        writes |= EXEC_PAIR
    if name.startswith("s_set_gpr_idx_") and not name.endswith("off"):
        writes |= {M0}
    if name.startswith("s_movreld"):
        writes |= ALL_SGPRS - {EXEC, EXEC + 1}
    if unit is Unit.SALU and not name.startswith(_KEEPS_SCC):
        writes |= {SCC}
    return writes


def _memory_parts(instruction: Instruction, unit: Unit) -> tuple[frozenset[int], frozenset[int]]:
    """Return registers of the address and of the data; the operands of a memory instruction come in this order."""
    sources = instruction.sources
    if unit in (Unit.SALU, Unit.VALU, Unit.MATRIX):
        return NONE, NONE
    if unit is Unit.LDS:
        parts = 1 if sources and "addtid" not in instruction.name else 0
    else:
        parts = {Encoding.MUBUF: 3}.get(instruction.encoding, 2)
    if instruction.memory is not None and instruction.memory.lds:
        parts = len(sources)
    return union(sources[:parts]), union(sources[parts:])


def register_name(register: int) -> str:
    """Return how the disassembler calls a register."""
    if register >= FIRST_AGPR:
        return f"a{register - FIRST_AGPR}"
    return f"v{register - FIRST_VGPR}" if register >= FIRST_VGPR else scalar_name(register)
