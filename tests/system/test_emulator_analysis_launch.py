"""Launches carry what is wrong with the code of their kernel, and say what of it could not be analysed."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.reports import Detector, FaultError, FaultKind
from tests.system.emulator_analysis_assembly import assemble

pytestmark = pytest.mark.needs_llvm

_KERNELS = {
    "close": "v_readfirstlane_b32 s4, v0; v_add_u32 v1, s4, v0; s_endpgm",
    "apart": "v_readfirstlane_b32 s4, v0; s_nop 1; v_add_u32 v1, s4, v0; s_endpgm",
    "traps": "v_readfirstlane_b32 s4, v0; v_add_u32 v1, s4, v0; s_trap 2",
    "into_the_middle": "s_cbranch_execz 1; v_readlane_b32 s4, v0, 3; s_endpgm",
}
"""The branch of the last one is never taken: some lanes are active."""
_ALL = frozenset((Detector.WAITS, Detector.HAZARDS))


@pytest.fixture(scope="module")
def code_object(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    return assemble(_KERNELS, tmp_path_factory.mktemp("launched"))


def _launch(code_object: CodeObject, kernel: str, detectors: frozenset[Detector]) -> tuple[list[str], tuple[str, ...]]:
    device = Device()
    geometry = Geometry(grid=(1, 1, 1), block=(64, 1, 1))
    code = device.load(code_object)
    execution = device.launch(code, kernel, geometry, b"", options=Options(detectors=detectors))
    return [str(fault) for fault in execution.findings], execution.remarks


def test_a_hazard_in_the_code_is_a_finding_of_the_launch(code_object: CodeObject) -> None:
    found, remarks = _launch(code_object, "close", _ALL)
    assert len(found) == 1
    assert "v_add_u32: hazard: it needs 2 wait states behind" in found[0]
    assert remarks == ()
    assert _launch(code_object, "apart", _ALL) == ([], ())


def test_nothing_is_looked_for_that_was_not_asked_for(code_object: CodeObject) -> None:
    assert _launch(code_object, "close", frozenset()) == ([], ())
    assert _launch(code_object, "close", frozenset((Detector.WAITS,))) == ([], ())


def test_a_kernel_that_fails_still_has_its_findings(code_object: CodeObject) -> None:
    with pytest.raises(FaultError) as caught:
        _launch(code_object, "traps", _ALL)
    assert [fault.kind for fault in caught.value.findings] == [FaultKind.HAZARD]


def test_code_that_cannot_be_analysed_is_executed_and_said(code_object: CodeObject) -> None:
    found, (remark,) = _launch(code_object, "into_the_middle", _ALL)
    assert found == []
    assert remark.startswith("the code of into_the_middle is not analysed")
    assert "in the middle of the instruction" in remark
