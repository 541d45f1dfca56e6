"""Matrix instructions of the reference: their operands out of registers, the product back into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator import matrix_unit
from rocmatrix.emulator.instruction import Instruction, MatrixBits, Operand, RegisterFile
from rocmatrix.emulator.lanes import DTYPES
from rocmatrix.emulator.registers import Words, array_of
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.semantics.matrix import MATRIX, MatrixOperation
from rocmatrix.emulator.semantics.operands import constant_operand

if TYPE_CHECKING:
    from rocmatrix.emulator.wave import Wave


def execute_matrix(wave: Wave, instruction: Instruction) -> None:
    """Execute a matrix instruction in all lanes."""
    operation = MATRIX[instruction.name]
    a, b, c = instruction.sources
    total = _accumulator(wave, instruction, operation, c)
    bits, exact = instruction.matrix or MatrixBits(), wave.numerics.exact_matrix
    result = matrix_unit.multiply(operation, bits, _words(wave, a), _words(wave, b), total, exact=exact)
    destination = instruction.destinations[0]
    words = result.view(np.uint32)
    if operation.result == "f64":
        pairs = result.view(np.uint64)
        words = np.empty((2 * operation.results, WAVE), dtype=np.uint32)
        words[0::2], words[1::2] = pairs, pairs >> np.uint64(32)
    wave.file(destination)[destination.index : destination.index + len(words)] = words


def _words(wave: Wave, operand: Operand) -> Words:
    return wave.file(operand)[operand.index : operand.index + operand.count]


def _accumulator(wave: Wave, instruction: Instruction, operation: MatrixOperation, operand: Operand) -> Array:
    """Return C as it lies in registers; a constant is the same everywhere."""
    dtype = matrix_unit.result_dtype(operation)
    if operand.file is RegisterFile.CONSTANT:
        kind = next(kind for kind, held in DTYPES.items() if held == dtype)
        value = array_of(constant_operand(wave, instruction, operand.index, kind))
        return np.full((operation.results, WAVE), value[0], dtype=dtype)
    words = _words(wave, operand)
    if operation.result == "f64":
        return matrix_unit.elements(operation.a, words)
    return words.view(dtype).copy()
