"""Real launchers on the emulator: what is right passes, and each way of being wrong is told by its own words.

A small kernel project is built as any other; its operators are right or wrong in one way each. The repository's own
GEMM is run as it ships, and once without its matrix instructions.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rocmatrix import pipeline
from rocmatrix.binary.offload import PLAIN_MAGIC
from rocmatrix.check.cases_file import read_cases
from rocmatrix.check.emulator import EmulatorExecutor
from rocmatrix.check.interface import Execution, UntestableError
from rocmatrix.emulator.host.arena import Arena
from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.hip_library import HipLibrary
from rocmatrix.emulator.host.launch import Launch
from rocmatrix.emulator.host.needs import exports
from rocmatrix.emulator.host.prepare import prepare
from rocmatrix.emulator.host.profiles import profile
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import ExitCode, InputError
from rocmatrix.events import discard
from rocmatrix.machine.cache import cache_folder
from rocmatrix.plan.model import Unit
from rocmatrix.records import CaseResult, CheckRecord, Outcome, Tested
from rocmatrix.store import Store
from tests.system.conftest import ROOT, MainJob

pytestmark = [pytest.mark.needs_llvm, pytest.mark.needs_network]

PROJECT = Path(__file__).with_name("host_project")
MATRIX = """\
schema: 1
kernels: [kernels/probe]
torch: ["2.13"]
rocm: ["7.2"]
archs: [gfx942]
toolchains: {"7.2": llvm}
"""
CASE_SECONDS = 120.0
SCALE = b"_ZN12_GLOBAL__N_15scaleEPKfPfif"


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The built probe: its unit, payload and tests."""

    unit: Unit
    payload: Path
    tests: Path

    @property
    def binary(self) -> Path:
        (found,) = self.payload.rglob("*.so")
        return found


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    root = tmp_path_factory.mktemp("probe")
    shutil.copytree(PROJECT, root / "kernels/probe", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "matrix.yaml").write_text(MATRIX)
    result = pipeline.build(pipeline.Options(matrix=root / "matrix.yaml", out=root / "dist"), discard)
    (unit,) = result.units
    assert result.builds[unit.id].outcome is Outcome.PASSED, result.builds[unit.id].error
    return Probe(unit=unit, payload=Store(root / "dist").payload(unit.id), tests=root / "kernels/probe/tests")


HANGS = "hangs"
"""The case that takes all the time that it is given."""


def execute(
    unit: Unit,
    payload: Path,
    tests: Path,
    *names: str,
    folder: Path,
    translated: bool = False,
    case_seconds: float = CASE_SECONDS,
    seed: int = 0,
) -> Execution:
    """Run the cases of these names, or all that end."""
    folder.mkdir()
    cases = read_cases(tests.parent, engine=HostEngine(), scratch=folder, shown="x")
    executor = EmulatorExecutor(
        engine=HostEngine(),
        cache=cache_folder(),
        budget=None,
        translated=translated,
        case_seconds=case_seconds,
        seed=seed,
    )
    chosen = tuple(case for case in cases if (case.name in names if names else case.name != HANGS))
    return executor.run(unit, payload, tests, chosen, progress=lambda *_: None)


@pytest.fixture(scope="module")
def results(probe: Probe, tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseResult]:
    folder = tmp_path_factory.mktemp("cases") / "scratch"
    execution = execute(probe.unit, probe.payload, probe.tests, folder=folder)
    assert execution.tested is Tested.EMULATED
    assert execution.left_out == ("asks",)
    assert "1 of 15 cases not run: the emulator does not support torch's operator aten::matmul" in execution.device
    return {result.case: result for result in execution.results}


@pytest.mark.parametrize("case", ["scale", "shift", "views", "number", "last", "root"])
def test_what_is_right_passes(results: dict[str, CaseResult], case: str) -> None:
    """Floats, optionals, lists, defaults, views of torch, dynamic LDS, grids of three dimensions, an out variant."""
    assert results[case].passed, results[case].detail
    assert results[case].max_rel_error <= 1e-6


