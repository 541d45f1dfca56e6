"""A binding on torch's C++ interface, built for two torches by both of Debian's hipcc, and loaded by a real torch."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmatrix.binary.facts import BundleEntry
from rocmatrix.binary.offload import unbundle
from rocmatrix.images.image import Image
from rocmatrix.plan.model import Plan, Unit
from rocmatrix.records import BuildRecord, Isolation, Outcome
from rocmatrix.store import Store
from tests.system.docker_bed import Bed, base_name
from tests.system.hipcc_project import write_project
from tests.system.image_python import run_in_image
from tests.system.llvm_project import read_binary

pytestmark = [pytest.mark.needs_docker, pytest.mark.needs_debian_images, pytest.mark.needs_network]

BUILD_LIMIT = 1500.0
SUITES = {"7.1": "trixie", "7.2": "forky"}
SONAMES = {"7.1": "libamdhip64.so.5", "7.2": "libamdhip64.so.6"}

LOAD = """
import sys, importlib.util, torch
folder = sys.argv[1]
spec = importlib.util.spec_from_file_location("scale_add", folder + "/__init__.py", submodule_search_locations=[folder])
module = importlib.util.module_from_spec(spec)
sys.modules["scale_add"] = module
spec.loader.exec_module(module)
op = module.ops.scale_add.default
print(op._schema)
gpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
for shape in ((4,), (5,)):
    try:
        op.redispatch(gpu, torch.zeros(4), torch.ones(shape), 2.0, 0)
    except RuntimeError as error:
        print(str(error).splitlines()[0])
"""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A copy of the project below a folder, and what was built of it."""

    root: Path

    @property
    def store(self) -> Store:
        return Store(self.root / "dist")

    @property
    def plan(self) -> Plan:
        return self.store.read_plan()

    def build(self, *only: str) -> subprocess.CompletedProcess[str]:
        """Write the project and build its units."""
        matrix = write_project(self.root, trixie=base_name("trixie"), forky=base_name("forky"))
        chosen = [word for pattern in only for word in ("--only", pattern)]
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "rocmatrix",
                "build",
                "--matrix",
                str(matrix),
                "--out",
                f"{self.root}/dist",
                *chosen,
            ],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_LIMIT,
        )

    def library(self, unit: Unit) -> Path:
        (found,) = self.store.payload(unit.id).glob("*.abi3.so")
        return found


@pytest.fixture(scope="module")
def site(debian_images: Mapping[str, Image], tmp_path_factory: pytest.TempPathFactory) -> Site:
    """All four units, built."""
    assert set(debian_images) == set(SUITES.values())
    made = Site(root=tmp_path_factory.mktemp("scale-add"))
    done = made.build()
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def record_of(site: Site, unit: Unit) -> BuildRecord:
    record = site.store.read_record(unit.id, BuildRecord)
    assert isinstance(record, BuildRecord)
    return record


def test_each_torch_has_its_own_headers_and_each_rocm_its_own_compiler(
    site: Site, debian_images: Mapping[str, Image]
) -> None:
    digests = set()
    for unit in site.plan.units:
        record = record_of(site, unit)
        assert (record.outcome, record.isolation) == (Outcome.PASSED, Isolation.CONTAINER)
        assert record.headers is not None
        assert record.toolchain is not None
        assert record.headers.torch.partition("+")[0] == f"{unit.torch}.0"
        assert record.headers.hip is None  # no wheel for ROCm answers: the pair is promised, not read
        assert record.toolchain.image_digest == debian_images[SUITES[str(unit.rocm)]].id
        assert record.toolchain.description.startswith("Debian's build of clang ")
        assert {gate.name: gate.passed for gate in record.gates} == {"exports": True, "loads": True}
        digests.add(record.headers.headers_digest)
    assert len(digests) == 2


def test_what_it_needs_has_the_names_of_wheels_and_no_path(site: Site) -> None:
    for unit in site.plan.units:
        binary = read_binary(site.library(unit))
        assert {"libtorch.so", "libtorch_cpu.so", "libc10.so", SONAMES[str(unit.rocm)]} < set(binary.needed)
        assert binary.paths == ()
        assert binary.exports == {f"PyInit_{site.library(unit).name.partition('.')[0]}"}


def code_objects(site: Site, unit: Unit) -> tuple[BundleEntry, ...]:
    return unbundle(read_binary(site.library(unit)).sections[".hip_fatbin"])


def test_archs_and_code_object_version_are_those_that_were_asked_for(site: Site) -> None:
    for unit in site.plan.units:
        found = code_objects(site, unit)
        assert [entry.target for entry in found] == [("gfx90a", ()), ("gfx942", ())]
        assert {entry.data[8] for entry in found} == {3}, "EI_ABIVERSION of code object version 5"


def test_torches_of_one_rocm_have_the_same_device_code(site: Site) -> None:
    for rocm in SUITES:
        first, second = (code_objects(site, unit) for unit in site.plan.units if unit.rocm == rocm)
        assert first == second


@pytest.mark.needs_torch
@pytest.mark.parametrize("rocm", SUITES)
def test_a_real_torch_loads_it_and_hip_finds_no_device(
    site: Site, docker_engine: Bed, debian_images: Mapping[str, Image], rocm: str
) -> None:
    (unit,) = (unit for unit in site.plan.units if (unit.torch, unit.rocm) == ("2.13", rocm))
    folder = site.store.payload(unit.id)
    status, said = run_in_image(
        docker_engine.client, debian_images[SUITES[rocm]].id, ["-c", LOAD, str(folder)], writable=[site.root]
    )
    assert status == 0, said
    schema, launch, shapes = said.splitlines()[-3:]
    assert re.fullmatch(
        r"_scale_add_rocm_\w{8}::scale_add\(.* out, Tensor input, float factor, int stream\) -> \(\)", schema
    )
    assert launch == "scale_add: HIP says 100: no ROCm-capable device is detected"
    assert shapes == "scale_add: out has shape [4], input [5]"


def test_another_folder_gives_the_same_bytes(site: Site, tmp_path: Path) -> None:
    other = Site(root=tmp_path / "another folder, with spaces")
    done = other.build("*torch213*rocm72*")
    assert done.returncode == 0, done.stdout + done.stderr
    (unit,) = (unit for unit in site.plan.units if (unit.torch, unit.rocm) == ("2.13", "7.2"))
    assert record_of(other, unit).artifact_digest == record_of(site, unit).artifact_digest
