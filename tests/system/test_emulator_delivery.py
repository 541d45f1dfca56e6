"""Loads arrive as early and as late as waits allow: what is right computes the same, what is not is seen by value."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.delivery import CAPACITY, Delivery
from rocmatrix.emulator.device import Device, Execution, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.reports import Detector, FaultKind
from rocmatrix.emulator.translator.program import Translator
from tests.system.emulator_analysis_assembly import assemble
from tests.system.emulator_compiler import compile_device
from tests.system.emulator_gemm import put
from tests.system.emulator_programs import BUCKETS, INPUTS, OUTPUTS, WORKITEMS, Writer

pytestmark = pytest.mark.needs_llvm

EARLY, LATE, MIXED = Delivery
NONE: frozenset[Detector] = frozenset()
UNWRITTEN = frozenset({Detector.UNWRITTEN})
_BEGIN = (
    "s_load_dwordx4 s[4:7], s[0:1], 0; s_load_dword s10, s[0:1], 16; s_waitcnt lgkmcnt(0); "
    "v_lshlrev_b32 v1, 2, v0; v_mov_b32 v2, 7"
)
_END = "; s_waitcnt vmcnt(0) lgkmcnt(0); global_store_dword v1, v3, s[6:7]; s_endpgm"
_LOAD = "global_load_dword v2, v1, s[4:5]; "
_FLAT = "v_mov_b32 v4, s4; v_mov_b32 v5, s5; v_add_co_u32 v4, vcc, v4, v1; v_addc_co_u32 v5, vcc, 0, v5, vcc; "
_WORDS = np.arange(1000, 1000 + 256, dtype=np.uint32)
_LANE = np.arange(64, dtype=np.uint32)


@dataclass(frozen=True)
class Kernel:
    """Code whose result is v3, and what that is in the first 64 lanes when its loads arrive early and late."""

    body: str
    early: Array
    late: Array


def _same(body: str, result: Array) -> Kernel:
    return Kernel(body, result, result)


_IN = _WORDS[:64]
_SEVEN = np.full(64, 7, np.uint32)
KERNELS = {
    "waits": _same(_LOAD + "s_waitcnt vmcnt(0); v_mov_b32 v3, v2", _IN),
    "does_not_wait": Kernel(_LOAD + "v_mov_b32 v3, v2", _IN, _SEVEN),
    "waits_for_the_other_counter": Kernel(_LOAD + "s_waitcnt lgkmcnt(0); v_mov_b32 v3, v2", _IN, _SEVEN),
    "relies_on_the_old_value": Kernel(_LOAD + "v_mov_b32 v3, v2; s_waitcnt vmcnt(0)", _IN, _SEVEN),
    "overwrites_what_is_under_way": Kernel(
        _LOAD + "v_mov_b32 v2, 9; s_waitcnt vmcnt(0); v_mov_b32 v3, v2", np.full(64, 9, np.uint32), _IN
    ),
    "waits_for_the_first_of_two": _same(
        _LOAD + "global_load_dword v4, v1, s[4:5] offset:256; s_waitcnt vmcnt(1); v_mov_b32 v3, v2", _IN
    ),
    "uses_the_second_of_two": Kernel(
        "global_load_dword v4, v1, s[4:5] offset:256; " + _LOAD + "s_waitcnt vmcnt(1); v_mov_b32 v3, v2", _IN, _SEVEN
    ),
    "a_store_counts_too": _same(
        _LOAD + "global_store_dword v1, v1, s[6:7]; s_waitcnt vmcnt(1); v_mov_b32 v3, v2", _IN
    ),
    "lanes_that_were_active": _same(
        "s_mov_b64 exec, 15; " + _LOAD + "s_mov_b64 exec, -1; s_waitcnt vmcnt(0); v_mov_b32 v3, v2",
        np.where(_LANE < 4, _IN, _SEVEN).astype(np.uint32),
    ),
    "upper_half": Kernel(
        "global_load_short_d16_hi v2, v1, s[4:5]; v_mov_b32 v3, v2", _IN << 16 | 7, _SEVEN
    ),
    "upper_half_waits": _same(
        "global_load_short_d16_hi v2, v1, s[4:5]; s_waitcnt vmcnt(0); v_mov_b32 v3, v2", _IN << 16 | 7
    ),
    "lds": Kernel(
        "ds_write_b32 v1, v0; ds_read_b32 v2, v1; v_mov_b32 v3, v2; s_waitcnt lgkmcnt(0)", _LANE, _SEVEN
    ),
    "lds_in_order": _same(
        "ds_write_b32 v1, v0; ds_read_b32 v2, v1; ds_read_b32 v4, v1; s_waitcnt lgkmcnt(1); v_mov_b32 v3, v2", _LANE
    ),
    "reads_before_it_writes": _same(
        "ds_write_b32 v1, v0; ds_read_b32 v2, v1; ds_write_b32 v1, v1; s_waitcnt lgkmcnt(0); v_mov_b32 v3, v2", _LANE
    ),
    "lanes_through_lds": Kernel("ds_bpermute_b32 v2, v1, v0; v_mov_b32 v3, v2", _LANE, _SEVEN),
    "scalars_out_of_order": Kernel(
        "s_mov_b32 s8, 7; s_load_dword s8, s[4:5], 0; s_load_dword s9, s[4:5], 4; s_waitcnt lgkmcnt(1); "
        "v_mov_b32 v3, s8",
        np.full(64, 1000, np.uint32),
        _SEVEN,
    ),
    "scalars": _same(
        "s_load_dwordx8 s[8:15], s[4:5], 0; s_waitcnt lgkmcnt(0); v_mov_b32 v3, s15", np.full(64, 1007, np.uint32)
    ),
    "flat_waits_for_one_counter": Kernel(
        _FLAT + "flat_load_dword v2, v[4:5]; s_waitcnt vmcnt(0); v_mov_b32 v3, v2", _IN, _SEVEN
    ),
    "flat_waits_for_both": _same(
        _FLAT + "flat_load_dword v2, v[4:5]; s_waitcnt vmcnt(0); s_waitcnt lgkmcnt(0); v_mov_b32 v3, v2", _IN
    ),
    "an_atomic_returns": Kernel(
        "v_mov_b32 v4, 1; global_atomic_add v2, v1, v4, s[4:5] sc0; v_mov_b32 v3, v2", _IN, _SEVEN
    ),
    "to_lds": Kernel(
        "ds_write_b32 v1, v2; s_mov_b32 m0, 0; s_nop 0; global_load_lds_dword v1, s[4:5]; "
        "ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)",
        _IN,
        _SEVEN,
    ),
    "to_lds_waits": _same(
        "ds_write_b32 v1, v2; s_mov_b32 m0, 0; s_nop 0; global_load_lds_dword v1, s[4:5]; s_waitcnt vmcnt(0); "
        "ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)",
        _IN,
    ),
    "bytes_to_lds": _same(
        "s_mov_b32 m0, 0; s_nop 0; global_load_lds_sbyte v1, s[4:5]; s_waitcnt vmcnt(0); "
        "ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)",
        _IN.astype(np.uint8).astype(np.int8).astype(np.int32).view(np.uint32),
    ),
    "shorts_to_lds": _same(
        "s_mov_b32 s8, s4; s_mov_b32 s9, s5; s_movk_i32 s10, 1024; s_mov_b32 s11, 0x20000; s_mov_b32 m0, 0; s_nop 0; "
        "buffer_load_ushort v1, s[8:11], 0 offen lds; s_waitcnt vmcnt(0); ds_read_b32 v3, v1; s_waitcnt lgkmcnt(0)",
        _IN & 0xFFFF,
    ),
    "more_than_there_is_room_for": _same(
        "s_movk_i32 s8, 200; loop_%=: global_load_dwordx2 v[4:5], v1, s[4:5]; s_sub_u32 s8, s8, 1; "
        "s_cmp_lg_u32 s8, 0; s_cbranch_scc1 loop_%=; " + _LOAD + "s_waitcnt vmcnt(0); v_mov_b32 v3, v2",
        _IN,
    ),
}  # fmt: skip

_DECIDES = "v_readfirstlane_b32 s8, v9; s_cmp_lg_u32 s8, 0; s_cbranch_scc1 %=_on; %=_on: v_mov_b32 v3, 7"
UNDEFINED = {
    # out holds nothing yet: what arrives late is undefined too, and where it is from is known then
    "loads_what_nothing_wrote": ("global_load_dword v9, v1, s[6:7]; s_waitcnt vmcnt(0); " + _DECIDES, {EARLY, LATE}),
    # v9 holds nothing until its load has arrived
    "uses_what_has_not_arrived": ("global_load_dword v9, v1, s[4:5]; " + _DECIDES, {LATE}),
    "uses_what_has_arrived": ("global_load_dword v9, v1, s[4:5]; s_waitcnt vmcnt(0); " + _DECIDES, set[Delivery]()),
}
"""Code in which a branch depends on v9, and with which delivery that is undefined."""
NAMES = [*KERNELS, *UNDEFINED]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    """One kernel, whose last argument chooses what it does: what is reached together is translated together."""
    choice = [f"s_cmp_eq_u32 s10, {number}; s_cbranch_scc1 {name}" for number, name in enumerate(NAMES)]
    texts = {name: kernel.body for name, kernel in KERNELS.items()} | {
        name: text for name, (text, _) in UNDEFINED.items()
    }
    bodies = [f"{name}: {text}{_END}".replace("%=", name) for name, text in texts.items()]
    text = "; ".join([_BEGIN, *choice, "s_endpgm", *bodies])
    return assemble({"kernel": text}, tmp_path_factory.mktemp("delivery"), pointers=3)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator(tmp_path_factory.mktemp("translated"))


def _launch(device: Device, code: CodeObject, name: str, options: Options) -> tuple[Array, Execution]:
    words, out = put(device, "in", _WORDS), device.memory.allocate(256, "out", written=False)
    arguments = struct.pack("<3Q", words.address, out.address, NAMES.index(name))
    geometry = Geometry(grid=(1, 1, 1), block=(64, 1, 1))
    execution = device.launch(device.load(code), "kernel", geometry, arguments, options=options)
    return out.data.view(np.uint32).copy(), execution


@pytest.mark.parametrize("name", KERNELS)
def test_both_executors_deliver_as_early_and_as_late_as_waits_allow(
    name: str, code: CodeObject, translator: Translator
) -> None:
    for tracked, delivery in ((UNWRITTEN, EARLY), (UNWRITTEN, LATE), (NONE, LATE)):
        options = Options(delivery=delivery, detectors=tracked)
        results = [_launch(device, code, name, options) for device in (Device(), Device(translator))]
        want = KERNELS[name].early if delivery is EARLY else KERNELS[name].late
        for got, _ in results:
            assert got.tolist() == want.tolist(), (delivery, tracked)
        assert results[0][1] == results[1][1]
        assert not results[0][1].findings


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_has_not_arrived_is_not_defined(name: str, code: CodeObject, translator: Translator) -> None:
    for delivery in (EARLY, LATE):
        options = Options(delivery=delivery, detectors=UNWRITTEN)
        results = [_launch(device, code, name, options)[1].findings for device in (Device(), Device(translator))]
        kinds = [(fault.kind, fault.instruction and fault.instruction.name) for fault in results[0]]
        assert kinds == [(FaultKind.UNWRITTEN, "s_cbranch_scc1")] * (delivery in UNDEFINED[name][1])
        assert [fault.detail for fault in results[0]] == [fault.detail for fault in results[1]]


def test_compiled_programs_do_not_depend_on_it(translator: Translator, tmp_path: Path) -> None:
    source = tmp_path / "program.hip"
    source.write_text(Writer(107, 15).program())
    path = compile_device(source, tmp_path / "program.co", flags=("-ffp-contract=off",))
    inputs = np.random.default_rng(7).integers(0, 1 << 32, (WORKITEMS, INPUTS), dtype=np.uint64).astype(np.uint32)
    results = set()
    for device, delivery in ((Device(), EARLY), (Device(), LATE), (Device(translator), LATE)):
        code = device.load(read_code_object(path.read_bytes(), path.name))
        shapes = ((WORKITEMS, OUTPUTS), (BUCKETS,))
        places = [put(device, "in", inputs), *(put(device, "out", np.zeros(shape, np.uint32)) for shape in shapes)]
        arguments = b"".join(place.address.to_bytes(8, "little") for place in places)
        geometry = Geometry(grid=(WORKITEMS // 64, 1, 1), block=(64, 1, 1))
        options = Options(seed=1, dynamic_stack=4096, delivery=delivery)
        execution = device.launch(code, "kernel", geometry, arguments, options=options)
        results.add((execution, *(place.data.tobytes() for place in places)))
    assert len(results) == 1


def test_each_wave_draws_when_its_loads_arrive() -> None:
    drawn = [MIXED.is_late(3, wave) for wave in range(200)]
    assert drawn == [MIXED.is_late(3, wave) for wave in range(200)], "the same seed gives the same run"
    assert drawn != [MIXED.is_late(4, wave) for wave in range(200)]
    assert 60 < sum(drawn) < 140
    assert CAPACITY < 200, "the last kernel has more under way"