def test_the_variant_that_writes_into_out_is_run_too(results: dict[str, CaseResult]) -> None:
    assert "; 2 launches, " in results["scale"].detail
    assert "; 1 launches, " in results["shift"].detail


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("wrong", "wrong: 0 % of 100 elements within tolerance; at [0] it is 0.125853"),
        ("unwritten", "99 % of 100 elements within tolerance; at [99] it is 1.30577099e+36 instead of"),
        ("overrun", "out of bounds: it writes 4 bytes at byte 400 of a tensor that the extension made, which has 400"),
        ("spoil", "write to read-only memory: 4 bytes of the argument x are written"),
        ("too-many", "probe: HIP error 9 (invalid configuration argument); the runtime said: a workgroup of 2048"),
        ("throws", "throws threw: probe: element 100 is not there"),
        ("crash", "the process was ended by SIGSEGV (Segmentation fault) while this case ran"),
        ("nowhere", "the variant has no operator 'nowhere'"),
    ],
)
def test_what_is_wrong_fails_and_is_told(results: dict[str, CaseResult], case: str, said: str) -> None:
    assert not results[case].passed
    assert said in results[case].detail


def test_faults_name_kernel_instruction_and_place(results: dict[str, CaseResult]) -> None:
    assert "overrunEPKfPfi at 0x" in results["overrun"].detail
    assert "global_store_dword" in results["overrun"].detail
    assert "(workgroup (1, 0, 0) wave 0 lane 36 address 0x60000" in results["overrun"].detail


def test_what_no_kernel_wrote_is_a_finding_beside_the_wrong_number(results: dict[str, CaseResult]) -> None:
    (finding,) = results["unwritten"].findings
    assert (finding.kind, finding.instruction) == ("never written", None)
    assert finding.text in results["unwritten"].detail
    assert results["unwritten"].share == 0.99
    assert (results["scale"].findings, results["scale"].share, results["scale"].launches) == ((), 1.0, 2)
    assert results["scale"].instructions > 0


def test_kernels_that_do_not_wait_fail_though_their_numbers_are_right(probe: Probe, tmp_path: Path) -> None:
    """In the first run of a case loads arrive at once; on a GPU they do not."""
    payload = patched(probe.payload, tmp_path / "payload", WAIT, NOTHING, size=4)
    (result,) = execute(probe.unit, payload, probe.tests, "shift", folder=tmp_path / "scratch").results
    assert (result.passed, result.share) == (False, 1.0)
    assert {finding.kind for finding in result.findings} == {"missing wait"}
    assert result.detail.startswith(result.findings[0].text)
    assert "all of 100 elements within tolerance" in result.detail


def test_the_same_seed_makes_the_same_run_and_another_one_other_inputs(probe: Probe, tmp_path: Path) -> None:
    errors = [
        execute(probe.unit, probe.payload, probe.tests, "wrong", folder=tmp_path / str(number), seed=seed)
        .results[0]
        .max_abs_error
        for number, seed in enumerate((0, 7, 7))
    ]
    assert errors[0] != errors[1] == errors[2]


def test_what_depends_on_the_order_or_on_the_last_bit_of_approximations_is_told(probe: Probe, tmp_path: Path) -> None:
    names = ("scale", "last", "root")
    execution = execute(probe.unit, probe.payload, probe.tests, *names, folder=tmp_path / "run", translated=True)
    assert "3 cases repeated in other orders, with late loads and at both ends of 1 ulp" in execution.device
    assert "2 of them depend on that" in execution.device
    scale, last, root = execution.results
    assert (scale.passed, scale.repeated, scale.dependences) == (True, 2, ())
    assert (last.passed, last.repeated) == (True, 6)
    assert [remark.partition(" (seed")[0] for remark in last.dependences] == [
        "1 of 1 elements depend on the order of workgroups and waves"
    ] * len(last.dependences)
    assert last.dependences
    assert (root.passed, root.repeated) == (True, 6)
    assert [remark.partition(" end")[0] for remark in root.dependences] == [
        "it holds with the nearest approximations; at the low",
        "it holds with the nearest approximations; at the high",
    ]
    assert last.dependences[0] in last.detail


def test_a_launcher_that_never_returns_is_ended_and_named(probe: Probe, tmp_path: Path) -> None:
    execution = execute(probe.unit, probe.payload, probe.tests, HANGS, folder=tmp_path / "scratch", case_seconds=2.0)
    (result,) = execution.results
    assert not result.passed
    assert result.detail == "the case did not end within its 2 s; no other case was run after it in that process"


def test_a_unit_whose_every_case_is_beyond_the_emulator_is_untestable(probe: Probe, tmp_path: Path) -> None:
    with pytest.raises(UntestableError, match="aten::matmul"):
        execute(probe.unit, probe.payload, probe.tests, "asks", folder=tmp_path / "scratch")


def _cut(binary: Path) -> None:
    binary.write_bytes(binary.read_bytes()[:20_000])


def _no_elf(binary: Path) -> None:
    binary.write_text("this is no shared object")


def _two(binary: Path) -> None:
    shutil.copy(binary, binary.with_name("another.so"))


