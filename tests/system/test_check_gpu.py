"""``check --on gpu`` as far as a machine without a GPU can show it: real torch, real processes, no AMD GPU.

Cases run through a CPU build of torch in the very processes that run in the container. What only a GPU shows, streams
and poisoned memory of its allocator, is not seen here. No result of a CPU can count: that is the second test.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix import pipeline
from rocmatrix.check.on_gpu.session import Session
from rocmatrix.check.on_gpu.verdict import ran_cases
from rocmatrix.check.stage import Checked, check_units
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import ExitCode
from rocmatrix.events import Emit, Event, UnitFinished, discard
from rocmatrix.gpu.topology import Gpu
from rocmatrix.plan.model import CellId
from rocmatrix.records import CaseResult, CheckRecord, GpuRun, Outcome, Tested
from rocmatrix.store import Absent
from tests.system import gpu_bed
from tests.system.gpu_bed import GPU, MI300X, Built, PlayedContainer

pytestmark = pytest.mark.needs_torch

RIGHT = ("scale", "product", "total", "nothing", "plain", "talks")
WRONG = {
    "wrong": "99.9 % of 1000 elements within tolerance; at [7]",
    "spoil": "the argument x was changed",
    "beside": "the argument x was written beside",
    "shapeless": "the result has the shape (3,), the reference (1000,)",
    "throws": "throws threw ValueError: not today ?[31mnor tomorrow",
    "crashes": "the GPU reports: Memory access fault by GPU node-4",
    "leaves": "ended with status 0 while this case ran",
    "lies": "another file than its own",
    "links": "links threw FileExistsError",
    "swells": "at most 1073741824 are taken",
    "strange": "dtype complex32, which has no counterpart",
    "faults": "faults threw IndexError",
    "exhausts": "exhausts threw RuntimeError",
    "missing": "no op or function missing",
    "hangs": "did not end within its 1 s and was killed; no other case was run after it",
}
AFTER = ("spins",)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The handmade kernel."""
    return gpu_bed.build(tmp_path_factory.mktemp("handmade"))


def run(built: Built, folder: Path, names: tuple[str, ...], limits: Mapping[str, float]) -> dict[str, CaseResult]:
    """Run cases in the processes of a GPU check, on the CPU."""
    host = HostEngine()
    session = Session(host=host, container=host, room="handmade", folder=folder, python=sys.executable, device="cpu")
    inputs = session.prepare(built.tests, limits, seed=7)
    done: list[str] = []
    ran = session.run(built.payload, inputs, names, 300.0, done.append)
    cases = ran_cases(ran, names, limits)
    results = session.compare(built.tests, ran.results, cases, seed=7)
    assert set(done) <= set(names)
    return {result.case: result for result in results}


@pytest.fixture(scope="module")
def results(built: Built, tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseResult]:
    """What all cases came to, in one run."""
    names = (*RIGHT, *WRONG, *AFTER)
    limits = {name: 1.0 if name == "hangs" else 60.0 for name in names}
    return run(built, tmp_path_factory.mktemp("run"), names, limits)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_case_passes_with_every_kind_of_argument(results: dict[str, CaseResult], name: str) -> None:
    assert results[name].passed, results[name].detail
    assert results[name].detail.endswith(f"; {3 if name == 'scale' else 2} calls on the GPU")
    assert results[name].max_abs_error < 1e-4
    assert results[name].share == 1.0


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_case_fails_with_its_own_reason_and_the_next_ones_run(
    results: dict[str, CaseResult], name: str
) -> None:
    assert not results[name].passed
    assert WRONG[name] in results[name].detail
    assert results[name].detail.isprintable()


def test_behind_a_case_that_hangs_none_runs(results: dict[str, CaseResult]) -> None:
    assert set(results) == {*RIGHT, *WRONG}


def check(built: Built, container: HostEngine, gpu: Gpu = GPU) -> CheckRecord:
    """Do the stage on the only unit, and return its record as it was written."""
    run_stage(built, container, discard, gpu)
    record = built.store.read_record(built.unit.id, CheckRecord)
    assert isinstance(record, CheckRecord)
    return record


