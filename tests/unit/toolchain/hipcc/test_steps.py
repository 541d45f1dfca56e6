"""Which commands build a unit, and which of their results units share."""

from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.digest import of_bytes
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.records import ToolchainIdentity
from rocmatrix.toolchain.hipcc.objects import Steps
from rocmatrix.toolchain.hipcc.sources import objection, require_headers
from rocmatrix.toolchain.interface import BuildRequest, Step
from rocmatrix.toolchain.project_sources import project_sources
from tests.unit.toolchain.hipcc.samples import COMPILER, HIP_FLAGS, PER_TORCH, SETUP, request
from tests.unit.toolchain.llvm.samples import MANIFEST, UNIT, with_kernel

IDENTITY = ToolchainIdentity(recipe="debian", description="", compilers={}, recipe_digest=of_bytes(b""))


def steps(made: BuildRequest) -> dict[str, Step]:
    """Return the steps of a request by the beginning of their labels."""
    maker = Steps(setup=SETUP, compiler=COMPILER, identity=IDENTITY, request=made)
    return {step.label.split()[0]: step for step in maker.all(project_sources(made.manifest))}


def test_a_hip_source_is_compiled_once_for_all_archs(tmp_path: Path) -> None:
    made = steps(request(tmp_path, unit=replace(UNIT, archs=("gfx90a", "gfx942"))))["hip"]
    assert [word for word in made.argv if word.startswith("--offload-arch")] == [
        "--offload-arch=gfx90a",
        "--offload-arch=gfx942",
    ]
    assert made.inputs == ()  # its name stands for what decides its bytes
    assert [place.name for place in made.places] == ["rocmatrix/once.py"]


def test_the_authors_flags_come_last_hip_flags_for_hip_and_cxx_flags_for_cxx(tmp_path: Path) -> None:
    made = request(tmp_path, manifest=HIP_FLAGS)
    hip = steps(made)["hip"].argv
    assert hip.index("--offload-compress") > hip.index("-O3")
    assert "-Wall" not in hip
    assert "--offload-compress" not in steps(made)["c++"].argv


def test_the_binding_of_a_stable_unit_is_held_to_its_level(tmp_path: Path) -> None:
    stable = steps(request(tmp_path))["c++"].argv
    assert "-DTORCH_TARGET_VERSION=0x020a000000000000" in stable
    own = steps(request(tmp_path, unit=PER_TORCH))["c++"].argv
    assert not any("TORCH_TARGET_VERSION" in word for word in own)
    assert {"-D_GLIBCXX_USE_CXX11_ABI=1", "-DUSE_ROCM=1", "-std=c++20"} <= set(own)
    assert str(tmp_path / "torch-include/torch/csrc/api/include") in own


def test_no_folder_of_the_build_stays_in_what_is_compiled(tmp_path: Path) -> None:
    made = request(tmp_path)
    for step in (steps(made)["hip"], steps(made)["c++"]):
        for folder in (made.project, made.generated, made.torch_include):
            assert f"-ffile-prefix-map={folder}/=" in step.argv


@pytest.mark.parametrize("abi", [Abi.STABLE, Abi.PER_TORCH])
def test_the_link_names_torchs_libraries_as_wheels_do_and_sets_no_path(tmp_path: Path, abi: Abi) -> None:
    link = steps(request(tmp_path, unit=replace(UNIT, abi=abi)))["link"].argv
    stubs = [Path(word).name for word in link if "/stubs/" in word]
    assert stubs == ["libtorch.so", "libtorch_cpu.so", *(["libc10.so"] if abi is Abi.PER_TORCH else [])]
    assert link.index("-lamdhip64") > link.index("-Wl,--no-as-needed")
    assert not any("rpath" in word for word in link)


def hip_object(root: Path, *, header: str = "// add\n", **changes: object) -> Path:
    made = request(root, **changes)
    (made.project / "add/add.h").write_text(header)
    return steps(made)["hip"].outputs[0]