@pytest.mark.parametrize(
    ("damage", "words"),
    [(_cut, ".abi3.so: "), (_no_elf, ".abi3.so: this is not an ELF file"), (Path.unlink, "has 0"), (_two, "has 2")],
)
def test_a_payload_that_is_no_sound_shared_object_is_bad_input_with_one_message(
    damage: Callable[[Path], None], words: str, probe: Probe, tmp_path: Path
) -> None:
    payload = shutil.copytree(probe.payload, tmp_path / "payload")
    damage(next(payload.rglob("*.so")))
    with pytest.raises(InputError) as raised:
        execute(probe.unit, payload, probe.tests, "scale", folder=tmp_path / "scratch")
    assert raised.value.exit_code is ExitCode.INPUT
    assert words in str(raised.value)
    assert "Traceback" not in str(raised.value)


LAUNCHES = """
import json, sys
from pathlib import Path
import numpy as np
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.host.host import Host
from rocmatrix.emulator.host.profiles import profile
variant, *libraries = map(Path, sys.argv[1:])
host = Host(variant, libraries, profile=profile("mi300x"), options=Options())
default = host.call("scale", {"x": np.ones(3, np.float32)})
(launch,) = host.call("number", {"x": np.zeros(1, np.float32)}).launches
print(json.dumps({
    "default": default.outputs[0].tolist(), "kernel": launch.kernel, "grid": launch.grid, "block": launch.block,
    "lds": launch.dynamic_lds, "stream": launch.stream, "arguments": launch.arguments.hex(),
    "code": launch.code_object[:4].hex(),
}))
"""


def test_a_launch_arrives_with_all_that_the_launcher_gave(probe: Probe) -> None:
    compiler = RuntimeCompiler(engine=HostEngine(), cache=cache_folder())
    libraries = prepare(probe.binary, compiler)
    argv = [sys.executable, "-c", LAUNCHES, str(probe.binary), *map(str, libraries)]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=CASE_SECONDS, env=environment)
    launch = json.loads(done.stdout)
    assert launch["default"] == [2.0, 2.0, 2.0]
    assert "number" in launch["kernel"]
    assert (launch["grid"], launch["block"], launch["lds"], launch["stream"]) == ([2, 3, 2], [64, 1, 1], 256, 0)
    assert len(bytes.fromhex(launch["arguments"])) == 8
    assert int.from_bytes(bytes.fromhex(launch["arguments"]), "little") >> 40 == 0x60
    assert launch["code"] == b"\x7fELF".hex()


def test_kernels_of_modules_are_launched_with_arguments_in_either_form(probe: Probe) -> None:
    """What launchers do that load code objects by themselves: hipModuleLoadData and what follows."""
    image = ctypes.create_string_buffer(_bundle(probe.binary))
    launches: list[Launch] = []
    arena = Arena(1 << 20)
    try:
        path = RuntimeCompiler(engine=HostEngine(), cache=cache_folder()).hip("libamdhip64.so.7")
        library = HipLibrary(path, arena, profile("mi300x"), lambda launch, _code: launches.append(launch))
        _launch_from_module(ctypes.CDLL(str(path)), image)
        library.check()
    finally:
        arena.close()
    by_pointers, by_buffer = launches
    assert by_pointers == by_buffer
    assert (by_pointers.grid, by_pointers.block, by_pointers.dynamic_lds) == ((2, 1, 1), (64, 1, 1), 16)
    assert by_pointers.arguments == struct.pack("<QQif", 0x1000, 0x2000, 100, 0.5)


def _bundle(binary: Path) -> bytes:
    data = binary.read_bytes()
    return data[data.index(PLAIN_MAGIC) :]


def _launch_from_module(hip: ctypes.CDLL, image: ctypes.Array[ctypes.c_char]) -> None:
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"no such kernel") == 500
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, SCALE) == 0
    values = (ctypes.c_uint64(0x1000), ctypes.c_uint64(0x2000), ctypes.c_int32(100), ctypes.c_float(0.5))
    pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(value) for value in values))
    assert hip.hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 16, None, pointers, None) == 0
    packed, size = ctypes.create_string_buffer(struct.pack("<QQif", 0x1000, 0x2000, 100, 0.5)), ctypes.c_size_t(24)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), 3)
    assert hip.hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 16, None, None, extra) == 0
    size.value = 20
    assert hip.hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 16, None, None, extra) == 9


TORCH_NUMBERS = """
import ctypes, json, sys, torch
names = json.loads(sys.argv[1])
library = ctypes.CDLL(torch.__path__[0] + "/lib/libtorch_cpu.so")
print(json.dumps({name: getattr(library, name)() for name in names}))
"""


