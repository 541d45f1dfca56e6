"""Exact matrix arithmetic: translated code gives the bits of the reference, on numbers that are hard to add."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator import matrix_exact
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Encoding, Instruction, MatrixBits
from rocmatrix.emulator.numerics import EXACT_MATRICES
from rocmatrix.emulator.semantics.matrix import MATRIX, Element, MatrixOperation
from rocmatrix.emulator.translator import compiler
from rocmatrix.emulator.translator.program import Translator
from tests.unit.emulator.machine import integer, make, v
from tests.unit.emulator.matrix_inputs import KINDS, draw, draw_c
from tests.unit.emulator.translator import twins
from tests.unit.emulator.translator.twins import Side, control, make_side

pytestmark = pytest.mark.needs_llvm

_A, _B, _C, _OTHER = 0, 32, 64, 128


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("translated")


def _code(operation: MatrixOperation) -> list[Instruction]:
    """Return sums from registers, from a constant, into other registers, and with permuted lanes of B."""
    a, b = v(_A, operation.registers[0]), v(_B, operation.registers[1])
    target, other = v(_C, operation.results), v(_OTHER, operation.results)
    bits = MatrixBits(cbsz=1, abid=1, blgp=4) if operation.broadcasts else MatrixBits(blgp=4)
    return [
        make(operation.name, Encoding.MAI, [target], [a, b, target]),
        make(operation.name, Encoding.MAI, [other], [a, b, integer(0)]),
        make(operation.name, Encoding.MAI, [other], [a, b, target]),
        make(operation.name, Encoding.MAI, [target], [a, b, other], matrix=bits),
        control("s_endpgm"),
    ]


def _words(element: Element, registers: int, kind: str, random: np.random.Generator) -> Array:
    elements = draw(element, (registers * 32 // element.bits, 64), kind, random)
    return np.ascontiguousarray(elements).view(np.uint8).reshape(-1).view(np.uint32).reshape(registers, 64)


def _fill(side: Side, operation: MatrixOperation, kind: str) -> None:
    random = np.random.default_rng(17)
    a, b, c = operation.registers
    side.wave.numerics = EXACT_MATRICES
    side.wave.vgprs[_A : _A + a] = _words(operation.a, a, kind, random)
    side.wave.vgprs[_B : _B + b] = _words(operation.b, b, kind, random)
    side.wave.vgprs[_C : _C + c] = draw_c((c, 64), kind, random).view(np.uint32)


def _differences(operation: MatrixOperation, kind: str, cache: Path) -> list[str]:
    translator = Translator(cache)
    sides = [make_side(one, _code(operation), 1, Mode()) for one in (None, translator)]
    for side in sides:
        _fill(side, operation, kind)
        twins.finish(side)
    assert not translator.work.interpreted
    return twins.differences(*sides)


@pytest.mark.parametrize("name", [name for name, operation in MATRIX.items() if matrix_exact.differs(operation)])
def test_translated_sums_have_the_bits_of_the_reference(name: str, cache: Path) -> None:
    assert [_differences(MATRIX[name], kind, cache) for kind in KINDS] == [[]] * len(KINDS)


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x32_fp8_bf8", "v_mfma_f32_32x32x8_bf16"])
def test_a_processor_without_vectors_of_eight_gives_the_same_bits(
    name: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_architecture", lambda _machine: ())
    assert [_differences(MATRIX[name], kind, cache) for kind in KINDS] == [[]] * len(KINDS)


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x4_f32", "v_mfma_f64_16x16x4_f64", "v_mfma_i32_16x16x32_i8"])
def test_where_the_fast_arithmetic_is_exact_nothing_changes(name: str, cache: Path) -> None:
    operation = MATRIX[name]
    a, b, c = operation.registers
    code = [make(name, Encoding.MAI, [v(_C, c)], [v(_A, a), v(_B, b), v(_C, c)]), control("s_endpgm")]
    sides = [make_side(one, code, 1, Mode()) for one in (None, Translator(cache), None)]
    for side in sides[:2]:
        side.wave.numerics = EXACT_MATRICES
    for side in sides:
        twins.finish(side)
    assert not twins.differences(sides[0], sides[1])
    assert not twins.differences(sides[0], sides[2])
