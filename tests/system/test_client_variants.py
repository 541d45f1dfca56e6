"""The real client decides: it reads, hashes and resolves what the main job collected."""

import pytest

from rocmatrix.plan.model import Cell, CellState, Unit
from rocmatrix.store import Absent
from tests.system import client
from tests.system.client import System
from tests.system.conftest import MainJob

pytestmark = [pytest.mark.needs_llvm, pytest.mark.needs_network]


def variants(main_job: MainJob, kernel: str) -> list[str]:
    return sorted(path.name for path in main_job.store.variants_folder(kernel).iterdir())


def test_every_promise_is_kept_and_nothing_else_is_collected(main_job: MainJob) -> None:
    for kernel in main_job.plan.kernels:
        coverage = main_job.store.read_coverage(kernel.name)
        assert not isinstance(coverage, Absent)
        assert coverage.complete
        assert [cell.cell for cell in coverage.cells] == [
            cell.id for cell in main_job.plan.cells if cell.kernel == kernel.name
        ]
        assert variants(main_job, kernel.name) == sorted(
            unit.variant for unit in main_job.plan.units if unit.kernel == kernel.name
        )


def test_the_client_reads_what_the_plan_promises(main_job: MainJob, unit: Unit) -> None:
    read = client.read_metadata(main_job.variant(unit))
    kernel = main_job.plan.kernel(unit.kernel)
    assert (str(read.name), read.version) == (kernel.name, kernel.version)
    assert (str(read.backend.backend_type), read.backend.archs) == ("rocm", list(unit.archs))
    assert (main_job.variant(unit) / f"{read.id}.abi3.so").is_file()


def test_the_files_are_the_ones_whose_digests_the_metadata_states(main_job: MainJob, unit: Unit) -> None:
    assert client.digest_violations(main_job.variant(unit)) == []


def test_the_client_loads_the_planned_unit_for_every_served_cell(main_job: MainJob, served_cell: Cell) -> None:
    assert served_cell.unit
    offered = variants(main_job, served_cell.kernel)
    resolution = client.resolve(offered, System(torch=served_cell.torch, backend=f"rocm{served_cell.rocm}"))
    assert resolution.variant == main_job.plan.unit(served_cell.unit).variant


@pytest.mark.parametrize(
    "system",
    [
        System(torch="2.9", backend="rocm7.2"),
        System(torch="2.13", backend="rocm6.4"),
        System(torch="2.13", backend="rocm7.3"),
        System(torch="2.13", backend="rocm8.0"),
        System(torch="2.13", backend="cuda12.8"),
        System(torch="2.13", backend="cpu"),
        System(torch="2.13", backend="rocm7.2", cpu="aarch64"),
        System(torch="2.13", backend="rocm7.2", os="windows"),
        System(torch=None, backend="cpu"),
    ],
    ids=lambda system: f"torch{system.torch}-{system.backend}-{system.cpu}-{system.os}",
)
def test_the_client_loads_nothing_on_a_machine_that_nobody_promised(main_job: MainJob, system: System) -> None:
    offered = variants(main_job, "gemm")
    resolution = client.resolve(offered, system)
    assert resolution.variant is None
    assert set(resolution.rejected) == set(offered)
    assert all(resolution.rejected.values())


def test_a_cell_that_is_not_served_gets_a_unit_only_if_that_unit_serves_its_rocm(main_job: MainJob) -> None:
    """A pair that never existed cannot be asked for; were it to appear, the unit of its ROCm would be the right one."""
    for cell in main_job.plan.cells:
        if cell.state is CellState.SERVED:
            continue
        offered = variants(main_job, cell.kernel)
        chosen = client.resolve(offered, System(torch=cell.torch, backend=f"rocm{cell.rocm}")).variant
        assert chosen in {None, *(unit.variant for unit in main_job.plan.units if unit.rocm == cell.rocm)}
