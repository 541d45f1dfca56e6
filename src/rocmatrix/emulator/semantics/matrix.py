"""Matrix instructions (MFMA): shapes, layouts in registers, and the fast arithmetic.

``D = A B + C`` for one or several blocks. Layouts: CDNA 3 ISA document, chapter "Matrix Arithmetic Instructions", and
AMD's matrix instruction calculator; the rows of 32 x 32 accumulators are ``8 * (reg / 4) + 4 * (lane / 32) + reg % 4``.
MFMA ignores EXEC and MODE.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache

from rocmatrix.emulator.semantics.machine import WAVE


class Element(Enum):
    """What one element of A or B is: name, bits."""

    F32 = ("f32", 32)
    XF32 = ("xf32", 32)
    F64 = ("f64", 64)
    F16 = ("f16", 16)
    BF16 = ("bf16", 16)
    FP8 = ("fp8", 8)
    BF8 = ("bf8", 8)
    I8 = ("i8", 8)

    def __init__(self, label: str, bits: int) -> None:
        """Keep the parts of the tuple under names."""
        self.label = label
        self.bits = bits


@dataclass(frozen=True, kw_only=True)
class MatrixOperation:
    """One matrix instruction.

    Attributes:
        name: mnemonic.
        m: rows of A and D in a block.
        n: columns of B and D in a block.
        k: columns of A and rows of B in a block.
        blocks: independent products.
        a: elements of A.
        b: elements of B.
        result: elements of C and D: ``f32``, ``f64`` or ``i32``.
    """

    name: str
    m: int
    n: int
    k: int
    blocks: int
    a: Element
    b: Element
    result: str

    @property
    def elements(self) -> int:
        """Elements of A that one lane holds."""
        return self.m * self.k * self.blocks // WAVE

    @property
    def results(self) -> int:
        """Elements of D that one lane holds."""
        return self.m * self.n * self.blocks // WAVE

    @property
    def registers(self) -> tuple[int, int, int]:
        """32-bit registers of A and of B, and of C and D."""
        result = self.results * (2 if self.result == "f64" else 1)
        return self.elements * self.a.bits // 32, self.n * self.k * self.blocks * self.b.bits // 32 // WAVE, result

    @property
    def broadcasts(self) -> bool:
        """Whether ``cbsz`` and ``abid`` mean broadcasts: where there are several blocks."""
        return self.blocks > 1


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where an element lies: the lane, and the number of the element among those that the lane holds."""

    lane: int
    element: int


_SHAPES = {
    "f32": "32x32x1_2b 16x16x1_4b 4x4x1_16b 32x32x2 16x16x4",
    "xf32": "16x16x8 32x32x4",
    "f16": "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x8 16x16x16",
    "bf16": "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x8 16x16x16",
    "f64": "16x16x4 4x4x4_4b",
    "i8": "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x16 16x16x32",
}
_EIGHT_BIT = "16x16x32 32x32x16"
_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)(?:_(\d+)b)?")


def _operation(result: str, shape: str, suffix: str, a: Element, b: Element) -> MatrixOperation:
    parts = _SHAPE.fullmatch(shape)
    if parts is None:
        raise ValueError(shape)
    return MatrixOperation(
        name=f"v_mfma_{result}_{shape}_{suffix}",
        m=int(parts[1]),
        n=int(parts[2]),
        k=int(parts[3]),
        blocks=int(parts[4] or 1),
        a=a,
        b=b,
        result=result,
    )


def _table() -> dict[str, MatrixOperation]:
    elements = {element.label: element for element in Element}
    made = []
    for label, shapes in _SHAPES.items():
        result = {"f64": "f64", "i8": "i32"}.get(label, "f32")
        made += [_operation(result, shape, label, elements[label], elements[label]) for shape in shapes.split()]
    for a in ("fp8", "bf8"):
        for b in ("fp8", "bf8"):
            made += [_operation("f32", shape, f"{a}_{b}", elements[a], elements[b]) for shape in _EIGHT_BIT.split()]
    return {operation.name: operation for operation in made}


MATRIX = _table()
"""Every dense matrix instruction of gfx942."""


@cache
def operand_places(operation: MatrixOperation, *, rows: int) -> tuple[tuple[tuple[Place, ...], ...], ...]:
    """Return places of A (``rows`` = m) or B transposed (``rows`` = n): block, row, k."""
    return tuple(
        tuple(tuple(_operand_place(operation, block, row, k, rows) for k in range(operation.k)) for row in range(rows))
        for block in range(operation.blocks)
    )


def _operand_place(operation: MatrixOperation, block: int, row: int, k: int, rows: int) -> Place:
    per_lane = operation.elements
    if operation.name == "v_mfma_f64_4x4x4_4b_f64":
        return Place(lane=row + rows * block + WAVE // operation.k * k, element=0)
    group = k // per_lane if operation.blocks == 1 else block
    return Place(lane=row + rows * group, element=k % per_lane)


@cache
def result_places(operation: MatrixOperation) -> tuple[tuple[tuple[Place, ...], ...], ...]:
    """Return places of C and D: block, row, column."""
    return tuple(
        tuple(
            tuple(_result_place(operation, block, row, column) for column in range(operation.n))
            for row in range(operation.m)
        )
        for block in range(operation.blocks)
    )


def _result_place(operation: MatrixOperation, block: int, row: int, column: int) -> Place:
    columns = operation.n
    if operation.name == "v_mfma_f64_4x4x4_4b_f64":
        return Place(lane=column + columns * block + WAVE // operation.m * row, element=0)
    if operation.result == "f64":
        return Place(lane=column + columns * (row % 4), element=row // 4)
    if operation.m == 4:  # sixteen blocks of 4 x 4
        return Place(lane=column + columns * block, element=row)
    groups = WAVE // columns
    per_block = operation.m // groups
    element = row // (4 * groups) * 4 + row % 4
    return Place(lane=column + columns * (row // 4 % groups), element=block * per_block + element)
