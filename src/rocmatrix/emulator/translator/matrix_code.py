"""Matrix instructions as C: a function for each operation and its permutations.

They stand on ``runtime/matrix.h`` in the fast arithmetic and on ``runtime/exact.h`` in the exact one. Where elements
lie comes from ``semantics.matrix``, as tables of the first element of each run of rows or columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocmatrix.emulator.instruction import Instruction, MatrixBits, Operand, RegisterFile
from rocmatrix.emulator.matrix_exact import GROUP, SMALLEST_EXPONENT, differs, splits
from rocmatrix.emulator.matrix_unit import FIRST_LANES, LANE_GROUPS
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.semantics.matrix import (
    MATRIX,
    Element,
    MatrixOperation,
    Place,
    operand_places,
    result_places,
)
from rocmatrix.emulator.semantics.operands import float_constant_bits, integer_constant

if TYPE_CHECKING:
    from rocmatrix.emulator.translator.machine import EmittingMachine

_EXACT = (Element.F16, Element.FP8, Element.BF8)
"""Elements whose products float32 holds exactly: fusing them with the sum changes nothing."""
_FUSED = (Element.F32, Element.F64)
_F32_RANGE = (Element.BF16, Element.XF32)
"""Elements whose products float32 does not hold: only those of their significands."""
_REGISTERS_OF_ROWS = 64
"""Elements of C that one turn keeps in vector registers."""


def matrix_call(machine: EmittingMachine, instruction: Instruction) -> tuple[str, Mapping[str, str]]:
    """Return the statement that executes a matrix instruction, and the functions that it needs by name."""
    operation, bits = MATRIX[instruction.name], instruction.matrix or MatrixBits()
    exact = machine.numerics.exact_matrix and differs(operation)
    name = f"{operation.name}_{bits.cbsz}_{bits.abid}_{bits.blgp}{'_exact' if exact else ''}"
    a, b, c = instruction.sources
    destination = instruction.destinations[0]
    left, right, target = (f"W->{machine.file(part)} + {part.index}" for part in (a, b, destination))
    call = f"{name}({left}, {right}, {_accumulator(machine, operation, c)}, {target})"
    return call, {name: (_exact_function if exact else _function)(name, operation, bits)}


def _accumulator(machine: EmittingMachine, operation: MatrixOperation, operand: Operand) -> str:
    """Return two arguments: registers of C or null, and bits of a constant."""
    if operand.file is not RegisterFile.CONSTANT:
        return f"W->{machine.file(operand)} + {operand.index}, 0"
    bits = 64 if operation.result == "f64" else 32
    number = integer_constant(operand.index)
    if number is None:
        number = float_constant_bits(operand.index, bits)
    if number is None:
        from rocmatrix.emulator.translator.registers import Untranslatable  # noqa: PLC0415 - it imports this module

        raise Untranslatable("this accumulator of a matrix instruction")
    return f"0, {number & ((1 << bits) - 1):#x}ull"


def _function(name: str, operation: MatrixOperation, bits: MatrixBits) -> str:
    """Return the C of one operation with its permutations."""
    double = operation.result == "f64"
    number = {"f32": "f32", "f64": "f64", "i32": "i32"}[operation.result]
    step = "FUSED" if operation.a in _FUSED or {operation.a, operation.b} <= set(_EXACT) else "SEPARATE"
    rows = max(1, min(operation.m, _REGISTERS_OF_ROWS // operation.n))
    registers = max(1, operation.elements * operation.a.bits // 32)
    lines = [
        f"MULTIPLY({name}, {number}, {operation.m}, {operation.n}, {operation.k}, {operation.blocks}, {rows}, {step})",
        *_tables(name, operation, bits),
        f"OUTLINE void {name}(const words* a, const words* b, const words* c, s_u64 constant, words* d) {{",
        f"  ALIGNED s_{number} left[{operation.elements}][LANES], right[{operation.elements}][LANES];",
        f"  ALIGNED s_{number} sum[{operation.results}][LANES];",
        f"  decode_{operation.a.label}(a, {registers}, left);",
        f"  decode_{operation.b.label}(b, {registers}, right);",
        *_permutations(operation, bits, number),
        *(_load_64(operation) if double else _load_32(operation, number)),
    ]
    if double and bits.blgp >> 2 & 1:
        lines.append(f"  negate_f64(sum[0], {operation.results * WAVE});")
    lines.append(f"  {name}_sum(left[0], right[0], sum[0], sum[0], {name}_a, {name}_b, {name}_d);")
    lines += _store_64(operation) if double else [f"  __builtin_memcpy(d, sum, sizeof sum);"]  # noqa: F541 - beside others
    return "\n".join([*lines, "}"]) + "\n"


def _exact_function(name: str, operation: MatrixOperation, bits: MatrixBits) -> str:
    """Return the C of one operation in the exact arithmetic."""
    wide = operation.a in _F32_RANGE
    shape = f"{operation.m}, {operation.n}, {operation.k}, {operation.blocks}, {min(GROUP[operation.a], operation.k)}"
    parts = 2 if splits(operation) else 1
    registers = operation.elements * operation.a.bits // 32
    count = operation.elements * WAVE
    a, b = (SMALLEST_EXPONENT[element] for element in (operation.a, operation.b))
    lines = [
        f"EXACT({name}, {shape}, {parts}, {'TERM_SIGNIFICANDS' if wide else 'TERM_NUMBERS'})",
        *_tables(name, operation, bits),
        f"OUTLINE void {name}(const words* a, const words* b, const words* c, s_u64 constant, words* d) {{",
        f"  ALIGNED s_f32 left[{operation.elements}][LANES], right[{operation.elements}][LANES];",
        f"  ALIGNED s_i32 rows[{operation.elements}][LANES], columns[{operation.elements}][LANES];",
        f"  ALIGNED s_f32 sum[{operation.results}][LANES];",
        f"  decode_{operation.a.label}(a, {registers}, left);",
        f"  decode_{operation.b.label}(b, {registers}, right);",
        *_permutations(operation, bits, "f32"),
        f"  exponents(left[0], rows[0], {count}, {a});",
        f"  exponents(right[0], columns[0], {count}, {b});",
        *([f"  significands(left[0], {count});", f"  significands(right[0], {count});"] if wide else []),
        *_load_32(operation, "f32"),
        f"  {name}_sum(left[0], rows[0], right[0], columns[0], sum[0], {name}_a, {name}_b, {name}_d);",
        "  __builtin_memcpy(d, sum, sizeof sum);",
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _permutations(operation: MatrixOperation, bits: MatrixBits, number: str) -> list[str]:
    if operation.result == "f64":
        flips = (("left", bits.blgp & 1), ("right", bits.blgp >> 1 & 1))
        return [f"  negate_f64({which}[0], {operation.elements * WAVE});" for which, flip in flips if flip]
    if not bits.blgp:
        return []
    size, first = LANE_GROUPS[bits.blgp], FIRST_LANES[bits.blgp]
    return [f"  permute_{number}(right, {operation.elements}, {size}, {first});"]


def _load_32(operation: MatrixOperation, number: str) -> list[str]:
    return [
        "  if (c) __builtin_memcpy(sum, c, sizeof sum);",
        f"  else for (int i = 0; i < {operation.results * WAVE}; ++i) sum[0][i] = BITS(s_{number}, (s_u32)constant);",
    ]


def _load_64(operation: MatrixOperation) -> list[str]:
    return [
        f"  if (c) decode_f64(c, {2 * operation.results}, sum);",
        f"  else for (int i = 0; i < {operation.results * WAVE}; ++i) sum[0][i] = BITS(s_f64, constant);",
    ]


def _store_64(operation: MatrixOperation) -> list[str]:
    return [
        f"  for (int r = 0; r < {operation.results}; ++r) {{",
        "    for (int lane = 0; lane < LANES; ++lane) {",
        "      const s_u64 bits = BITS(s_u64, sum[r][lane]);",
        "      d[2 * r][lane] = (s_u32)bits;",
        "      d[2 * r + 1][lane] = (s_u32)(bits >> 32);",
        "    }",
        "  }",
    ]


def _tables(name: str, operation: MatrixOperation, bits: MatrixBits) -> list[str]:
    """Return where the runs of A's rows, B's columns and D's columns begin."""
    left = operand_places(operation, rows=operation.m)
    right = operand_places(operation, rows=operation.n)
    if operation.broadcasts and bits.cbsz:
        group = 1 << bits.cbsz
        left = tuple(left[block // group * group + bits.abid] for block in range(operation.blocks))
    a, b = (
        [_run([row[k] for row in block]) for block in places for k in range(operation.k)] for places in (left, right)
    )
    d = [_run(row) for block in result_places(operation) for row in block]
    return [
        f"static const s_u16 {name}_{letter}[] = {{{', '.join(map(str, starts))}}};"
        for letter, starts in (("a", a), ("b", b), ("d", d))
    ]


def _run(places: Sequence[Place]) -> int:
    """Return where a run of elements begins that lie side by side."""
    starts = [place.element * WAVE + place.lane for place in places]
    if starts != list(range(starts[0], starts[0] + len(starts))):
        raise AssertionError("every layout has its rows and columns in adjacent lanes")
    return starts[0]