def run_stage(built: Built, container: HostEngine, emit: Emit, gpu: Gpu = GPU) -> Checked:
    return check_units(
        (built.unit,),
        plan=built.plan,
        source_root=built.options.matrix.parent,
        store=built.store,
        emit=emit,
        executor=gpu_bed.executor(built, container, gpu),
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The handmade kernel with cases that are right."""
    made = gpu_bed.build(tmp_path_factory.mktemp("sound"))
    made.keep_cases("scale", "product")
    return made


@pytest.mark.parametrize(
    ("said", "later", "told"),
    [
        (None, None, r"torch\.version\.hip is None"),  # the real CPU torch
        (MI300X | {"hip": "7.1.25424"}, None, "it has torch 2.13.0.rocm7.2 for HIP 7.1.25424"),
        (MI300X | {"arch": "gfx90a"}, None, "torch calls the GPU gfx90a, and the driver calls it gfx942"),
        (MI300X, MI300X | {"hip": None}, "while the cases ran, torch said 2.13.0.rocm7.2 for HIP None"),
    ],
)
def test_another_torch_or_gpu_leaves_no_record(
    sound: Built, said: dict[str, object] | None, later: dict[str, object] | None, told: str
) -> None:
    container = PlayedContainer(said, later) if said else HostEngine()
    events: list[Event] = []
    assert run_stage(sound, container, events.append) == Checked(records={}, lacking=(sound.unit.id,))
    (finished,) = (event for event in events if isinstance(event, UnitFinished))
    assert re.search(told, finished.error or "")
    assert finished.exit_code == ExitCode.ENVIRONMENT
    assert isinstance(sound.store.read_record(sound.unit.id, CheckRecord), Absent)


def test_a_run_is_recorded_with_gpu_torch_image_and_cell_and_reaches_coverage_and_metadata(sound: Built) -> None:
    record = check(sound, PlayedContainer(MI300X))
    assert (record.outcome, record.tested, record.seed) == (Outcome.PASSED, Tested.MI300X, 5)
    assert [result.case for result in record.cases] == ["scale", "product"]
    assert record.gpu == GpuRun(
        name="AMD Instinct MI300X",
        product="MI300X",
        arch="gfx942:sramecc+:xnack-",
        memory=206_141_652_992,
        driver="amdgpu 6.16.13",
        torch="2.13.0+rocm7.2",
        hip="7.2.53211",
        cell=CellId("handmade.torch2.13-rocm7.2"),
        image="some/torch:2.13",
        image_id=gpu_bed.IMAGE.id,
        pushed=("some/torch@sha256:0",),
    )
    assert record.reason == (
        "AMD Instinct MI300X (gfx942:sramecc+:xnack-), torch 2.13.0+rocm7.2 for HIP 7.2.53211,"
        " as promised by handmade.torch2.13-rocm7.2"
    )
    pipeline.audit(sound.options, discard)
    (coverage,) = pipeline.collect(sound.options, discard).coverage.values()
    assert [(cell.tested, cell.reason) for cell in coverage.cells] == [(Tested.MI300X, record.reason)]
    (metadata,) = sound.store.variants_folder("handmade").glob("*/metadata.json")
    assert '"tested": "mi300x"' in metadata.read_text()


def test_wrong_numbers_fail_the_unit_and_another_product_is_not_called_an_mi300x(tmp_path: Path) -> None:
    wrong = gpu_bed.build(tmp_path)
    wrong.keep_cases("scale", "wrong")
    record = check(wrong, PlayedContainer(MI300X | {"name": "AMD Instinct MI308X"}), replace(GPU, device_id=0x74A2))
    assert (record.outcome, record.tested) == (Outcome.FAILED, Tested.OTHER_GPU)
    assert record.gpu
    assert record.gpu.product == "MI308X"
    assert record.reason.startswith("wrong: wrong: 99.9 % of 1000 elements within tolerance")
    assert "1 of 2 cases failed on AMD Instinct MI308X" in record.reason
