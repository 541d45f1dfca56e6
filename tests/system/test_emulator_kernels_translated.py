"""Whole kernels by translated code: those of ``test_emulator_kernels.py`` again, the GEMM, random programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.translator.program import Translator
from tests.system.emulator_compiler import compile_device, compile_gemm
from tests.system.emulator_gemm import put, run_gemm, share_in_tolerance
from tests.system.emulator_programs import BUCKETS, INPUTS, OUTPUTS, WORKITEMS, Writer
from tests.system.test_emulator_gemm import CASES
from tests.system.test_emulator_kernels import *  # noqa: F403 - pytest finds the tests by their names here too
from tests.system.test_emulator_kernels import Bench

pytestmark = pytest.mark.needs_llvm


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator(tmp_path_factory.mktemp("translated"))


@pytest.fixture(name="bench")
def _translated_bench(image: bytes, translator: Translator) -> Bench:
    """Stand in for the reference's."""
    device = Device(translator)
    return Bench(device, device.load(read_code_object(image, "kernels.co")))


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    path = compile_gemm(tmp_path_factory.mktemp("gemm"))
    return read_code_object(path.read_bytes(), path.name)


@pytest.mark.parametrize("layouts", ["nn", "tt"])
def test_the_gemm_gives_the_same_bits(layouts: str, gemm: CodeObject, translator: Translator) -> None:
    case = next(case for case in CASES if case.name.startswith("ragged") and case.name.endswith(layouts))
    options = Options(seed=3, residency=2)
    got, execution = run_gemm(gemm, case, device=Device(translator), options=options)
    want, expected = run_gemm(gemm, case, options=options)
    assert got.tobytes() == want.tobytes()
    assert execution == expected
    assert share_in_tolerance(case, got) == 1.0


def test_random_programs_give_the_bits_of_the_reference(translator: Translator, tmp_path: Path) -> None:
    source = tmp_path / "program.hip"
    source.write_text(Writer(107, 60).program())
    path = compile_device(source, tmp_path / "program.co", flags=("-ffp-contract=off",))
    inputs = np.random.default_rng(7).integers(0, 1 << 32, (WORKITEMS, INPUTS), dtype=np.uint64).astype(np.uint32)
    results = []
    for device in (Device(), Device(translator)):
        code = device.load(read_code_object(path.read_bytes(), path.name))
        shapes = ((WORKITEMS, OUTPUTS), (BUCKETS,))
        places = [put(device, "in", inputs), *(put(device, "out", np.zeros(shape, np.uint32)) for shape in shapes)]
        arguments = b"".join(place.address.to_bytes(8, "little") for place in places)
        geometry = Geometry(grid=(WORKITEMS // 64, 1, 1), block=(64, 1, 1))
        execution = device.launch(code, "kernel", geometry, arguments, options=Options(seed=1, dynamic_stack=4096))
        results.append((execution, *(place.data.tobytes() for place in places)))
    assert results[0] == results[1]


def test_translated_code_executed_nearly_everything(translator: Translator) -> None:
    assert translator.work.missing is None
    assert translator.work.translated > 1000
    assert translator.work.interpreted.total() < translator.work.translated / 1000
