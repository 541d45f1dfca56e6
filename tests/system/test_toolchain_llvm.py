"""What the toolchain ``llvm`` makes of a small kernel: loads, exports one name, needs what users have, same bytes."""

from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from rocmatrix.records import Gate
from rocmatrix.toolchain.bundle import HOST_ID
from rocmatrix.toolchain.llvm.toolchain import LlvmToolchain
from tests.system.llvm_project import EXTENSION, UNIT, Binary, Project, make_toolchain, read_binary

pytestmark = pytest.mark.needs_llvm

CEILINGS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
"""manylinux_2_28, as auditwheel's policy data have it."""


@pytest.fixture(scope="module")
def toolchain() -> LlvmToolchain:
    return make_toolchain()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(folder=tmp_path_factory.mktemp("two-archs"), unit=replace(UNIT, archs=("gfx90a", "gfx942")))


@pytest.fixture(scope="module")
def built(project: Project, toolchain: LlvmToolchain) -> Path:
    return project.build(toolchain)


@pytest.fixture(scope="module")
def binary(built: Path) -> Binary:
    return read_binary(built)


@pytest.fixture(scope="module")
def gates(built: Path, project: Project, toolchain: LlvmToolchain) -> dict[str, Gate]:
    assert built.is_file()
    return {gate.name: gate for gate in toolchain.gates(project.request)}


def test_it_says_what_it_is_and_whose_compiler_it_is_not(toolchain: LlvmToolchain) -> None:
    identity = toolchain.identity()
    assert identity.description == "clang 22.1.8 from ziglang 0.17.1, not AMD's compiler"
    assert identity.compilers == {"clang": "22.1.8", "ziglang": "0.17.1"}


@pytest.mark.parametrize("name", ["no-cxx-runtime-inside", "loads", "error-message"])
def test_every_gate_holds(name: str, gates: dict[str, Gate]) -> None:
    assert gates[name].passed, gates[name].detail


def test_it_loads_with_the_cxx_runtime_of_this_machine(gates: dict[str, Gate]) -> None:
    assert f"PyInit_{EXTENSION}" in gates["loads"].detail
    assert "/libstdc++.so.6" in gates["loads"].detail


def test_it_needs_libraries_that_a_rocm_torch_has_and_no_others(binary: Binary) -> None:
    assert binary.needed == (
        "libamdhip64.so.7",
        "libtorch_cpu.so",
        "libtorch.so",  # though nothing refers to it: it brings torch's GPU library into scope
        "libstdc++.so.6",
        "libgcc_s.so.1",
        "libc.so.6",
        "libdl.so.2",
    )


def test_it_looks_for_them_nowhere_of_its_own(binary: Binary) -> None:
    assert binary.paths == ()


def test_its_entry_point_is_all_that_it_exports(binary: Binary) -> None:
    assert binary.exports == {f"PyInit_{EXTENSION}"}


def test_no_symbol_is_unique_in_the_process(binary: Binary) -> None:
    assert binary.bindings <= {"STB_LOCAL", "STB_GLOBAL", "STB_WEAK"}


def test_no_version_is_newer_than_manylinux_2_28(binary: Binary) -> None:
    versions = [version for names in binary.versions.values() for version in names]
    assert versions
    for version in versions:
        family, _, number = version.partition("_")
        assert tuple(int(part) for part in number.split(".")) <= CEILINGS[family], version


def test_hip_and_torch_are_asked_for_without_versions(binary: Binary) -> None:
    assert {*binary.versions} == {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libdl.so.2"}


def test_symbols_are_stripped_and_the_build_id_is_there(binary: Binary) -> None:
    assert ".symtab" not in binary.sections
    assert len(binary.sections[".note.gnu.build-id"]) == 36


def test_the_bundle_has_both_archs_after_the_host(binary: Binary) -> None:
    table = binary.sections[".hip_fatbin"]
    assert (
        table[56 : 56 + len(HOST_ID)] == HOST_ID.encode()
    )  # behind the magic, the count and three numbers of the entry
    names = [entry.entry for entry in binary.bundle()]
    assert names == ["hipv4-amdgcn-amd-amdhsa--gfx90a", "hipv4-amdgcn-amd-amdhsa--gfx942"]


@pytest.mark.parametrize(("place", "arch"), [(0, b"gfx90a"), (1, b"gfx942")])
def test_each_code_object_is_for_its_arch(place: int, arch: bytes, binary: Binary, tmp_path: Path) -> None:
    payload = binary.bundle()[place].data
    (tmp_path / "k.co").write_bytes(payload)
    with (tmp_path / "k.co").open("rb") as stream:
        elf = ELFFile(stream)
        assert elf.header["e_machine"] == "EM_AMDGPU"
        note = elf.get_section_by_name(".note")
        assert note is not None
        assert b"amdgcn-amd-amdhsa--" + arch in note.data()


def test_only_a_kernel_that_asks_for_its_grid_has_hidden_arguments(binary: Binary) -> None:
    """Metadata are MessagePack: kernels in order, each with its arguments before its name."""
    note = binary.bundle()[1].data
    add, fill = note.index(b"_Z3addPKfPfi"), note.index(b"_Z4fillPfi")
    first = note.index(b"amdhsa.kernels")
    assert note.find(b"hidden_", first, add) == -1
    assert note.find(b"hidden_block_count_x", add, fill) != -1
    assert note.find(b"hidden_group_size_x", add, fill) != -1


def test_the_same_sources_make_the_same_bytes_in_another_folder(
    built: Path, project: Project, toolchain: LlvmToolchain, tmp_path: Path
) -> None:
    again = replace(project, folder=tmp_path / "with a space" / "and a longer name than before").build(toolchain)
    assert again.read_bytes() == built.read_bytes()


def test_no_folder_of_the_build_is_in_the_bytes(built: Path, project: Project, toolchain: LlvmToolchain) -> None:
    data = built.read_bytes()
    assert str(project.folder).encode() not in data
    assert str(toolchain._compiler.lib).encode() not in data
    assert b"torch-ext/binding.cpp" in data


def test_units_of_other_rocm_minors_are_the_same_file(
    built: Path, project: Project, toolchain: LlvmToolchain, tmp_path: Path
) -> None:
    other = replace(project, folder=tmp_path, unit=replace(project.unit, rocm="7.14")).build(toolchain)
    assert other.read_bytes() == built.read_bytes()


def test_a_unit_of_rocm_6_needs_its_runtime(project: Project, toolchain: LlvmToolchain, tmp_path: Path) -> None:
    other = replace(project, folder=tmp_path, unit=replace(project.unit, rocm="6.4")).build(toolchain)
    assert read_binary(other).needed[0] == "libamdhip64.so.6"


def test_device_code_is_compiled_once_for_all_units(project: Project, toolchain: LlvmToolchain, built: Path) -> None:
    """Its step is not out of date whatever the sources' times are: it has no inputs, and its name is its content."""
    assert built.is_file()
    steps = [step for step in toolchain.steps(project.request) if step.label.startswith("device")]
    other = replace(project, unit=replace(project.unit, rocm="7.0", archs=("gfx942",)))
    others = [step for step in toolchain.steps(other.request) if step.label.startswith("device")]
    assert [step.label for step in steps] == ["device kernels/add.hip for gfx90a", "device kernels/add.hip for gfx942"]
    assert [step.outputs for step in others] == [steps[1].outputs]
    assert all(step.inputs == () and step.outputs[0].is_file() for step in steps)
