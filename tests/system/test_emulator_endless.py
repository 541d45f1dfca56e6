"""Waves that do not end are reported soon, with what they do; those that take long, or wait for the time, are not."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Execution, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.reports import Fault, FaultError, FaultKind
from rocmatrix.emulator.translator.program import Translator
from tests.system.emulator_analysis_assembly import assemble
from tests.system.emulator_gemm import put

pytestmark = pytest.mark.needs_llvm

_BEGIN = "s_load_dwordx2 s[4:5], s[0:1], 0; s_load_dword s10, s[0:1], 8; s_waitcnt lgkmcnt(0); s_mov_b32 s8, 0; "
_END = "; v_mov_b32 v1, 0; v_mov_b32 v2, s8; global_store_dword v1, v2, s[4:5]; s_endpgm"
_COUNT = "again_%: s_add_u32 s8, s8, 1; "
_CLOCK_OF_WAVE_1 = (
    "v_readfirstlane_b32 s11, v0; s_cmp_eq_u32 s11, 0; s_cbranch_scc1 again_%; "
    "s_memtime s[12:13]; s_waitcnt lgkmcnt(0); s_endpgm; "
)
BODIES = {
    # the exit condition is another one in each turn, and never holds
    "comes_back": _COUNT
    + "s_cmp_lt_u32 s8, 701; s_cselect_b32 s8, s8, 0; s_cmp_lg_u32 s8, 5000; s_cbranch_scc1 again_%",
    "comes_back_and_reads": "again_%: s_load_dword s9, s[4:5], 0; s_waitcnt lgkmcnt(0); s_add_u32 s8, s8, 1; "
    "s_cmp_lt_u32 s8, 701; s_cselect_b32 s8, s8, 0; s_cmp_lg_u32 s9, 1; s_cbranch_scc1 again_%",
    # between two looks at memory, thousands of turns of another loop; the look is behind a branch, not at its target
    "backs_off_between_polls": "again_%: s_nop 0; s_load_dword s9, s[4:5], 0; s_waitcnt lgkmcnt(0); "
    "s_cmp_eq_u32 s9, 1; s_cbranch_scc1 end_%; s_movk_i32 s8, 3000; "
    "inner_%: s_sub_u32 s8, s8, 1; s_cmp_lg_u32 s8, 0; s_cbranch_scc1 inner_%; s_branch again_%; end_%: s_nop 0",
    # it looks at memory in one of many basic blocks: the last one, behind the first instruction of that
    "polls_once_in_a_while": "again_%: s_cmp_eq_u32 s9, 1; s_cbranch_scc1 end_%; "
    + "".join(f"s_branch hop_{number}_%; hop_{number}_%: " for number in range(30))
    + "s_branch poll_%; end_%: s_branch out_%; "
    "poll_%: s_nop 0; s_load_dword s9, s[4:5], 0; s_waitcnt lgkmcnt(0); s_branch again_%; out_%: s_nop 0",
    "counts_to_the_end": "s_mov_b32 s9, 0x30000; " + _COUNT + "s_cmp_lg_u32 s8, s9; s_cbranch_scc1 again_%",
    "counts_beyond_the_limit": _COUNT + "s_cmp_lg_u32 s8, -1; s_cbranch_scc1 again_%",
    # all registers but the clock's are as before, and the clock's are cleared
    "waits_for_the_time": "again_%: s_memtime s[8:9]; s_waitcnt lgkmcnt(0); s_cmp_lt_u32 s8, 0x4000; "
    "s_mov_b64 s[8:9], 0; s_cbranch_scc1 again_%",
    # the loop that repeats itself begins when the other wave has had its turn
    "another_asks_for_the_time": _CLOCK_OF_WAVE_1
    + _COUNT
    + "s_cmp_lt_u32 s8, 2000; s_cbranch_scc1 again_%; round_%: s_cmp_lg_u32 s8, 1; s_cbranch_scc1 round_%",
    "comes_back_while_another_asks_for_the_time": _CLOCK_OF_WAVE_1
    + _COUNT
    + "s_cmp_lt_u32 s8, 701; s_cselect_b32 s8, s8, 0; s_cmp_lg_u32 s8, 5000; s_cbranch_scc1 again_%",
}  # fmt: skip


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    """One kernel, whose last argument chooses what it does."""
    choice = [f"s_cmp_eq_u32 s10, {number}; s_cbranch_scc1 {name}" for number, name in enumerate(BODIES)]
    bodies = [f"{name}: {body}{_END}".replace("%", name) for name, body in BODIES.items()]
    text = "; ".join([_BEGIN + choice[0], *choice[1:], "s_endpgm", *bodies])
    return assemble({"kernel": text}, tmp_path_factory.mktemp("endless"), pointers=2)


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> tuple[Device, Device]:
    """Both executors."""
    return Device(), Device(Translator(tmp_path_factory.mktemp("translated")))


def _launch(
    device: Device, code: CodeObject, name: str, options: Options, *, waves: int = 1
) -> tuple[Array, Execution]:
    out = put(device, "out", np.zeros(1, np.uint32))
    arguments = struct.pack("<2Q", out.address, list(BODIES).index(name))
    geometry = Geometry(grid=(1, 1, 1), block=(64 * waves, 1, 1))
    execution = device.launch(device.load(code), "kernel", geometry, arguments, options=options)
    return out.data.view(np.uint32), execution


def _fault(device: Device, code: CodeObject, name: str, limit: int, *, waves: int = 1) -> Fault:
    with pytest.raises(FaultError) as raised:
        _launch(device, code, name, Options(limit=limit), waves=waves)
    return raised.value.fault


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("comes_back", FaultKind.ENDLESS, "without reading memory"),
        ("comes_back_and_reads", FaultKind.DEADLOCK, "until memory changes that nobody will change"),
        ("backs_off_between_polls", FaultKind.DEADLOCK, "until memory changes that nobody will change"),
        ("polls_once_in_a_while", FaultKind.DEADLOCK, "until memory changes that nobody will change"),
    ],
)
def test_a_state_that_comes_back_after_thousands_of_turns_is_found_long_before_the_limit(
    name: str, kind: FaultKind, words: str, code: CodeObject, devices: tuple[Device, Device]
) -> None:
    for device in devices:
        fault = _fault(device, code, name, limit=300_000)
        assert (fault.kind, fault.kernel, str(fault.wave)) == (kind, "kernel", "workgroup (0, 0, 0) wave 0")
        assert words in fault.detail
        assert fault.instruction is not None
        assert f"{fault.instruction.address:#x}"[:-3] in fault.detail, "where it repeats itself"


def test_a_long_loop_that_ends_is_none(code: CodeObject, devices: tuple[Device, Device]) -> None:
    out, execution = _launch(devices[1], code, "counts_to_the_end", Options())
    assert out.tolist() == [0x30000]
    assert execution.instructions > 3 * 0x30000


def test_one_that_waits_for_the_time_ends_too(code: CodeObject, devices: tuple[Device, Device]) -> None:
    for device in devices:
        _, execution = _launch(device, code, "waits_for_the_time", Options())
        assert execution.instructions > 0x4000
        assert any("clock" in remark for remark in execution.remarks)


@pytest.mark.parametrize("name", ["another_asks_for_the_time", "comes_back_while_another_asks_for_the_time"])
def test_that_one_wave_asks_for_the_time_does_not_hide_that_another_repeats_itself(
    name: str, code: CodeObject, devices: tuple[Device, Device]
) -> None:
    for device in devices:
        fault = _fault(device, code, name, limit=300_000, waves=2)
        assert (fault.kind, str(fault.wave)) == (FaultKind.ENDLESS, "workgroup (0, 0, 0) wave 0")
        assert "without reading memory" in fault.detail


def test_the_limit_is_told_with_kernel_wave_instruction_and_count(
    code: CodeObject, devices: tuple[Device, Device]
) -> None:
    for device in devices:
        fault = _fault(device, code, "counts_beyond_the_limit", limit=10_000)
        assert (fault.kind, fault.kernel, str(fault.wave)) == (
            FaultKind.ENDLESS,
            "kernel",
            "workgroup (0, 0, 0) wave 0",
        )
        executed = re.fullmatch(
            r"it has executed (\d+) instructions and does not end: a wave may execute 10000", fault.detail
        )
        assert executed is not None
        assert 10_000 <= int(executed[1]) < 10_003, "to the end of the turn of its loop"
        assert fault.instruction is not None
        assert fault.instruction.name.startswith("s_")