def test_an_object_that_does_not_need_torch_is_shared_by_the_torches_of_a_kernel(tmp_path: Path) -> None:
    first = hip_object(tmp_path / "a", unit=PER_TORCH)
    other = replace(PER_TORCH, torch="2.13")
    second = hip_object(tmp_path / "b", unit=other)
    assert first.parent == tmp_path / "a/device"
    assert first.name == second.name


@pytest.mark.parametrize(
    "changes",
    [
        {"manifest": HIP_FLAGS},
        {"unit": replace(PER_TORCH, archs=("gfx90a",))},
        {"cxx_standard": "c++17"},
        {"extension": "_add_rocm_ffffffff"},
    ],
    ids=["flags", "archs", "standard", "name"],
)
def test_what_decides_the_bytes_of_an_object_is_in_its_name(tmp_path: Path, changes: dict[str, object]) -> None:
    plain = hip_object(tmp_path / "a", unit=PER_TORCH)
    made = request(tmp_path / "b", **{"unit": PER_TORCH, **changes})
    assert plain.name != steps(made)["hip"].outputs[0].name


def test_a_changed_header_is_another_object(tmp_path: Path) -> None:
    assert hip_object(tmp_path / "a").name != hip_object(tmp_path / "b", header="// changed\n").name


def test_an_object_that_needs_torch_is_the_units_own(tmp_path: Path) -> None:
    made = hip_object(tmp_path, unit=PER_TORCH, header="#include <torch/library.h>\n")
    assert made.parent == tmp_path / "work"


@pytest.mark.parametrize(
    ("unit", "manifest", "said"),
    [
        (UNIT, MANIFEST, None),
        (PER_TORCH, MANIFEST, None),
        (replace(UNIT, abi=Abi.NOARCH, torch=None, rocm=None, archs=()), MANIFEST, "no compiled code"),
        (replace(UNIT, archs=("gfx942", "gfx9999")), MANIFEST, "The clang 21.1.8 of debian does not know gfx9999."),
        (UNIT, with_kernel(src=("add/add.cu",)), "add/add.cu is CUDA, which debian does not translate"),
        (UNIT, with_kernel(depends=("torch", "cutlass_3_9")), "depends on cutlass_3_9, which debian does not have."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_built_is_said_in_a_sentence(unit: Unit, manifest: Manifest, said: str | None) -> None:
    found = objection(unit, manifest, SETUP, COMPILER)
    assert found is None if said is None else said in str(found)


def test_a_rocm_builds_for_its_own_minor(tmp_path: Path) -> None:
    del tmp_path
    own, image = replace(SETUP, own_minor=True), replace(SETUP, serves=("7.1",))
    other = replace(UNIT, rocm="7.1")
    assert "builds for ROCm 7.2, not 7.1" in str(objection(other, MANIFEST, own, COMPILER))
    assert objection(UNIT, MANIFEST, own, COMPILER) is None
    assert "is for ROCm 7.1, but its hipcc says HIP 7.2" in str(objection(other, MANIFEST, image, COMPILER))


def test_a_header_that_only_torch_for_rocm_has_is_named_with_its_line(tmp_path: Path) -> None:
    made = request(tmp_path, unit=PER_TORCH)
    (made.project / "add/add.h").write_text("#pragma once\n#include <c10/hip/HIPStream.h>\n")
    hip = project_sources(made.manifest)[1]
    with pytest.raises(
        MissingRequirementError, match=r"<c10/hip/HIPStream\.h> is not among the headers of torch"
    ) as raised:
        require_headers(made, hip)
    assert raised.value.where == "add/add.h:2"
    header = tmp_path / "torch-include/c10/hip/HIPStream.h"
    header.parent.mkdir(parents=True)
    header.write_text("")
    require_headers(made, hip)


def test_a_source_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    made = request(tmp_path)
    (made.project / "add/add.hip").unlink()
    with pytest.raises(InputError, match=r"add/add\.hip is not there"):
        require_headers(made, project_sources(made.manifest)[1])
