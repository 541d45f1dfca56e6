"""66 build.toml files as public repositories have them: ours says of each what the official parser says.

The files are not part of this repository (some of their sources have no licence for the whole). They are looked for in
``shared/cases/manifests`` beside a checkout, or in the folder that ROCMATRIX_PUBLIC_MANIFESTS names.
"""

import json
import os
import time
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import Manifest, parse_manifest
from tests.unit.plan.samples import MATRIX, plan_of

FOLDER = Path(
    os.environ.get("ROCMATRIX_PUBLIC_MANIFESTS", Path(__file__).parents[3].parent / "shared" / "cases" / "manifests")
)
pytestmark = pytest.mark.skipif(
    not (FOLDER / "expected.json").is_file(),
    reason="the public build.toml files are not here: name their folder in ROCMATRIX_PUBLIC_MANIFESTS",
)
EXPECTED = json.loads((FOLDER / "expected.json").read_text()) if (FOLDER / "expected.json").is_file() else {}
ACCEPTED = [name for name, case in EXPECTED.items() if case["accepted"]]
REFUSED = [name for name, case in EXPECTED.items() if not case["accepted"]]
RETIRED = ("gfx940", "gfx941")


@dataclass(frozen=True)
class Section:
    """The fields of a kernel section that expected.json has and ours keeps."""

    id: str
    backend: str
    rocm_archs: tuple[str, ...] | None
    cuda_capabilities: tuple[str, ...] | None
    depends: tuple[str, ...]
    src: tuple[str, ...]
    hip_flags: tuple[str, ...]


def optional(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def parsed(name: str) -> Manifest:
    return parse_manifest((FOLDER / name / "build.toml").read_bytes(), f"{name}/build.toml")


def test_all_of_them_are_there() -> None:
    assert (len(ACCEPTED), len(REFUSED)) == (48, 18)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_official_parser_accepts_is_read_with_the_same_fields(name: str) -> None:
    case, ours = EXPECTED[name], parsed(name)
    assert (ours.name, ours.version, ours.license) == (case["name"], case["version"], case["license"])
    assert list(ours.backends) == case["backends"]
    hub = case["hub"] or {}
    assert (ours.repo_id, ours.branch) == (hub.get("repo-id"), hub.get("branch"))
    assert list(ours.python_depends) == (case["python_depends"] or [])
    depends = [{"repo-id": one.repo_id, "version": one.version} for one in ours.kernel_depends]
    assert depends == (case["kernel_depends"] or [])
    assert ours.noarch_archs == optional(case["noarch_rocm_archs"])
    assert ("rocm" in ours.backends) == case["rocm"]["in_backends"]
    assert [kernel.id for kernel in ours.rocm_kernels] == case["rocm"]["aot_kernels"]
    assert case["edition"] == (4 if ours.warnings else 5)
    framework = "tvm-ffi" if ours.tvm_ffi else "torch" if ours.torch else "torch-noarch"
    assert framework == case["framework"]
    assert any("edition 4" in warning for warning in ours.warnings) == case["legacy_warning"]


@pytest.mark.parametrize("name", [name for name in ACCEPTED if EXPECTED[name]["framework"] == "torch"])
def test_the_torch_table_is_read(name: str) -> None:
    case, torch = EXPECTED[name], parsed(name).torch
    assert torch is not None
    assert list(torch.src) == (case["framework_src"] or [])
    level = case["stable_abi"]
    assert torch.stable_abi == (level.get("rocm") if isinstance(level, dict) else level)
    assert (torch.minver, torch.maxver) == (case["torch_minver"], case["torch_maxver"])


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_kernel_section_is_read(name: str) -> None:
    wanted = [
        Section(
            id=kernel["id"],
            backend=kernel["backend"],
            rocm_archs=optional(kernel["rocm_archs"]),
            cuda_capabilities=optional(kernel["cuda_capabilities"]),
            depends=tuple(kernel["depends"]),
            src=tuple(kernel["src"]),
            hip_flags=tuple(kernel.get("hip_flags") or ()),
        )
        for kernel in EXPECTED[name]["kernels"]
    ]
    ours = [
        Section(**{field.name: getattr(kernel, field.name) for field in fields(Section)})
        for kernel in parsed(name).kernels
    ]
    assert ours == wanted


@pytest.mark.parametrize("name", ACCEPTED)
def test_withdrawn_archs_are_recognized_and_never_a_reason_to_refuse(name: str) -> None:
    compat = load_compat()
    named = {arch for kernel in parsed(name).rocm_kernels for arch in kernel.rocm_archs or ()}
    assert sorted(arch for arch in named if compat.replacement(arch)) == EXPECTED[name]["rocm"]["retired_archs"]


@pytest.mark.parametrize("name", [name for name in ACCEPTED if EXPECTED[name]["rocm"]["retired_archs"]])
def test_a_kernel_that_lists_withdrawn_archs_is_planned_with_a_warning(name: str) -> None:
    text = (FOLDER / name / "build.toml").read_text()
    torch = EXPECTED[name]["torch_maxver"] or "2.12"
    matrix = MATRIX.replace("[gemm]", "[{path: gemm, repo-id: a/b}]").replace('["2.12", "2.13"]', f'["{torch}"]')
    plan = plan_of(matrix, {"gemm": text})
    assert plan.units
    retired = " and ".join(EXPECTED[name]["rocm"]["retired_archs"])
    assert any(f"{retired}: withdrawn by AMD, replaced by gfx942" in warning for warning in plan.warnings)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_official_parser_refuses_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(name)
    assert caught.value.fix
    if EXPECTED[name]["edition"] in {1, 2} or (EXPECTED[name]["edition"] == 3 and not EXPECTED[name]["license"]):
        assert f"edition {EXPECTED[name]['edition']}" in str(caught.value)


@pytest.mark.parametrize("name", [name for name in REFUSED if EXPECTED[name]["edition"] == 3])
def test_edition_3_is_read_once_it_names_a_licence(name: str) -> None:
    case = EXPECTED[name]
    text = (FOLDER / name / "build.toml").read_text()
    licensed = text if case["license"] else text.replace("[general]\n", '[general]\nlicense = "MIT"\n', 1)
    if case["reject_kind"] != "legacy-edition":
        with pytest.raises(InputError):
            parse_manifest(licensed.encode(), name)
        return
    ours = parse_manifest(licensed.encode(), name)
    assert (ours.name, list(ours.backends), ours.version) == (case["name"], case["backends"], case["version"] or 1)
    assert {kernel.id: list(kernel.src) for kernel in ours.kernels} == {k["id"]: k["src"] for k in case["kernels"]}
    complete = case["version"] is not None and case["framework"] != "none"  # all that edition 4 wants, once licensed
    assert f"read as edition {4 if complete else 3}" in ours.warnings[0]


def test_the_largest_one_is_read_quickly() -> None:
    started = time.perf_counter()
    manifest = parsed("kernels-community__aiter-flash-attn-ck")
    seconds = time.perf_counter() - started
    assert sum(len(kernel.src) for kernel in manifest.kernels) > 3000
    assert seconds < 2
