"""Which operands an instruction may have: what no state of a wave could make sense of is refused before it runs."""

from __future__ import annotations

from rocmatrix.emulator.instruction import Encoding, Instruction, MatrixBits, Operand, RegisterFile
from rocmatrix.emulator.reports import AccessError, FaultKind, UnsupportedError
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.matrix import MATRIX, MatrixOperation
from rocmatrix.emulator.semantics.operands import float_constant_bits, integer_constant

_FILE_SIZES = {RegisterFile.SGPR: 128, RegisterFile.VGPR: 256, RegisterFile.AGPR: 256}
_RESERVED = 125
"""Between M0 and EXEC: no scalar register."""
_VECTORS = {"v_swap_b32": (0,), "v_accvgpr_mov_b32": (0,), "v_accvgpr_read_b32": (0,), "v_readlane_b32": (0,)}
"""Sources that are vector registers, by their numbers."""
_SCALARS = {"v_readlane_b32": (1,), "v_writelane_b32": (0, 1)}
"""Sources that are the same for all lanes."""


def check_operands(instruction: Instruction) -> None:
    """Refuse operands that an instruction cannot have.

    Raises:
        AccessError: an operand reaches beyond its registers, or lies in registers that the instruction cannot use.
        UnsupportedError: the meaning of a combination is not documented.
    """
    for operand in (*instruction.destinations, *instruction.sources):
        if operand.file in _FILE_SIZES and operand.index + operand.count > _FILE_SIZES[operand.file]:
            raise AccessError(FaultKind.ILLEGAL, "an operand reaches beyond the last register")
        if operand.file is RegisterFile.SGPR and operand.index <= _RESERVED < operand.index + operand.count:
            raise AccessError(FaultKind.ILLEGAL, f"the scalar register number {_RESERVED} does not exist")
    if instruction.encoding is Encoding.VOP3 and instruction.name not in VECTOR:
        _refuse_modifiers(instruction)
    for number in _VECTORS.get(instruction.name, ()):
        _check_vectors(instruction, instruction.sources[number : number + 1])
    for number in _SCALARS.get(instruction.name, ()):
        if instruction.sources[number].is_vector:
            what = f"source {number} of {instruction.name} in vector registers: it is the same for all lanes"
            raise AccessError(FaultKind.ILLEGAL, what)
    if instruction.encoding is Encoding.MAI and instruction.name in MATRIX:
        _check_matrix(instruction, MATRIX[instruction.name])


def _refuse_modifiers(instruction: Instruction) -> None:
    """Refuse what only arithmetic has."""
    signs = any(operand.negate or operand.absolute for operand in instruction.sources)
    if instruction.op_sel or instruction.omod or instruction.clamp or signs:
        raise UnsupportedError(f"modifiers of {instruction.name}", instruction=instruction)


def _check_vectors(instruction: Instruction, operands: tuple[Operand, ...]) -> None:
    for operand in operands:
        if not operand.is_vector:
            what = f"a source of {instruction.name} in {operand.file.name}: it takes vector registers"
            raise AccessError(FaultKind.ILLEGAL, what)


def _check_matrix(instruction: Instruction, operation: MatrixOperation) -> None:
    a, b, c = instruction.sources
    _check_vectors(instruction, (a, b))
    constant = integer_constant(c.index) is not None or float_constant_bits(c.index, 32) is not None
    if not c.is_vector and not (c.file is RegisterFile.CONSTANT and constant):
        what = f"the accumulator of {instruction.name} in {c.file.name} {c.index}: it is vector registers or a constant"
        raise AccessError(FaultKind.ILLEGAL, what)
    bits = instruction.matrix or MatrixBits()
    if not bits.cbsz:
        return
    if 1 << bits.cbsz > operation.blocks or bits.abid >> bits.cbsz or operation.result == "f64":
        what = f"cbsz:{bits.cbsz} abid:{bits.abid} on {instruction.name}, which has {operation.blocks} blocks"
        raise UnsupportedError(what, instruction=instruction)
