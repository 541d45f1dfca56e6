"""Planted races, lane collisions and deadlocks are found by both executors; the same code without them is silent."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.reports import Detector, Fault, FaultError, FaultKind
from rocmatrix.emulator.translator.program import Translator
from tests.system import emulator_accesses as accesses
from tests.system.emulator_compiler import compile_device

pytestmark = pytest.mark.needs_llvm

_SOURCE = Path(__file__).with_name("emulator_races.hip")
_WORDS = 2048
RACES = frozenset({Detector.RACES})
_RACE, _COLLISION = FaultKind.RACE, FaultKind.COLLISION


@dataclass(frozen=True)
class Launched:
    """What a launch came to: what was found, and each buffer's dwords afterwards."""

    faults: tuple[Fault, ...]
    data: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Planted:
    """A kernel with something wrong: workgroups, and of each finding kind, instruction, and what the detail names."""

    kernel: str
    groups: int
    found: tuple[tuple[FaultKind, str, str], ...]


SILENT = {
    "exchange": 1,
    "bytes_of_a_dword": 1,
    "awaited_read": 1,
    "lds_histogram": 1,
    "last_wave": 1,
    "different_barriers": 1,
    "leaves_before_the_barrier": 1,
    "waves_with_barrier": 1,
    "lanes_agree": 1,
    "disjoint": 2,
    "halves_of_a_dword": 2,
    "atomic_add": 2,
    "same_value": 2,
    "histogram": 2,
    "hand_over": 2,
    "last_workgroup": 4,
    "split_k": 4,
    "chain": 4,
}
"""Kernels in which everything is ordered, and workgroups of the launch."""
PLANTED = (
    Planted("read_after_write", 1, ((_RACE, "ds_write_b32", "ds_read_b32"),)),
    Planted("write_after_read", 1, ((_RACE, "ds_write_b32", "ds_read_b32"),)),
    Planted("pending_read", 1, ((_RACE, "ds_write_b32", "ds_read_b32"),)),
    Planted("pending_write", 1, ((_RACE, "ds_read_b32", "ds_write_b32"),)),
    Planted("pending_load_to_lds", 1, ((_RACE, "ds_read_b32", "global_load_lds_dword"),)),
    Planted("lds_histogram_read_early", 1, ((_RACE, "ds_add_u32", "ds_read_b32"),)),
    Planted("plain_add", 2, ((_RACE, "s_load_dword", "_store_dword"), (_RACE, "_store_dword", "_store_dword"))),
    Planted("neighbours_in_place", 2, ((_RACE, "global_load_dword", "global_store_dword"),)),
    Planted("waves_without_barrier", 1, ((_RACE, "global_store_dword", "global_load_dword"),)),
    Planted("no_release", 2, ((_RACE, "global_load_dword", "global_store_dword"),)),
    Planted("no_acquire", 2, ((_RACE, "global_load_dword", "global_store_dword"),)),
    Planted("lanes_collide", 1, ((_COLLISION, "global_store_dword", "different values"),)),
    Planted("lanes_collide_in_lds", 1, ((_COLLISION, "ds_write_b32", "different values"),)),
)
_FILLED = ("disjoint", "lds_histogram", "lds_histogram_read_early", "histogram", "pending_load_to_lds")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> CodeObject:
    path = compile_device(_SOURCE, tmp_path_factory.mktemp("races") / "races.co")
    return read_code_object(path.read_bytes(), path.name)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator(tmp_path_factory.mktemp("translated"))


