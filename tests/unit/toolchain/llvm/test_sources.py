"""What the toolchain compiles of a project, and what it refuses with the names of those that could."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.toolchain.llvm.sources import objection, refuse_full_rocm
from rocmatrix.toolchain.project_sources import Source, project_sources
from tests.unit.toolchain.llvm.samples import KERNEL, MANIFEST, UNIT, with_kernel, with_torch

ARCHS = frozenset({"gfx90a", "gfx942"})
HIP = Source(path="add/add.hip", is_hip=True, include=("include",), extra=())


def test_a_stable_unit_of_hip_sources_is_taken() -> None:
    assert objection(UNIT, MANIFEST, ARCHS) is None


def test_an_arch_with_features_is_known_by_its_processor() -> None:
    assert objection(replace(UNIT, archs=("gfx90a:xnack-",)), MANIFEST, ARCHS) is None


@pytest.mark.parametrize(
    ("unit", "manifest", "said"),
    [
        (replace(UNIT, abi=Abi.PER_TORCH, torch="2.13"), MANIFEST, "stable ABI only"),
        (replace(UNIT, abi=Abi.NOARCH, torch=None, rocm=None, archs=()), MANIFEST, "no compiled code"),
        (UNIT, replace(MANIFEST, torch=None), "no compiled code"),
        (
            replace(UNIT, rocm="5.7"),
            MANIFEST,
            "SONAME of libamdhip64 in ROCm 5.7, only of ROCm 6.0 to 6.4 and 7.0 to 7.15",
        ),
        (replace(UNIT, rocm="8.0"), MANIFEST, "SONAME of libamdhip64 in ROCm 8.0"),
        (replace(UNIT, archs=("gfx942", "gfx9999")), MANIFEST, "does not know gfx9999"),
        (UNIT, with_kernel(depends=("torch", "cutlass_3_9")), r"\[kernel.add\] depends on cutlass_3_9"),
        (UNIT, with_kernel(src=("add/add.cu",)), "add/add.cu is CUDA"),
        (UNIT, with_torch(src=("torch-ext/binding.rs",)), "binding.rs is neither a HIP source"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_it_cannot_build_is_said_in_a_sentence(unit: Unit, manifest: Manifest, said: str) -> None:
    found = objection(unit, manifest, ARCHS)
    assert found is not None
    assert re.search(said, found), found


def test_who_could_build_it_is_named() -> None:
    found = objection(replace(UNIT, abi=Abi.PER_TORCH), MANIFEST, ARCHS)
    assert found is not None
    assert all(name in found for name in ("almalinux", "therock", "hipcc"))


def test_a_section_of_another_backend_is_nobodys_business() -> None:
    cuda = replace(KERNEL, id="other", backend="cuda", src=("add/add.cu",), depends=("cutlass_3_9",))
    assert objection(UNIT, replace(MANIFEST, kernels=(KERNEL, cuda)), ARCHS) is None


def test_sources_get_the_flags_and_folders_of_their_section_and_language() -> None:
    manifest = replace(
        with_kernel(src=("a.hip", "a.h", "b.cc"), include=("inc",), cxx_flags=("-DC",), hip_flags=("-DH",)),
        torch=with_torch(src=("t.cpp",), cxx_flags=("-DT",)).torch,
    )
    assert project_sources(manifest) == (
        Source(path="t.cpp", is_hip=False, include=(), extra=("-DT",)),
        Source(path="a.hip", is_hip=True, include=("inc",), extra=("-DH",)),
        Source(path="b.cc", is_hip=False, include=("inc",), extra=("-DC",)),
    )


def test_one_source_in_two_sections_is_refused() -> None:
    manifest = replace(MANIFEST, kernels=(KERNEL, replace(KERNEL, id="again")))
    with pytest.raises(InputError, match=r"two sections name add/add\.hip"):
        project_sources(manifest)


def test_objects_of_sources_with_one_stem_do_not_meet() -> None:
    paths = ("a/k.hip", "a/k.cpp", "b/k.hip", "a__k.hip", "a/k-1.hip", "a/k_1.hip")
    stems = {Source(path=path, is_hip=False, include=(), extra=()).stem for path in paths}
    assert len(stems) == len(paths)


def write(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("header", ["hip/hip_fp8.h", "hip/hip_bf16.h", "rocwmma/rocwmma.hpp", "ck/ck.hpp"])
def test_a_header_of_all_of_rocm_is_refused_with_file_and_line(header: str, tmp_path: Path) -> None:
    write(tmp_path, "add/add.hip", '#include <hip/hip_runtime.h>\n#include "types.h"\n')
    write(tmp_path, "add/types.h", f"#pragma once\n\n#include <{header}>\n")
    with pytest.raises(MissingRequirementError, match=rf"llvm has no <{header}>") as raised:
        refuse_full_rocm(tmp_path, HIP)
    assert raised.value.where == "add/types.h:3"
    assert "almalinux" in str(raised.value)


def test_our_declarations_and_a_projects_own_headers_are_taken(tmp_path: Path) -> None:
    write(
        tmp_path,
        "add/add.hip",
        "#include <hip/hip_runtime.h>\n#include <hip/hip_runtime_api.h>\n#include <ck/mine.h>\n",
    )
    write(tmp_path, "include/ck/mine.h", "")
    refuse_full_rocm(tmp_path, HIP)


def test_a_header_that_is_commented_out_is_no_reason_to_refuse(tmp_path: Path) -> None:
    write(tmp_path, "add/add.hip", "/*\n#include <hip/hip_fp8.h>\n*/\n// #include <hip/hip_fp8.h>\n")
    refuse_full_rocm(tmp_path, HIP)


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"add/add\.hip is not there"):
        refuse_full_rocm(tmp_path, HIP)
