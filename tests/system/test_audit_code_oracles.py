"""The audit's readers against LLVM's on GPU code that no one here wrote: clang's, Triton's, Debian's libraries."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocmatrix.binary.occupancy import occupancy
from tests.system import audit_oracles as oracle
from tests.system.audit_agreement import (
    assert_notes_agree,
    assert_objdump_agrees,
    assert_readelf_agrees,
    binary_of,
    device_file,
)
from tests.system.conftest import ROOT
from tests.system.debian import Archive, missing_debian
from tests.unit.binary.corpus import FOLDER as BUNDLES

pytestmark = pytest.mark.needs_llvm_objdump

SECONDS = 300.0


def split(data: bytes, folder: Path) -> Iterator[tuple[str, Path]]:
    """Give the code objects of a plain bundle as files, cut out by the table as LLVM documents it."""
    count = int.from_bytes(data[24:32], "little")
    place = 32
    for _ in range(count):
        offset, size, length = (int.from_bytes(data[place + 8 * n : place + 8 * n + 8], "little") for n in range(3))
        entry = data[place + 24 : place + 24 + length].decode()
        place += 24 + length
        if size:
            path = folder / f"{offset}.co"
            path.write_bytes(data[offset : offset + size])
            yield entry, path


def test_readelf_agrees_about_every_code_object_of_a_bundle(tmp_path: Path) -> None:
    (bundle,) = device_file(BUNDLES / "plain").bundles
    cut = list(split((BUNDLES / "plain").read_bytes(), tmp_path))
    assert [code.entry for code in bundle.code_objects] == [entry for entry, _ in cut]
    for found, (_, path) in zip(bundle.code_objects, cut, strict=True):
        assert_notes_agree(found, path)


@pytest.fixture(scope="module")
def triton_code(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Compile some kernels of the corpus with Triton, without a GPU."""
    from tests.corpus.specs import SPECS  # noqa: PLC0415 - needs what Triton needs

    folder = tmp_path_factory.mktemp("triton")
    names = [spec.name for spec in SPECS if spec.kernel in ("vector_add", "softmax", "matmul", "attention")][:6]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", ".", *filter(None, [os.getenv("PYTHONPATH")])])}
    command = [sys.executable, "-m", "tests.corpus.compiling", str(folder), *names]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=SECONDS, capture_output=True)
    return sorted(folder.glob("*.co"))


@pytest.mark.needs_triton
def test_readelf_and_objdump_agree_about_what_triton_compiles(triton_code: list[Path]) -> None:
    assert len(triton_code) > 4
    matrix = 0
    for path in triton_code:
        (found,) = device_file(path).code_objects
        assert_notes_agree(found, path)
        functions = oracle.disassemble(path)
        for kernel in found.kernels:
            assert_objdump_agrees(kernel, functions[kernel.symbol.removesuffix(".kd")])
            matrix += sum(kernel.hot_loop.mix.matrix.values()) if kernel.hot_loop else 0
    assert matrix > 0  # there was a matrix product among them, and its loop is the hot one


def test_objdump_agrees_about_clangs_code() -> None:
    (found,) = device_file(BUNDLES / "gfx942.co").code_objects
    functions = oracle.disassemble(BUNDLES / "gfx942.co")
    for kernel in found.kernels:
        assert_objdump_agrees(kernel, functions[kernel.name])
    assert found.kernels[0].hot_loop is not None


# -- Debian's libraries --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    if (why := missing_debian()) is not None:
        pytest.skip(why)
    made = Archive(folder=tmp_path_factory.mktemp("debian"))
    made.update()
    return made


def library(folder: Path, name: str) -> Path:
    (path,) = (path for path in folder.rglob(f"{name}.so.*") if not path.is_symlink())
    return path


def assert_library_agrees(path: Path, folder: Path, *, whole: bool) -> set[str | None]:
    """Compare a library with GPU code in it, and its code objects: of the first bundle, or all; return their archs."""
    assert_readelf_agrees(path)
    bundles = [bundle for bundle in binary_of(path).bundles if bundle.certain]
    data = path.read_bytes()
    for number, bundle in enumerate(bundles):
        cut = list(split(data[bundle.offset :], folder)) if whole or number == 0 else []
        for found, (entry, file) in zip(bundle.code_objects, cut, strict=bool(cut)):
            assert found.entry == entry
            assert_notes_agree(found, file)
            file.unlink()
    archs = {frozenset(code.arch for code in bundle.code_objects) for bundle in bundles}
    assert all(code.problem is None and code.kernels for bundle in bundles for code in bundle.code_objects)
    return set(next(iter(archs))) if len(archs) == 1 else set()