@pytest.mark.needs_torch
def test_the_stand_in_has_the_numbers_of_torch() -> None:
    path = RuntimeCompiler(engine=HostEngine(), cache=cache_folder()).torch()
    kinds = ("aoti_torch_dtype_", "aoti_torch_device_type_", "aoti_torch_layout_", "aoti_torch_memory_format_")
    names = sorted(name for name in exports(path) if name.startswith((*kinds, "torch_dtype_")))
    names.remove("aoti_torch_dtype_element_size")
    argv = [sys.executable, "-c", TORCH_NUMBERS, json.dumps(names)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=CASE_SECONDS)
    library = ctypes.CDLL(str(path))
    assert len(names) > 35
    assert {name: getattr(library, name)() for name in names} == json.loads(done.stdout)


# -- the GEMM of this repository -------------------------------------------------------------------------------------

SMALLEST = "single-1x1x128-nn"
MATRIX_INSTRUCTION = b"\xf3\xd3"
"""Upper half of the first word of v_mfma_f32_16x16x32_fp8_fp8 (CDNA 3 ISA document, VOP3P-MAI: opcode 0x73)."""
WAIT = b"\x8c\xbf"
"""Upper half of s_waitcnt (SOPP, opcode 12)."""
NOTHING = b"\x00\x00\x80\xbf"
"""s_nop 0."""


def patched(payload: Path, copy: Path, upper_half: bytes, by: bytes, *, size: int) -> Path:
    """Copy a payload with every instruction of some upper half of its first word replaced."""
    shutil.copytree(payload, copy)
    (binary,) = copy.rglob("*.so")
    data = bytearray(binary.read_bytes())
    code = data.index(PLAIN_MAGIC)
    places = [place for place in range(code, len(data) - size, 4) if data[place + 2 : place + 4] == upper_half]
    assert places, "the machine code has no such instruction"
    for place in places:
        data[place : place + size] = by
    binary.chmod(0o644)
    binary.write_bytes(data)
    return copy


def test_the_main_job_says_that_it_emulated(main_job: MainJob) -> None:
    for unit in main_job.plan.units:
        record = main_job.store.read_record(unit.id, CheckRecord)
        assert isinstance(record, CheckRecord), unit.id
        assert (record.outcome, record.tested) == (Outcome.PASSED, Tested.EMULATED), record.reason
        assert record.reason.startswith("gfx942 on the emulator (")
        assert record.cases
        assert all(case.passed for case in record.cases)
        assert record.left_out == (), "all cases of the GEMM fit the budget"


def test_units_of_the_same_bytes_are_executed_once(main_job: MainJob) -> None:
    records = [main_job.store.read_record(unit.id, CheckRecord) for unit in main_job.plan.units]
    assert len({record.cases for record in records if isinstance(record, CheckRecord)}) == 1


def test_the_translator_comes_to_the_same_numbers(main_job: MainJob, tmp_path: Path) -> None:
    unit, tests = main_job.plan.units[0], ROOT / "kernels/gemm/tests"
    payload = main_job.store.payload(unit.id)
    reference = execute(unit, payload, tests, SMALLEST, folder=tmp_path / "reference")
    translated = execute(unit, payload, tests, SMALLEST, folder=tmp_path / "translated", translated=True)
    assert "translated to C" in translated.device
    assert [_numbers(result) for result in translated.results] == [_numbers(result) for result in reference.results]


def _numbers(result: CaseResult) -> CaseResult:
    """Return a result without what translated code alone affords: exact matrix arithmetic and repetitions.

    The sums of these cases are the same in both arithmetics, rounded to bfloat16.
    """
    each = result.instructions // result.launches
    detail = result.detail.partition(";")[0]
    return replace(result, seconds=0.0, matrix="", repeated=0, launches=0, instructions=each, detail=detail)


def test_a_gemm_without_its_matrix_instructions_fails(main_job: MainJob, tmp_path: Path) -> None:
    unit = main_job.plan.units[0]
    payload = patched(
        main_job.store.payload(unit.id), tmp_path / "payload", MATRIX_INSTRUCTION, NOTHING + NOTHING, size=8
    )
    tests = ROOT / "kernels/gemm/tests"
    whole = execute(unit, main_job.store.payload(unit.id), tests, SMALLEST, folder=tmp_path / "whole")
    broken = execute(unit, payload, tests, SMALLEST, folder=tmp_path / "broken")
    assert [result.passed for result in (*whole.results, *broken.results)] == [True, False]
    assert "0 % of 1 elements within tolerance" in broken.results[0].detail
