"""The real client imports each variant on a CPU torch; the shipped code is called in every way that needs no GPU."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from rocmatrix.plan.model import Unit
from tests.system import client
from tests.system.conftest import ROOT, MainJob, Prober, client_environment, hip_soname
from tests.system.gemm_calls import LAYOUTS, SHAPE, WRONG_CALLS
from tests.system.hip_stub.runtime import LAUNCH_FAILURE, LAUNCH_FAILURE_TEXT

pytestmark = [pytest.mark.needs_llvm, pytest.mark.needs_network, pytest.mark.needs_torch]

TILES = 4
"""A tile of the result is 128 x 128; the right calls have ceil(130 / 128) * ceil(200 / 128) of them."""
THREADS = 256
OPS = ("gemm", "gemm_out")


def test_the_client_imports_the_planned_variant(main_job: MainJob, probe: Prober, unit: Unit) -> None:
    report = probe(unit)
    assert report.file == str(main_job.variant(unit) / "__init__.py")
    assert report.id == client.read_metadata(main_job.variant(unit)).id
    assert report.exported == ["gemm"]


def test_the_operators_are_there_with_their_schemas(probe: Prober, unit: Unit) -> None:
    report = probe(unit)
    inputs = "Tensor a, Tensor b, Tensor a_scale, Tensor b_scale"
    assert report.schemas["gemm"] == f"{report.id}::gemm({inputs}) -> Tensor"
    out = re.fullmatch(
        re.escape(f"{report.id}::gemm_out({inputs}, ") + r"Tensor\(.*!.*\) out\) -> \(\)", report.schemas["gemm_out"]
    )
    assert out, report.schemas["gemm_out"]


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize("op", OPS)
def test_a_launch_reaches_the_runtime_as_it_should(probe: Prober, unit: Unit, op: str, layouts: str) -> None:
    report = probe(unit)
    reached = report.reached[f"{op}-{layouts}"]
    (launch,) = reached.launches
    assert launch.kernel in report.kernels
    assert "gemm_kernel" in launch.kernel
    assert (launch.grid, launch.block) == ((TILES, 1, 1), (THREADS, 1, 1))
    assert (launch.shared, launch.stream) == (0, 0)
    pointers = [struct.unpack("<Q", value)[0] for value in launch.arguments[:5]]
    assert pointers == [reached.addresses[name] for name in ("a", "b", "a_scale", "b_scale", "out")]
    assert tuple(struct.unpack("<i", value)[0] for value in launch.arguments[5:]) == SHAPE
    assert (reached.shape, reached.dtype) == (SHAPE[:2], "torch.bfloat16")


def test_each_combination_of_layouts_has_its_own_kernel(probe: Prober, unit: Unit) -> None:
    launched = {layouts: probe(unit).reached[f"gemm-{layouts}"].launches[0].kernel for layouts in LAYOUTS}
    assert sorted(launched.values()) == probe(unit).kernels


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_is_refused_with_what_would_be_accepted(probe: Prober, unit: Unit, name: str) -> None:
    for way, refusal in probe(unit).wrong[name].items():
        assert refusal.kind == "RuntimeError", way
        assert refusal.launches == 0, way
        first = refusal.text.partition("\n")[0]
        assert "gemm: " in first, way
        assert [part for part in WRONG_CALLS[name].says if part not in first] == [], (way, first)


def test_every_wrong_call_was_made_in_every_way_that_it_can_be(probe: Prober, unit: Unit) -> None:
    for name, call in WRONG_CALLS.items():
        ways = {"gemm_out"} | (set() if name.startswith("out") else {"gemm"}) | ({"fake"} if call.traced else set())
        assert set(probe(unit).wrong[name]) == ways


def test_a_message_shows_no_path_of_the_machine_that_built_it(probe: Prober, unit: Unit) -> None:
    texts = [refusal.text for ways in probe(unit).wrong.values() for refusal in ways.values()]
    assert [text for text in texts if re.search(r"(^|\s)/\w", text)] == []


def test_a_call_with_cpu_tensors_is_refused_by_the_dispatcher(probe: Prober, unit: Unit) -> None:
    refusal = probe(unit).on_cpu
    assert refusal
    assert (refusal.kind, refusal.launches) == ("NotImplementedError", 0)
    assert "'CPU' backend" in refusal.text


@pytest.mark.parametrize("op", OPS)
def test_a_launch_that_fails_is_an_exception_with_number_and_text(probe: Prober, unit: Unit, op: str) -> None:
    refusal = probe(unit).failed_launch[op]
    assert (refusal.kind, refusal.launches) == ("RuntimeError", 1)
    assert f"HIP error {LAUNCH_FAILURE} ({LAUNCH_FAILURE_TEXT})" in refusal.text


def test_a_failed_launch_does_not_spoil_the_next_one(probe: Prober, unit: Unit) -> None:
    after = probe(unit).after_failed_launch
    assert after
    assert (after.kind, after.launches) == (None, 1)


@pytest.mark.parametrize("op", OPS)
def test_a_call_traces_under_torch_compile(probe: Prober, unit: Unit, op: str) -> None:
    report = probe(unit)
    traced = report.traced[op]
    assert traced.graphs == [[f"{report.id}.{op}"]]
    assert (traced.shape, traced.dtype, traced.device) == (SHAPE[:2], "torch.bfloat16", "cuda")
    assert traced.is_out == (op == "gemm_out")


@pytest.mark.parametrize("op", OPS)
def test_one_graph_serves_several_shapes(probe: Prober, unit: Unit, op: str) -> None:
    traced = probe(unit).dynamic[op]
    assert len(traced.graphs) == 1
    assert traced.shape == SHAPE[:2]


IMPORT_WITHOUT_HIP = """
import ctypes, sys
from pathlib import Path
try:
    ctypes.CDLL(sys.argv[3])
except OSError:
    pass
else:
    sys.exit(77)
import torch
torch.version.hip = sys.argv[2]
from kernels import get_local_kernel
get_local_kernel(Path(sys.argv[1]))
"""


def test_without_the_hip_runtime_the_import_error_names_it(main_job: MainJob, unit: Unit, tmp_path: Path) -> None:
    variant = main_job.variant(unit)
    soname = hip_soname(variant)
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT_HIP, str(variant.parent), f"{unit.rocm}.0", soname],
        cwd=ROOT,
        env=client_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == 77:
        pytest.skip(f"this machine has {soname}, so that nothing is missing")
    assert done.returncode == 1
    assert f"ImportError: {soname}: cannot open shared object file" in done.stderr
