"""Matrix instructions: layouts against published facts, sums against float64, broadcasts against their description."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.instruction import Encoding, MatrixBits, Operand
from rocmatrix.emulator.reports import AccessError, UnsupportedError
from rocmatrix.emulator.semantics.matrix import MATRIX, Element, MatrixOperation
from tests.unit.emulator.machine import a, execute, integer, make, make_wave, s, v

_A, _B, _C, _D = 0, 16, 32, 96
_DTYPES = {
    Element.F32: np.float32,
    Element.XF32: np.float32,
    Element.F64: np.float64,
    Element.F16: np.float16,
    Element.BF16: ml_dtypes.bfloat16,
    Element.FP8: ml_dtypes.float8_e4m3fnuz,
    Element.BF8: ml_dtypes.float8_e5m2fnuz,
    Element.I8: np.int8,
}
_RESULTS = {"f32": np.float32, "f64": np.float64, "i32": np.int32}


def _operand_place(operation: MatrixOperation, block: int, row: int, k: int, rows: int) -> tuple[int, int]:
    """Return lane and element of A[row, k] or B[k, row], written from AMD's matrix instruction calculator by shape."""
    shape = (operation.m, operation.k, operation.blocks)
    per_lane = operation.m * operation.k * operation.blocks // 64
    if operation.name.startswith("v_mfma_f64_4x4x4"):
        return 16 * k + 4 * block + row, 0
    if shape[0] == 4:
        return 4 * block + row, k
    if shape[2] > 1:
        return rows * block + row, k
    return rows * (k // per_lane) + row, k % per_lane


def _result_place(operation: MatrixOperation, block: int, row: int, column: int) -> tuple[int, int]:
    """Return lane and element of D[row, column]: the published rows of each accumulator register."""
    if operation.name.startswith("v_mfma_f64_4x4x4"):
        return 16 * row + 4 * block + column, 0
    if operation.name.startswith("v_mfma_f64"):
        return 16 * (row % 4) + column, row // 4
    if operation.m == 4:
        return 4 * block + column, row
    if operation.m == 16:
        return 16 * (row // 4) + column, 4 * block + row % 4
    return 32 * (row // 4 % 2) + column, 16 * block + 4 * (row // 8) + row % 4


def _packed(elements: Array) -> Array:
    """Return registers (count, 64) that hold elements (count, 64) of any width, lowest first."""
    lanes = np.ascontiguousarray(elements.T)
    return lanes.view(np.uint8).reshape(64, -1).view(np.uint32).T


def _random(element: Element, shape: tuple[int, ...], seed: int) -> Array:
    random = np.random.default_rng(seed)
    if element is Element.I8:
        return random.integers(-128, 128, shape).astype(np.int8)
    return random.integers(-8, 9, shape).astype(np.float32).astype(_DTYPES[element])


def _laid_out(operation: MatrixOperation, matrix: Array, rows: int) -> Array:
    elements = np.zeros((operation.m * operation.k * operation.blocks // 64, 64), matrix.dtype)
    for block, row, k in np.ndindex(operation.blocks, rows, operation.k):
        lane, element = _operand_place(operation, block, row, k, rows)
        elements[element, lane] = matrix[block, row, k]
    return _packed(elements)


def _run(operation: MatrixOperation, bits: MatrixBits, left: Array, right: Array, start: Array) -> Array:
    """Return D (blocks, m, n) of A (blocks, m, k), B transposed (blocks, n, k) and C (blocks, m, n)."""
    wave = make_wave()
    wave.set_exec(np.arange(64) % 3 == 0)
    packed = [_laid_out(operation, left, operation.m), _laid_out(operation, right, operation.n)]
    total = np.zeros((operation.m * operation.n * operation.blocks // 64, 64), start.dtype)
    for block, row, column in np.ndindex(start.shape):
        lane, element = _result_place(operation, block, row, column)
        total[element, lane] = start[block, row, column]
    packed.append(_packed(total))
    for first, registers in zip((_A, _B, _C), packed, strict=True):
        wave.vgprs[first : first + len(registers)] = registers
    count = len(packed[2])
    sources = [v(_A, len(packed[0])), v(_B, len(packed[1])), v(_C, count)]
    execute(wave, make(operation.name, Encoding.MAI, [a(_D, count)], sources, matrix=bits))
    lanes = np.ascontiguousarray(wave.agprs[_D : _D + count].T).view(start.dtype)
    result = np.empty_like(start)
    for block, row, column in np.ndindex(start.shape):
        lane, element = _result_place(operation, block, row, column)
        result[block, row, column] = lanes[lane, element]
    return result


@pytest.mark.parametrize("name", MATRIX)
def test_every_shape_multiplies_exact_numbers_exactly_whatever_exec_says(name: str) -> None:
    operation = MATRIX[name]
    left = _random(operation.a, (operation.blocks, operation.m, operation.k), 1)
    right = _random(operation.b, (operation.blocks, operation.n, operation.k), 2)
    start = np.random.default_rng(3).integers(-99, 99, (operation.blocks, operation.m, operation.n))
    start = start.astype(_RESULTS[operation.result])
    got = _run(operation, MatrixBits(), left, right, start)
    wide = left.astype(np.float64) @ right.astype(np.float64).swapaxes(1, 2) + start
    np.testing.assert_array_equal(got.astype(np.float64), wide)


def test_there_are_all_dense_families_of_the_machine() -> None:
    assert len(MATRIX) == 5 + 2 + 5 + 5 + 2 + 5 + 8
    assert {operation.a for operation in MATRIX.values()} == set(Element)


def test_xf32_drops_thirteen_bits_of_its_operands() -> None:
    operation = MATRIX["v_mfma_f32_16x16x8_xf32"]
    left = np.zeros((1, 16, 8), np.float32)
    left[0, :, 0] = np.float32(1 + 2**-11)
    right = np.ones((1, 16, 8), np.float32)
    got = _run(operation, MatrixBits(), left, right, np.zeros((1, 16, 16), np.float32))
    assert (got == 1).all()


def test_float32_products_are_fused_into_the_sum() -> None:
    operation = MATRIX["v_mfma_f32_16x16x4_f32"]
    left = np.zeros((1, 16, 4), np.float32)
    left[0, :, 0] = np.float32(1 + 2**-23)
    right = left.copy()
    start = np.full((1, 16, 16), -(1 + 2**-22), np.float32)
    assert (_run(operation, MatrixBits(), left, right, start) == np.float32(2**-46)).all()


def test_a_block_of_a_is_broadcast_within_groups() -> None:
    operation = MATRIX["v_mfma_f32_4x4x4_16b_f16"]
    left = _random(Element.F16, (16, 4, 4), 1)
    right = _random(Element.F16, (16, 4, 4), 2)
    got = _run(operation, MatrixBits(cbsz=2, abid=3), left, right, np.zeros((16, 4, 4), np.float32))
    used = left[[block // 4 * 4 + 3 for block in range(16)]]
    np.testing.assert_array_equal(got, used.astype(np.float32) @ right.astype(np.float32).swapaxes(1, 2))


def test_lanes_of_b_are_broadcast() -> None:
    operation = MATRIX["v_mfma_f32_16x16x4_4b_f16"]
    left = _random(Element.F16, (4, 16, 4), 1)
    right = _random(Element.F16, (4, 16, 4), 2)
    got = _run(operation, MatrixBits(blgp=6), left, right, np.zeros((4, 16, 16), np.float32))
    used = np.broadcast_to(right[2:3], right.shape)
    np.testing.assert_array_equal(got, left.astype(np.float32) @ used.astype(np.float32).swapaxes(1, 2))


def test_float64_takes_signs_instead() -> None:
    operation = MATRIX["v_mfma_f64_16x16x4_f64"]
    left, right = (_random(Element.F64, (1, 16, 4), seed) for seed in (1, 2))
    start = np.ones((1, 16, 16))
    got = _run(operation, MatrixBits(blgp=0b101), left, right, start)
    np.testing.assert_array_equal(got, -left @ right.swapaxes(1, 2) - start)


def test_lanes_of_b_are_rotated_down_by_sixteen() -> None:
    operation = MATRIX["v_mfma_f32_16x16x4_4b_f16"]
    left = _random(Element.F16, (4, 16, 4), 1)
    right = _random(Element.F16, (4, 16, 4), 2)
    got = _run(operation, MatrixBits(blgp=3), left, right, np.zeros((4, 16, 16), np.float32))
    used = right[[1, 2, 3, 0]]
    np.testing.assert_array_equal(got, left.astype(np.float32) @ used.astype(np.float32).swapaxes(1, 2))


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("v_mfma_f32_32x32x1_2b_f32", MatrixBits(cbsz=2)),
        ("v_mfma_f32_32x32x1_2b_f32", MatrixBits(cbsz=1, abid=2)),
        ("v_mfma_f32_32x32x2_f32", MatrixBits(cbsz=1)),
        ("v_mfma_f64_4x4x4_4b_f64", MatrixBits(cbsz=1)),
    ],
)
def test_broadcasts_of_blocks_that_do_not_exist_are_refused(name: str, bits: MatrixBits) -> None:
    a, b, c = MATRIX[name].registers
    instruction = make(name, Encoding.MAI, [v(32, c)], [v(0, a), v(2, b), integer(0)], matrix=bits)
    with pytest.raises(UnsupportedError, match="blocks"):
        execute(make_wave(), instruction)


@pytest.mark.parametrize("sources", [[s(0), v(2), v(4, 4)], [v(0), s(2), v(4, 4)], [v(0), v(2), s(4, 4)]])
def test_matrices_lie_in_vector_registers(sources: list[Operand]) -> None:
    with pytest.raises(AccessError, match="vector registers"):
        execute(make_wave(), make("v_mfma_f32_16x16x4_f32", Encoding.MAI, [v(32, 4)], sources))


def test_a_constant_accumulator_is_the_same_everywhere() -> None:
    wave = make_wave()
    execute(
        wave,
        make("v_mfma_i32_16x16x32_i8", Encoding.MAI, [v(4, 4)], [v(0, 2), v(2, 2), integer(-5)], matrix=MatrixBits()),
    )
    assert (wave.vgprs[4:8].view(np.int32) == -5).all()
