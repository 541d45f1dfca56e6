"""The machine code of this repository's GEMM computes what its numerical cases ask for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rocmatrix.cases import Case
from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Options
from tests.system.emulator_compiler import compile_gemm
from tests.system.emulator_gemm import run_gemm, share_in_tolerance

pytestmark = pytest.mark.needs_llvm

_CASES = Path(__file__).parents[2] / "kernels/gemm/tests/cases.py"


def _cases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gemm_cases", _CASES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gemm_cases"] = module
    spec.loader.exec_module(module)
    return module


CASES: list[Case] = _cases().CASES


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    path = compile_gemm(tmp_path_factory.mktemp("gemm"))
    return read_code_object(path.read_bytes(), path.name)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_element_of_every_case_is_in_tolerance(gemm: CodeObject, case: Case) -> None:
    got, execution = run_gemm(gemm, case)
    assert share_in_tolerance(case, got) == 1.0
    assert execution.instructions > 0


def test_the_order_of_waves_and_workgroups_does_not_matter(gemm: CodeObject) -> None:
    case = next(case for case in CASES if case.name.startswith("unaligned") and case.name.endswith("nt"))
    results = [run_gemm(gemm, case, options=Options(seed=seed, residency=2))[0].tobytes() for seed in (1, 2)]
    assert results[0] == results[1] == run_gemm(gemm, case)[0].tobytes()