def launch(  # what a launch is
    device: Device, code: CodeObject, kernel: str, *, groups: int, threads: int = 256, options: Options | None = None
) -> Launched:
    """Launch a kernel whose arguments are buffers of dwords."""
    loaded = device.load(code)
    size = sum(argument.size for argument in code.kernel(kernel).metadata.args if not argument.is_hidden)
    buffers = [device.memory.allocate(4 * _WORDS, f"buffer {number}") for number in range(size // 8)]
    if kernel in _FILLED:
        buffers[0].data.view(np.uint32)[:] = np.arange(_WORDS) * 7
    arguments = struct.pack(f"<{len(buffers)}Q", *(buffer.address for buffer in buffers))
    geometry = Geometry(grid=(groups, 1, 1), block=(threads, 1, 1))
    options = options or Options(detectors=RACES)
    execution = device.launch(loaded, kernel, geometry, arguments, options=options)
    data = tuple(tuple(buffer.data.view(np.uint32).tolist()) for buffer in buffers)
    return Launched(faults=execution.findings, data=data)


def both(code: CodeObject, translator: Translator, kernel: str, groups: int, options: Options) -> Launched:
    """Launch on both executors, which must agree on everything."""
    reference = launch(Device(), code, kernel, groups=groups, options=options)
    assert launch(Device(translator), code, kernel, groups=groups, options=options) == reference
    return reference


@pytest.mark.parametrize("kernel", SILENT)
def test_ordered_accesses_are_silent(kernel: str, code: CodeObject, translator: Translator) -> None:
    results = set()
    for seed in (0, 1):
        launched = both(code, translator, kernel, SILENT[kernel], Options(seed=seed, detectors=RACES))
        assert launched.faults == ()
        results.add(launched.data)
    assert len(results) == 1
    assert launch(Device(translator), code, kernel, groups=SILENT[kernel], options=Options()).data in results


@pytest.mark.parametrize("planted", PLANTED, ids=[planted.kernel for planted in PLANTED])
def test_what_is_planted_is_found_in_any_order(planted: Planted, code: CodeObject, translator: Translator) -> None:
    for seed in (0, 5):
        options = Options(seed=seed, detectors=RACES)
        faults = both(code, translator, planted.kernel, planted.groups, options).faults
        assert len(faults) == len(planted.found)
        for kind, instruction, named in planted.found:
            # whichever of the two accesses comes last reports the other one
            pairs = [(instruction, named), (named, instruction)]
            assert any(
                fault.kind is kind and later in fault.instruction.name and earlier in fault.detail
                for fault in faults
                if fault.instruction is not None
                for later, earlier in pairs
            ), faults
        fault = faults[0]
        assert (fault.kernel, fault.wave is None, fault.lane is None) == (planted.kernel, False, False)
        assert fault.address is not None
        if fault.kind is FaultKind.RACE:
            assert "workgroup (" in fault.detail


@pytest.mark.parametrize("executor", ["reference", "translated"])
@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        ("flag_that_nobody_sets", FaultKind.DEADLOCK, "workgroup (0, 0, 0) wave 1 repeats 0x"),
        ("barrier_that_never_fills", FaultKind.DEADLOCK, "workgroup (0, 0, 0) wave 0 waits at a barrier at 0x"),
        ("spin_lock", FaultKind.DEADLOCK, "until memory changes"),
        ("loop_for_ever", FaultKind.ENDLESS, "without reading memory"),
        ("counts_for_ever", FaultKind.ENDLESS, "no path leads from there to its end"),
        ("meets_for_ever", FaultKind.ENDLESS, "no path leads from there to its end"),
    ],
)
def test_waves_that_wait_for_ever_are_found_at_once(  # noqa: PLR0917 - parameters and fixtures
    executor: str, kernel: str, kind: FaultKind, words: str, code: CodeObject, translator: Translator
) -> None:
    device = Device(translator) if executor == "translated" else Device()
    with pytest.raises(FaultError) as raised:
        launch(device, code, kernel, groups=1, threads=64 if kernel == "spin_lock" else 128)
    fault = raised.value.fault
    assert (fault.kind, fault.kernel) == (kind, kernel)
    assert fault.instruction is not None
    assert words in fault.detail
    assert "does not end" in fault.detail


def test_workgroups_that_wait_for_more_than_a_device_holds_are_a_deadlock(
    code: CodeObject, translator: Translator
) -> None:
    options = Options(most_resident=3)
    with pytest.raises(FaultError, match="have not begun, because a device holds no more than 3"):
        launch(Device(translator), code, "chain", groups=40, options=options)
    assert launch(Device(translator), code, "chain", groups=40).data[0][:40] == (1,) * 40


def test_random_accesses_are_judged_alike_by_both_executors(translator: Translator, tmp_path: Path) -> None:
    """Waves that access the same bytes in all widths, with and without barriers, waits, fences, scopes."""
    source, count = tmp_path / "accesses.hip", 8
    source.write_text(accesses.Writer(5).source(count))
    path = compile_device(source, tmp_path / "accesses.co")
    code = read_code_object(path.read_bytes(), path.name)
    kinds = []
    for number in range(count):
        launched = both(code, translator, f"k{number}", 2, Options(seed=number, detectors=RACES))
        kinds += [(fault.kind, " of LDS, which " in fault.detail) for fault in launched.faults]
    assert {kind for kind, _ in kinds} == {_RACE, _COLLISION}
    assert sum(in_lds for _, in_lds in kinds) > count
    assert sum(not in_lds for _, in_lds in kinds) > count
