"""VGPR indexing: between ``s_set_gpr_idx_on`` and ``_off``, operands of ``v_mov_b32`` are counted from M0.

M0 holds the index in bits 0 to 7 and in bits 12 to 15 which operands it is added to: first, second, third source,
destination (ISA document, "GPR Indexing"). LLVM moves values with ``v_mov_b32`` only; anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rocmatrix.emulator.algebra import U32
from rocmatrix.emulator.instruction import M0, Instruction, Operand
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.operands import read_operand
from rocmatrix.emulator.wave import Wave

_INDEX, _MODE = 0xFF, 0xF000
_SOURCE, _DESTINATION = 1 << 12, 8 << 12


def s_set_gpr_idx_on(wave: Wave, instruction: Instruction) -> None:
    """Start indexing: take the index from a register, the mode from the instruction."""
    s_set_gpr_idx_idx(wave, instruction)
    s_set_gpr_idx_mode(wave, instruction)
    wave.indexes_registers = True


def s_set_gpr_idx_off(wave: Wave, _instruction: Instruction) -> None:
    """Stop indexing."""
    wave.indexes_registers = False


def s_set_gpr_idx_idx(wave: Wave, instruction: Instruction) -> None:
    """Take another index from a register."""
    index = wave.decided(read_operand(wave, instruction, instruction.sources[0], U32), "which register is meant")
    wave.sgprs[M0] = int(wave.sgprs[M0]) & ~_INDEX | index & _INDEX


def s_set_gpr_idx_mode(wave: Wave, instruction: Instruction) -> None:
    """Choose which operands are indexed."""
    wave.sgprs[M0] = int(wave.sgprs[M0]) & ~_MODE | instruction.immediate << 12 & _MODE


def indexed(wave: Wave, instruction: Instruction) -> Instruction:
    """Return the instruction with its vector registers counted from the index.

    Raises:
        UnsupportedError: it is not ``v_mov_b32``, or more is indexed than that has.
    """
    if not instruction.name.startswith("v_"):
        return instruction
    state = int(wave.sgprs[M0])
    if instruction.name != "v_mov_b32" or instruction.sdwa or instruction.dpp:
        raise UnsupportedError(f"{instruction.name} while registers are indexed", instruction=instruction)

    def moved(operand: Operand, bit: int) -> Operand:
        shifts = operand.is_vector and state & bit
        return replace(operand, index=operand.index + (state & _INDEX)) if shifts else operand

    source = moved(instruction.sources[0], _SOURCE)
    return replace(instruction, sources=(source,), destinations=(moved(instruction.destinations[0], _DESTINATION),))


REGISTER_INDEXING: dict[str, Callable[[Wave, Instruction], None]] = {
    "s_set_gpr_idx_on": s_set_gpr_idx_on,
    "s_set_gpr_idx_off": s_set_gpr_idx_off,
    "s_set_gpr_idx_idx": s_set_gpr_idx_idx,
    "s_set_gpr_idx_mode": s_set_gpr_idx_mode,
}
