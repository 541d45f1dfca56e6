"""The main job, run once for all system tests that look at what it makes."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from rocmatrix.pipeline import load_plan
from rocmatrix.plan.model import Cell, CellState, Plan, Unit
from rocmatrix.store import Store
from tests.system.docker_bed import debian_bases, debian_images, docker_engine
from tests.system.gemm_probe import Report
from tests.system.hip_stub import runtime
from tests.system.release_fixtures import changed, commands, hub, source

__all__ = [
    "changed",
    "commands",
    "debian_bases",
    "debian_images",
    "docker_engine",
    "hub",
    "source",
]  # fixtures, found here by name

ROOT = Path(__file__).parents[2]
MAIN_JOB_LIMIT = 1500.0
"""Seconds; the first run on a machine builds the cross compiler's C++ library, which takes minutes on a slow one."""
PROBE_LIMIT = 180.0


@dataclass(frozen=True, kw_only=True)
class MainJob:
    """What ``rocmatrix run`` made of this repository's matrix."""

    store: Store
    plan: Plan

    def variant(self, unit: Unit) -> Path:
        """Return the folder of a unit's collected variant."""
        return self.store.variants_folder(unit.kernel) / unit.variant


@pytest.fixture(scope="session")
def main_job(tmp_path_factory: pytest.TempPathFactory) -> MainJob:
    """Run the main job on this repository's matrix, into a folder of its own.

    ``ROCMATRIX_TESTS_BEGIN_WITH`` may name the ``dist`` of an earlier run. It is copied, and the main job decides
    itself what of it still holds: with the same sources, all of it.
    """
    out = tmp_path_factory.mktemp("main-job") / "dist"
    earlier = os.environ.get("ROCMATRIX_TESTS_BEGIN_WITH")
    if earlier and Path(earlier).is_dir():  # without it the job is done anew
        shutil.copytree(earlier, out)
    done = subprocess.run(
        [sys.executable, "-m", "rocmatrix", "run", "--matrix", str(ROOT / "matrix.yaml"), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=MAIN_JOB_LIMIT,
    )
    assert done.returncode == 0, f"the main job ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    store = Store(out)
    return MainJob(store=store, plan=store.read_plan())


def _repository_plan() -> Plan:
    return load_plan(ROOT / "matrix.yaml", toolchain=None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each unit, each served cell or each other cell of this repository's plan."""
    if "unit" in metafunc.fixturenames:
        units: list[Unit] = list(_repository_plan().units)
        metafunc.parametrize("unit", units, ids=[unit.id for unit in units])
    if "served_cell" in metafunc.fixturenames:
        cells: list[Cell] = [cell for cell in _repository_plan().cells if cell.state is CellState.SERVED]
        metafunc.parametrize("served_cell", cells, ids=[cell.id for cell in cells])


StubBuilder = Callable[[str], Path]


@pytest.fixture(scope="session")
def hip_stub(tmp_path_factory: pytest.TempPathFactory) -> StubBuilder:
    """Return a function that gives the path of the stub HIP runtime of a SONAME."""
    folder = tmp_path_factory.mktemp("hip-stub")
    made: dict[str, Path] = {}

    def stub(soname: str) -> Path:
        if soname not in made:
            made[soname] = runtime.build(folder, soname)
        return made[soname]

    return stub


def hip_soname(variant: Path) -> str:
    """Return the name of the HIP runtime that a variant's binary asks the loader for."""
    (binary,) = variant.glob("*.abi3.so")
    with binary.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        needed = [str(getattr(tag, "needed")) for tag in section.iter_tags("DT_NEEDED")]  # noqa: B009 - set at run time
    (soname,) = [name for name in needed if re.fullmatch(r"libamdhip64\.so\.\d+", name)]
    return soname


def client_environment(home: Path) -> dict[str, str]:
    """Return the environment of a process that loads a kernel: no network, no cache and no overrides of this user."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "KERNELS_", "LOCAL_"))}
    return {**kept, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "LD_LIBRARY_PATH": ""}


Prober = Callable[[Unit], Report]


@pytest.fixture(scope="session")
def probe(main_job: MainJob, hip_stub: StubBuilder, tmp_path_factory: pytest.TempPathFactory) -> Prober:
    """Return a function that gives what a unit's variant did in a process of its own; each is run once.

    Two extensions of one id crash a process that loads both, so no process ever sees two variants.
    """
    reports: dict[str, Report] = {}

    def report(unit: Unit) -> Report:
        if unit.id not in reports:
            folder = tmp_path_factory.mktemp("probe")
            variant = main_job.variant(unit)
            stub = hip_stub(hip_soname(variant))
            arguments = (str(stub), str(variant.parent), f"{unit.rocm}.0", str(folder / "report.json"))
            done = subprocess.run(
                [sys.executable, "-m", "tests.system.gemm_probe", *arguments],
                cwd=ROOT,
                env=client_environment(folder),
                capture_output=True,
                text=True,
                check=False,
                timeout=PROBE_LIMIT,
            )
            assert done.returncode == 0, f"the probe ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
            reports[unit.id] = msgspec.json.decode((folder / "report.json").read_bytes(), type=Report)
        return reports[unit.id]

    return report


@pytest.fixture(scope="module", autouse=True)
def _unpatched_translator() -> Iterator[None]:
    """Take back what making mutants changes in the translator: later tests of this process are to meet the real one."""
    yield
    if patched := sys.modules.get("tests.mutation.patched"):
        patched.restore()
