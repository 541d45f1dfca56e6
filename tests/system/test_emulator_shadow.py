"""What was never written is found where it matters, by both executors alike, and right code is silent."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.code_object import CodeObject, read_code_object
from rocmatrix.emulator.device import Device, LoadedCode, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.memory import Allocation
from rocmatrix.emulator.reports import Detector, Fault, FaultError, FaultKind
from rocmatrix.emulator.translator.program import Translator
from tests.system.emulator_compiler import compile_device
from tests.system.emulator_gemm import put

pytestmark = pytest.mark.needs_llvm

_SOURCE = Path(__file__).with_name("emulator_unwritten.hip")
_TRACKED = Options(detectors=frozenset({Detector.UNWRITTEN}), dynamic_stack=1024)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shadow")


@pytest.fixture(scope="module")
def kernels(folder: Path) -> CodeObject:
    return read_code_object(compile_device(_SOURCE, folder / "kernels.co").read_bytes(), "kernels.co")


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return Translator(folder / "code")


@dataclass(frozen=True)
class Bench:
    """A device with the kernels loaded, and what the last launch found."""

    device: Device
    code: LoadedCode

    def put(self, array: Array) -> Allocation:
        return put(self.device, "an argument", array)

    def fresh(self, size: int) -> Allocation:
        return self.device.memory.allocate(size, "the output", fill=0xCD, written=False)

    def launch(self, kernel: str, *arguments: Allocation | int) -> tuple[Fault, ...]:
        packed = b"".join(
            struct.pack("<Q", value.address) if isinstance(value, Allocation) else struct.pack("<i", value)
            for value in arguments
        )
        geometry = Geometry(grid=(1, 1, 1), block=(64, 1, 1))
        try:
            return self.device.launch(self.code, kernel, geometry, packed, options=_TRACKED).findings
        except FaultError as err:
            return err.findings

    def results(self, kernel: str, *arguments: Allocation | int) -> tuple[Fault, ...]:
        """Launch, and return what was found in the last argument that is memory too."""
        found = self.launch(kernel, *arguments)
        output = [value for value in arguments if isinstance(value, Allocation)][-1]
        return (*found, *self.device.unwritten(output, kernel))


@pytest.fixture(params=["reference", "translated"])
def bench(request: pytest.FixtureRequest, kernels: CodeObject, translator: Translator) -> Bench:
    device = Device(translator) if request.param == "translated" else Device()
    return Bench(device, device.load(kernels))


_NUMBERS = np.arange(64, dtype=np.int32)


@pytest.mark.parametrize(
    ("kernel", "arguments", "words"),
    [
        ("lds_element_missing", (), ["byte 232 of the output", "byte 20 of the workgroup's LDS", "loaded at"]),
        ("lds_decides", (), ["which lanes are active", "byte 20 of the workgroup's LDS"]),
        ("tail_missing", (60,), ["the output", "byte 240 of the workgroup's LDS"]),
        ("scratch_missing", (), ["byte 60 of the output", "of the lane's scratch"]),
        ("output_missing", (60,), ["byte 240 of the output is a result that nothing stored (16 of its 256 bytes"]),
        ("address", (), ["the address depends on v77, which nothing wrote"]),
        ("scalar_branch", (), ["whether it branches depends on s77, which nothing wrote"]),
        ("vector_branch", (), ["which lanes are active depends on v77, which nothing wrote"]),
        ("value", (), ["byte 0 of the output is a result", "depends on v77,"]),
        ("lane_selector", (), ["which lane is read depends on s77,"]),
    ],
)
def test_what_nothing_wrote_is_reported_where_it_matters(
    bench: Bench, kernel: str, arguments: tuple[int, ...], words: list[str]
) -> None:
    found = bench.results(kernel, bench.put(_NUMBERS), bench.fresh(256), *arguments)
    assert found
    fault = found[0]
    assert (fault.kind, fault.kernel) == (FaultKind.UNWRITTEN, kernel)
    for word in words:
        assert word in str(fault)
    if kernel != "output_missing":
        assert fault.instruction is not None
        assert fault.wave is not None
        assert f"at {fault.instruction.address:#x} " in str(fault)


@pytest.mark.parametrize("kernel", ["fresh_index", "fresh_sum", "fresh_atomic"])
def test_memory_that_nobody_filled_is_undefined(bench: Bench, kernel: str) -> None:
    found = bench.results(kernel, bench.fresh(256), bench.fresh(256))
    assert len(found) == 1
    assert "byte 0 of the output" in str(found[0])
    again = bench.results(kernel, bench.put(_NUMBERS), bench.fresh(256))
    assert not again


@pytest.mark.parametrize(
    ("kernel", "size", "arguments"),
    [("copies_padding", 768, ()), ("halves", 128, ()), ("masked_tail", 256, (60,))],
)
def test_legal_reads_of_undefined_registers_are_silent(
    bench: Bench, kernel: str, size: int, arguments: tuple[int, ...]
) -> None:
    assert not bench.launch(kernel, bench.put(_NUMBERS), bench.fresh(size), *arguments)


def test_padding_may_be_copied_from_memory(bench: Bench) -> None:
    records, out = bench.fresh(768), bench.fresh(256)
    assert not bench.launch("copies_padding", bench.put(_NUMBERS), records)
    assert records.undefined is not None
    assert (records.undefined.reshape(64, 12)[:, [0, 4, 5, 6, 7, 8, 9]] == 0).all()
    assert not bench.results("reads_padding", records, out)
    assert out.data.view(np.int32).tolist() == [number + 4 for number in range(64)]


_NOP = (0xBF800000).to_bytes(4, "little")


def _mutate(bench: Bench, kernel: str, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change the first instruction of a name in a kernel's code, in memory."""
    program = Program(bench.device.memory, kernel)
    address = bench.code.address + bench.code.code_object.kernel(kernel).entry
    while (instruction := program.at(address)[0]).name != name:
        address = instruction.next_address
    place = bench.device.memory.bytes_at(address, instruction.size)
    place[:] = np.frombuffer(change(place.tobytes()), np.uint8)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("ds_write_b32", lambda code: bytes([code[0] + 4]) + code[1:], "byte 0 of the workgroup's LDS"),
        (
            "ds_write_b32",
            lambda code: _NOP * (len(code) // 4),
            "of the workgroup's LDS, which nothing wrote, loaded at",
        ),
        ("global_load_dword", lambda code: _NOP * (len(code) // 4), "is stored there depends on v"),
        ("v_sub_u32", lambda code: _NOP * (len(code) // 4), "the address depends on v"),
    ],
    ids=["offset", "write", "load", "difference"],
)
def test_a_changed_instruction_is_reported(
    bench: Bench, name: str, change: Callable[[bytes], bytes], words: str
) -> None:
    assert not bench.results("mirrors", bench.put(_NUMBERS), bench.fresh(256))
    _mutate(bench, "mirrors", name, change)
    found = bench.results("mirrors", bench.put(_NUMBERS), bench.fresh(256))
    assert any(words in str(fault) for fault in found), found


def test_what_one_launch_writes_the_next_may_read(bench: Bench) -> None:
    work = bench.fresh(256)
    assert not bench.results("fills", bench.put(_NUMBERS), work)
    assert not bench.results("fresh_sum", work, bench.fresh(256))


def test_an_instruction_is_reported_once(bench: Bench) -> None:
    found = bench.launch("tail_missing", bench.put(_NUMBERS), bench.fresh(256), 60)
    places = [fault.instruction.address for fault in found if fault.instruction]
    assert len(places) == len(set(places))
