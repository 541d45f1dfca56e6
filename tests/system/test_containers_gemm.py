"""This repository's own kernel, built by both of Debian's hipcc in containers: audited, emulated, built again."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmatrix.errors import ExitCode
from rocmatrix.images.image import Image
from rocmatrix.machine.cache import cache_folder
from rocmatrix.plan.model import Unit
from rocmatrix.records import AuditRecord, BuildRecord, CheckRecord, Isolation, Outcome, Severity, Tested
from rocmatrix.store import Store
from tests.system.docker_bed import Bed, debian_recipe
from tests.system.image_python import run_in_image
from tests.system.llvm_project import read_binary

pytestmark = [pytest.mark.needs_docker, pytest.mark.needs_debian_images, pytest.mark.needs_network]

ROOT = Path(__file__).parents[2]
LIMIT = 1500.0
SECRET = "hf_planted_3f9d2c71"  # noqa: S105 - planted, and opens nothing
MATRIX = ROOT / "tests" / "system" / "debian-matrix.yaml"
SUITES = {"7.1": "trixie", "7.2": "forky"}
BUDGET = "2"
"""10^9 floating-point operations of the cases that are emulated: of every layout and every kind of edge, some."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A copy of the kernel and a matrix for Debian's two ROCm below a folder, and what is made of it."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> "Site":
        shutil.copytree(ROOT / "kernels/gemm", root / "kernels/gemm")
        shutil.copy(MATRIX, root / "matrix.yaml")
        return cls(root=root)

    @property
    def store(self) -> Store:
        return Store(self.root / "dist")

    @property
    def arguments(self) -> list[str]:
        return ["--matrix", str(self.root / "matrix.yaml"), "--out", str(self.root / "dist")]

    def do(self, verb: str, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rocmatrix", verb, *self.arguments, *more],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_TOKEN": SECRET},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )

    def unit(self, suite: str) -> Unit:
        return next(unit for unit in self.store.read_plan().units if SUITES[str(unit.rocm)] == suite)

    def build(self, suite: str) -> BuildRecord:
        record = self.store.read_record(self.unit(suite).id, BuildRecord)
        assert isinstance(record, BuildRecord)
        return record


@pytest.fixture(scope="module")
def site(debian_images: Mapping[str, Image], tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The kernel, built by both."""
    assert set(debian_images) == set(SUITES.values())
    made = Site.make(tmp_path_factory.mktemp("gemm"))
    done = made.do("build", "--engine", "docker")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.mark.parametrize("suite", SUITES.values())
def test_the_record_says_what_built_it_where(site: Site, debian_images: Mapping[str, Image], suite: str) -> None:
    record = site.build(suite)
    assert record.toolchain is not None
    assert record.isolation is Isolation.CONTAINER
    assert record.toolchain.image_digest == debian_images[suite].id
    assert re.fullmatch(
        r"Debian's build of clang \d+\.\d+\.\d+ with HIP \d\.\d\.\S+, not AMD's compiler", record.toolchain.description
    )
    assert {gate.name: gate.passed for gate in record.gates} == {"exports": True, "loads": True}


@pytest.mark.parametrize("suite", SUITES.values())
def test_the_audit_finds_what_the_recipe_expects_and_nothing_else(site: Site, suite: str) -> None:
    unit = site.unit(suite)
    done = site.do("audit", "--only", unit.id)
    assert done.returncode == ExitCode.AUDIT, done.stdout + done.stderr
    record = site.store.read_record(unit.id, AuditRecord)
    assert isinstance(record, AuditRecord)
    errors = [finding for finding in record.findings if finding.severity is Severity.ERROR]
    expected = debian_recipe(suite).expected_findings
    met = {one: [it for it in errors if one.rule == it.rule and one.match in it.what] for one in expected}
    assert [one for one, found in met.items() if not found] == []
    assert [it for it in errors if not any(it in found for found in met.values())] == []


@pytest.fixture(scope="module")
def emulated(site: Site, docker_engine: Bed, debian_images: Mapping[str, Image]) -> Site:
    """The same, checked in the newer image: this machine's C++ library may be older than Debian's binaries ask for."""
    status, said = run_in_image(
        docker_engine.client,
        debian_images["forky"].id,
        ["-m", "rocmatrix", "check", *site.arguments, "--on", "emulator", "--budget", BUDGET],
        writable=[site.root, cache_folder()],
        environment={"ROCMATRIX_CACHE": str(cache_folder()), "HOME": str(site.root)},
        timeout=LIMIT,
    )
    assert status == 0, said
    return site


@pytest.mark.needs_llvm
@pytest.mark.parametrize("suite", SUITES.values())
def test_its_numbers_are_right_on_the_emulator(emulated: Site, suite: str) -> None:
    record = emulated.store.read_record(emulated.unit(suite).id, CheckRecord)
    assert isinstance(record, CheckRecord)
    assert (record.outcome, record.tested) == (Outcome.PASSED, Tested.EMULATED)
    assert record.cases
    assert [case for case in record.cases if case.findings or not case.passed] == []


def test_another_folder_gives_the_same_bytes(site: Site, tmp_path: Path) -> None:
    other = Site.make(tmp_path / "another folder, with spaces")
    done = other.do("build", "--engine", "docker", "--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    for suite in SUITES.values():
        assert other.build(suite).artifact_digest == site.build(suite).artifact_digest


def test_a_secret_of_the_caller_is_nowhere_in_what_was_written(site: Site) -> None:
    written = [path for path in (site.root / "dist").rglob("*") if path.is_file()]
    assert any(path.name == "build.log" for path in written)
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("suite", SUITES.values())
def test_no_folder_of_a_container_or_of_this_machine_is_in_the_binary(site: Site, suite: str) -> None:
    (library,) = site.store.payload(site.unit(suite).id).glob("*.abi3.so")
    assert read_binary(library).paths == ()
    content = library.read_bytes()
    assert not any(text in content for text in (b"/rocmatrix/", str(site.root).encode(), b"/tmp/"))
