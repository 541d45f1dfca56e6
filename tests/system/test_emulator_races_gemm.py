"""The GEMM's own code is free of races, and each of its barriers is needed: without it the detector speaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from rocmatrix.cases import Case
from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.reports import Detector, FaultKind
from tests.system.emulator_compiler import compile_gemm
from tests.system.emulator_gemm import run_gemm, share_in_tolerance
from tests.system.test_emulator_gemm import CASES

pytestmark = pytest.mark.needs_llvm

_BARRIER, _NOP = 0xBF8A0000, 0xBF800000
"""``s_barrier`` and ``s_nop 0`` (ISA document, "SOPP")."""
_LAYOUTS = ("nn", "tt")
"""Two of the four kernels: all four have the same barriers, and each takes seconds."""
_RACES = Options(detectors=frozenset({Detector.RACES}), seed=3)


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    path = compile_gemm(tmp_path_factory.mktemp("gemm"))
    return read_code_object(path.read_bytes(), path.name)


def _case(layouts: str) -> Case:
    """Return a case of two workgroups and two steps along K."""
    return next(case for case in CASES if case.name == f"one-row-1x200x256-{layouts}")


def _without_barriers(code: CodeObject, layouts: str) -> Iterator[CodeObject]:
    """Return the code without one of the barriers of the kernel for these layouts, for each of them."""
    name = f"ILNS_10ContiguousE{int(layouts[0] == 't')}ELS1_{int(layouts[1] == 'n')}EEE"
    entries = sorted(kernel.entry for kernel in code.kernels.values())
    entry = next(kernel.entry for kernel in code.kernels.values() if name in kernel.name)
    end = next((other for other in entries if other > entry), None)
    for number, segment in enumerate(code.segments):
        words = np.frombuffer(segment.data[: len(segment.data) // 4 * 4], np.uint32)
        for place in np.flatnonzero(words == _BARRIER).tolist():
            address = segment.address + 4 * place
            if address < entry or (end is not None and address >= end):
                continue
            patched = words.copy()
            patched[place] = _NOP
            segments = list(code.segments)
            segments[number] = replace(segment, data=patched.tobytes() + segment.data[4 * len(words) :])
            yield replace(code, segments=tuple(segments))


@pytest.mark.parametrize("layouts", _LAYOUTS)
def test_the_gemm_is_silent_and_every_barrier_of_it_is_missed(layouts: str, gemm: CodeObject) -> None:
    case = _case(layouts)
    got, execution = run_gemm(gemm, case, options=_RACES)
    assert execution.findings == ()
    assert share_in_tolerance(case, got) == 1.0
    codes = list(_without_barriers(gemm, layouts))
    assert len(codes) == 2, "one before a tile is read, one before it is overwritten"
    for code in codes:
        _, execution = run_gemm(code, case, options=_RACES)
        assert execution.findings
        for fault in execution.findings:
            assert fault.kind is FaultKind.RACE
            assert fault.instruction is not None
            assert fault.instruction.name.startswith("ds_")
            assert "of LDS" in fault.detail
