"""Kernels for single features of the machine, compiled in the test, against what NumPy says."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.code_object import read_code_object
from rocmatrix.emulator.device import Device, Execution, LoadedCode, Options
from rocmatrix.emulator.hidden_arguments import Extent, Geometry
from rocmatrix.emulator.memory import Allocation
from rocmatrix.emulator.placement import Topology
from rocmatrix.emulator.reports import Detector, FaultError, FaultKind, UnsupportedError
from rocmatrix.errors import InputError
from tests.system.emulator_compiler import compile_device
from tests.system.emulator_gemm import put

pytestmark = pytest.mark.needs_llvm

_SOURCE = Path(__file__).with_name("emulator_kernels.hip")
_LANES = np.arange(64)


@dataclass(frozen=True)
class Bench:
    """A device with the kernels loaded, and what is looked for in every launch, which must be silent."""

    device: Device
    code: LoadedCode
    detectors: frozenset[Detector] = frozenset()

    def put(self, array: Array) -> Allocation:
        return put(self.device, "an argument", array)

    def launch(
        self,
        kernel: str,
        *arguments: Allocation | int,
        grid: Extent = (1, 1, 1),
        block: Extent = (64, 1, 1),
        lds: int = 0,
        options: Options | None = None,
    ) -> Execution:
        packed = b"".join(
            struct.pack("<Q", value.address) if isinstance(value, Allocation) else struct.pack("<i", value)
            for value in arguments
        )
        geometry = Geometry(grid=grid, block=block, dynamic_lds=lds)
        options = replace(options or Options(), detectors=self.detectors)
        execution = self.device.launch(self.code, kernel, geometry, packed, options=options)
        assert not execution.findings, "\n".join(map(str, execution.findings))
        return execution


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compile_device(_SOURCE, tmp_path_factory.mktemp("kernels") / "kernels.co").read_bytes()


@pytest.fixture
def bench(image: bytes) -> Bench:
    device = Device()
    return Bench(device, device.load(read_code_object(image, "kernels.co")))


def test_hidden_arguments_and_ids_describe_a_three_dimensional_launch(bench: Bench) -> None:
    grid, block = (3, 2, 2), (10, 3, 4)
    out = bench.put(np.zeros((12 * 120, 4), np.uint32))
    bench.launch("geometry", out, grid=grid, block=block)
    got = out.data.view(np.uint32).reshape(2, 2, 3, 4, 3, 10, 4)
    z, y, x, c, b, a = np.ogrid[:2, :2, :3, :4, :3, :10]
    assert (got[..., 0] == (3 | 2 << 8 | 2 << 16)).all()
    assert (got[..., 1] == (10 | 3 << 8 | 4 << 16)).all()
    assert (got[..., 2] == (x | y << 8 | z << 16)).all()
    assert (got[..., 3] == (a | b << 8 | c << 16)).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_reduction_through_lds_survives_waves_that_leave_early(bench: Bench, seed: int) -> None:
    numbers = np.arange(1000, dtype=np.float32)
    out = bench.put(np.zeros(2, np.float32))
    launch = {"grid": (2, 1, 1), "block": (256, 1, 1), "lds": 1024, "options": Options(seed=seed)}
    bench.launch("reduce", bench.put(numbers), out, 1000, **launch)  # type: ignore[arg-type]  # keyword arguments
    assert out.data.view(np.float32).tolist() == [numbers.sum(), numbers.sum()]


def _dpp(values: Array, source: Callable[[int], int | None], *, bound: bool, write: Callable[[int], bool]) -> list[int]:
    result = []
    for lane in range(64):
        other = source(lane)
        if not write(lane) or (other is None and not bound):
            result.append(-7)
        else:
            result.append(0 if other is None else int(values[other]))
    return result


def test_lanes_exchange_values_as_the_isa_document_says(bench: Bench) -> None:
    values = np.random.default_rng(3).integers(-1000, 1000, 64).astype(np.int32)
    out = bench.put(np.full((17, 64), -99, np.int32))
    bench.launch("lanes", bench.put(values), out)
    got = out.data.view(np.int32).reshape(17, 64)
    everywhere: Callable[[int], bool] = lambda _lane: True  # noqa: E731
    expected = [
        _dpp(values, lambda i: i - 1 if i % 16 else None, bound=False, write=everywhere),
        _dpp(values, lambda i: i + 1 if i % 16 < 15 else None, bound=True, write=everywhere),
        _dpp(values, lambda i: i ^ 3, bound=False, write=everywhere),
        _dpp(values, lambda i: i // 16 * 16 - 1 if i >= 16 else None, bound=False, write=lambda i: i // 16 in (1, 3)),
        _dpp(values, lambda i: 31 if i >= 32 else None, bound=False, write=lambda i: i >= 32),
        _dpp(values, lambda i: i // 16 * 16 + (i - 4) % 16, bound=False, write=lambda i: i // 4 % 4 in (0, 2)),
        _dpp(values, lambda i: i ^ 15, bound=False, write=everywhere),
        _dpp(values, lambda i: i ^ 7, bound=False, write=everywhere),
        values[_LANES ^ 1].tolist(),
        values[_LANES ^ 2].tolist(),
        values[[int(np.flatnonzero(lane == (_LANES * 5 + 3) % 64)[0]) for lane in range(64)]].tolist(),
        [int(values[37])] * 64,
        [int(values[5]) if lane == 11 else int(values[lane]) for lane in range(64)],
        [5 + (0x123456789ABCDEF0 & ((1 << lane) - 1)).bit_count() for lane in range(64)],
    ]
    for row, want in enumerate(expected):
        assert got[row].tolist() == want, row
    active = (_LANES & 2) != 0
    mask = sum(1 << lane for lane in range(64) if active[lane] and values[lane] > 0)
    folded = np.uint32((mask ^ mask >> 32) & 0xFFFFFFFF).view(np.int32)
    assert got[14].tolist() == [int(folded) if on else -99 for on in active]
    assert got[15].tolist() == [int(values[2]) if on else -99 for on in active]
    pulled = [int(values[(lane + 1) % 64]) if active[(lane + 1) % 64] else 0 for lane in range(64)]
    assert got[16].tolist() == [pulled[lane] if active[lane] else -99 for lane in range(64)]


def test_raw_buffers_read_zero_and_drop_stores_beyond_their_end(bench: Bench) -> None:
    words = np.arange(1, 513, dtype=np.int32)
    out = bench.put(np.full(512, -1, np.int32))
    bench.launch("buffers", bench.put(words), out, 4 * 300)
    got = out.data.view(np.int32)
    assert got[:256].tolist() == (words[:256] + 1).tolist()
    assert got[256:300].tolist() == words[16:60].tolist()
    assert (got[300:] == -1).all()


def test_loads_to_lds_go_to_consecutive_dwords_of_the_wave(bench: Bench) -> None:
    words = np.arange(256, dtype=np.int32) * 3
    out = bench.put(np.zeros(256, np.int32))
    bench.launch("load_to_lds", bench.put(words), out, block=(256, 1, 1))
    assert out.data.view(np.int32).tolist() == [int(words[((i + 64) % 256) ^ 5]) for i in range(256)]


def test_float_atomics_add_up(bench: Bench) -> None:
    numbers = np.arange(64, dtype=np.float32) / 4
    sums, wide = bench.put(np.zeros(12, np.float32)), bench.put(np.ones(2, np.float64))
    bench.launch("float_atomics", sums, wide, bench.put(numbers))
    got = sums.data.view(np.float32)
    assert got[:8].tolist() == [numbers[i::8].sum() for i in range(8)]
    assert got[8:].tolist() == [numbers[i::4].sum() for i in range(4)]
    assert wide.data.view(np.float64).tolist() == [1 + numbers[i::2].sum() for i in range(2)]


def test_compare_and_swap_loops_let_every_lane_through(bench: Bench) -> None:
    counter, wide = bench.put(np.array([1], np.uint32)), bench.put(np.zeros(1, np.uint64))
    bench.launch("compare_and_swap", counter, wide, block=(128, 1, 1))
    want = 1
    for _ in range(128):
        want = (want * 3 + 1) & 0xFFFFFFFF
    assert counter.data.view(np.uint32)[0] == want
    assert wide.data.view(np.uint64)[0] == 127 << 33


def test_eight_bit_floats_are_those_of_ml_dtypes(bench: Bench) -> None:
    random = np.random.default_rng(5)
    numbers = (random.standard_normal(128) * random.choice([1e-3, 1, 50, 1e4], 128)).astype(np.float32)
    numbers[:6] = [0.0, -0.0, 240.0, 248.0, np.inf, np.nan]
    out, back = bench.put(np.zeros(64, np.uint32)), bench.put(np.zeros((64, 4), np.float32))
    bench.launch("eight_bit_floats", bench.put(numbers), out, back)
    octets = out.data.reshape(64, 4)
    fp8, bf8 = numbers.astype(ml_dtypes.float8_e4m3fnuz), numbers.astype(ml_dtypes.float8_e5m2fnuz)
    assert octets[:, :2].ravel().tolist() == fp8.view(np.uint8).tolist()
    assert octets[:, 2:].ravel().tolist() == bf8.view(np.uint8).tolist()
    got = back.data.view(np.float32).reshape(64, 4)
    np.testing.assert_array_equal(got[:, :2].ravel(), fp8.astype(np.float32))
    np.testing.assert_array_equal(got[:, 2:].ravel(), bf8.astype(np.float32))


def test_registers_are_indexed_by_a_number_of_each_lane(bench: Bench) -> None:
    numbers = np.random.default_rng(9).standard_normal((32, 64)).astype(np.float32)
    out = bench.put(np.zeros(64, np.float32))
    bench.launch("indexed_registers", bench.put(numbers), out)
    changed = numbers.copy()
    changed[numbers[0].view(np.uint32) & 31, _LANES] = -1
    assert out.data.view(np.float32).tolist() == changed[_LANES * 7 & 31, _LANES].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_waves_that_wait_for_each_other_take_turns(bench: Bench, seed: int) -> None:
    out = bench.put(np.zeros(256, np.uint32))
    flag = bench.put(np.zeros(1, np.uint32))
    bench.launch("relay", flag, out, block=(256, 1, 1), options=Options(seed=seed, limit=100_000))
    assert out.data.view(np.uint32).tolist() == list(range(256))


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        ("never_ends", FaultKind.DEADLOCK, "does not end"),
        ("lonely_barrier", FaultKind.DEADLOCK, "waits at a barrier"),
        ("trap", FaultKind.TRAP, "s_trap 2"),
        ("out_of_bounds", FaultKind.OUT_OF_BOUNDS, "byte 4000 of an argument, which has 512"),
        ("out_of_lds", FaultKind.OUT_OF_BOUNDS, "the workgroup's LDS, which has 512"),
        ("prints", FaultKind.OUT_OF_BOUNDS, "where nothing is allocated"),
    ],
)
def test_what_a_kernel_does_wrong_is_reported_with_its_place(
    bench: Bench, kernel: str, kind: FaultKind, words: str
) -> None:
    out = bench.put(np.zeros(128, np.uint32))
    with pytest.raises(FaultError) as raised:
        bench.launch(kernel, out, block=(128, 1, 1), lds=512, options=Options(limit=20_000))
    fault = raised.value.fault
    assert (fault.kind, fault.kernel) == (kind, kernel)
    assert words in str(fault)
    assert fault.instruction is not None


def test_a_kernel_that_asks_where_it_runs_gets_what_a_device_may_say_and_a_remark(bench: Bench) -> None:
    groups, waves = 40, 6
    out = bench.put(np.zeros(2 * groups * waves, np.uint32))
    seen = []
    for topology in (Topology(), Topology(xcds=4, compute_units=80)):
        options = Options(seed=5, topology=topology)
        execution = bench.launch("where_it_runs", out, grid=(groups, 1, 1), block=(64 * waves, 1, 1), options=options)
        assert [remark.partition("(")[2].partition(")")[0] for remark in execution.remarks] == [
            "s_memtime",
            "HW_REG_HW_ID",
            "HW_REG_XCC_ID",
        ]
        xcc, hardware = out.data.view(np.uint32).reshape(groups, waves, 2).transpose(2, 0, 1)
        assert (xcc == np.arange(groups)[:, None] % topology.xcds).all(), "workgroups go round robin over XCDs"
        slot, simd, unit, engine = hardware & 15, hardware >> 4 & 3, hardware >> 8 & 15, hardware >> 13 & 3
        assert unit.max() < topology.compute_units // topology.xcds // 4
        places = np.stack([xcc, engine, unit])
        assert (places == places[:, :, :1]).all(), "a workgroup is on one compute unit"
        assert len({*zip(simd[0].tolist(), slot[0].tolist(), strict=True)}) == waves, "no two waves share a slot"
        seen.append(len({*zip(*places[:, :, 0].tolist(), strict=True)}))
    assert seen == [40, 40], "as long as there are free ones, no two workgroups share a compute unit"


def test_what_is_not_modelled_is_refused_with_instruction_and_kernel(bench: Bench) -> None:
    out = bench.put(np.zeros(256, np.float32))
    with pytest.raises(UnsupportedError, match=r"structured_sparse at 0x[0-9a-f]+ v_smfmac_f32_16x16x32_f16"):
        bench.launch("structured_sparse", out, out)


def test_launches_that_do_not_fit_get_one_clear_message(bench: Bench) -> None:
    out = bench.put(np.zeros(64, np.uint32))
    with pytest.raises(InputError, match="has no kernel 'nothing'"):
        bench.launch("nothing", out)
    with pytest.raises(InputError, match="takes 8 bytes of arguments, and was given 12"):
        bench.launch("trap", out, 1)
    with pytest.raises(InputError, match="1025 work-items is larger than the 1024"):
        bench.launch("trap", out, block=(1025, 1, 1))
    with pytest.raises(InputError, match="66560 bytes of LDS, and there are 65536"):
        bench.launch("trap", out, lds=66560)


def test_a_damaged_code_object_gets_one_clear_message(image: bytes) -> None:
    random = np.random.default_rng(1)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(image[: random.integers(len(image))] if random.random() < 0.3 else image)
        for place in random.integers(0, min(len(damaged), 0x2000) or 1, 3 if damaged else 0):
            damaged[place] = random.integers(256)
        try:
            Device().load(read_code_object(bytes(damaged), "damaged.co"))
            outcomes.add("harmless")
        except (InputError, UnsupportedError) as err:
            outcomes.add(type(err).__name__ if "\n" not in err.what else "several lines")
    assert "several lines" not in outcomes
    assert outcomes >= {"harmless", "InputError"}


def test_preloaded_arguments_and_the_compatible_entry_give_the_same(tmp_path: Path) -> None:
    preload = ("-mllvm", "-amdgpu-kernarg-preload-count=4")
    path = compile_device(_SOURCE, tmp_path / "preload.co", machine_flags=preload)
    code_object = read_code_object(path.read_bytes(), "preload.co")
    assert code_object.kernel("buffers").descriptor.preload_length > 0
    results = []
    for preloads in (True, False):
        device = Device()
        bench = Bench(device, device.load(code_object))
        words, out = bench.put(np.arange(1, 513, dtype=np.int32)), bench.put(np.full(512, -1, np.int32))
        bench.launch("buffers", words, out, 4 * 300, options=Options(preloads=preloads))
        results.append(out.data.tobytes())
    assert results[0] == results[1]
    assert np.frombuffer(results[0], np.int32)[299] == 60


@pytest.mark.parametrize("version", [4, 5, 6])
def test_code_object_versions_name_their_hidden_arguments(version: int, tmp_path: Path) -> None:
    flags = (f"-mcode-object-version={version}",)
    path = compile_device(_SOURCE, tmp_path / "kernels.co", flags=flags, machine_flags=flags)
    code_object = read_code_object(path.read_bytes(), "kernels.co")
    assert code_object.version == version
    device = Device()
    bench = Bench(device, device.load(code_object))
    out = bench.put(np.full(64, 7, np.int32))
    bench.launch("load_to_lds", bench.put(np.arange(256, dtype=np.int32)), out)
    assert out.data.view(np.int32)[0] != 7


def test_a_stack_without_a_known_bound_is_as_large_as_the_runtime_makes_it(bench: Bench) -> None:
    depths = np.arange(64, dtype=np.int32) % 4
    out = bench.put(np.zeros(64, np.int32))
    assert bench.code.code_object.kernel("recursive").descriptor.dynamic_stack
    bench.launch("recursive", bench.put(depths), out)
    assert out.data.view(np.int32).tolist() == [1 + sum(range(depth + 1)) for depth in depths]
    deep = bench.put(np.full(64, 40, np.int32))
    with pytest.raises(FaultError, match="of the lane's scratch, which has 1024") as raised:
        bench.launch("recursive", deep, out)
    assert raised.value.fault.kind is FaultKind.OUT_OF_BOUNDS
    bench.launch("recursive", deep, out, options=Options(dynamic_stack=1 << 14))
    assert out.data.view(np.int32).tolist() == [1 + sum(level & 15 for level in range(41))] * 64


def test_scratch_that_no_wave_can_have_is_refused_before_it_is_made(bench: Bench) -> None:
    with pytest.raises(InputError, match="each lane needs 268435456 bytes of scratch, and there are 131056"):
        bench.launch("recursive", bench.put(np.zeros(64, np.int32)), 0, 0, options=Options(dynamic_stack=1 << 28))