@pytest.mark.needs_network
def test_readelf_agrees_about_debians_hip_runtime(archive: Archive) -> None:
    path = library(archive.unpack("libamdhip64-5"), "libamdhip64")
    assert_readelf_agrees(path)
    assert not [bundle for bundle in binary_of(path).bundles if bundle.certain]


@pytest.mark.needs_network
def test_readelf_agrees_about_debians_random_numbers_for_ten_archs(
    archive: Archive, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    path = library(archive.unpack("librocrand1"), "librocrand")
    archs = assert_library_agrees(path, tmp_path, whole=bool(pytestconfig.getoption("--long")))
    assert {"gfx803", "gfx90a", "gfx1100"} <= archs


@pytest.mark.needs_network
def test_readelf_agrees_about_debians_rocblas(archive: Archive, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--long"):
        pytest.skip("170 MB to download, gigabytes to unpack: --long does")
    folder = archive.unpack("librocblas0")
    assert_library_agrees(library(folder, "librocblas"), tmp_path, whole=False)
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".co", ".hsaco"))
    assert len(files) > 100
    for path in files:
        for found in device_file(path).code_objects:
            assert_notes_agree(found, path)
        for bundle in device_file(path).bundles:
            for found, (_, file) in zip(bundle.code_objects, split(path.read_bytes(), tmp_path), strict=True):
                assert_notes_agree(found, file)


# -- occupancy -----------------------------------------------------------------------------------------------------

LDS = "@lds{number} = internal addrspace(3) global [{lds} x i8] poison"
KERNEL = """
define amdgpu_kernel void @k{number}() #{number} {{
  call void asm sideeffect "", "~{{v{vector}}},~{{s{scalar}}}"()
  {use}
  ret void
}}
attributes #{number} = {{ "amdgpu-flat-work-group-size"="1,{workgroup}" "amdgpu-waves-per-eu"="1" }}
"""
CASES = [
    *((vector, 10, 0, 256) for vector in (0, 62, 63, 64, 71, 79, 95, 127, 128, 167, 168, 255)),
    *((10, scalar, 0, 256) for scalar in (60, 90, 95)),
    *((10, 10, lds, 256) for lds in (512, 8192, 16384, 21504, 32768, 65536)),
    *((10, 10, 0, workgroup) for workgroup in (64, 128, 192, 448, 512, 704, 1024)),
    (100, 10, 16384, 512),
    (10, 10, 32768, 1024),
]
"""Highest VGPR and SGPR that are written, bytes of LDS, work-items of a workgroup at most."""


def in_llvm_ir(number: int, vector: int, scalar: int, lds: int, workgroup: int) -> str:
    use = f"store volatile i8 1, ptr addrspace(3) @lds{number}" if lds else ""
    kernel = KERNEL.format(number=number, vector=vector, scalar=scalar, use=use, workgroup=workgroup)
    return (LDS.format(number=number, lds=lds) if lds else "") + kernel


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_the_compiler_states_the_same_occupancy(arch: str, tmp_path: Path) -> None:
    source = tmp_path / "k.ll"
    source.write_text("".join(in_llvm_ir(number, *case) for number, case in enumerate(CASES)))
    made = oracle.output("llc", "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={arch}", source, "-o", "-")
    stated = [int(found) for found in re.findall(r"^; Occupancy: (\d+)$", made, re.MULTILINE)]
    metadata = made.partition(".amdgpu_metadata")[2].split("  - .agpr_count")[1:]
    assert len(stated) == len(metadata) == len(CASES)
    for case, waves, text in zip(CASES, stated, metadata, strict=True):
        said = {key: int(value) for key, value in re.findall(r"^\s+\.(\w+):\s+(\d+)$", text, re.MULTILINE)}
        ours = occupancy(
            arch,
            vgprs=said["vgpr_count"],
            sgprs=said["sgpr_count"],
            lds=said["group_segment_fixed_size"],
            max_workgroup=said["max_flat_workgroup_size"],
            wavefront=said["wavefront_size"],
        )
        assert ours is not None
        assert ours.waves_per_simd == waves, (case, said)
    assert len(set(stated)) > 5
