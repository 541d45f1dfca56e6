"""66 build.toml files as public repositories have them: ours says of each what the official parser says.

The files are not part of this repository (some of their sources have no licence for the whole). They are looked for in
``shared/cases/manifests`` beside a checkout, or in the folder that ROCMATRIX_PUBLIC_MANIFESTS names.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import Manifest, parse_manifest

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
    depends: tuple[str, ...]
    src: tuple[str, ...]


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
            rocm_archs=tuple(kernel["rocm_archs"]) if kernel["rocm_archs"] is not None else None,
            depends=tuple(kernel["depends"]),
            src=tuple(kernel["src"]),
        )
        for kernel in EXPECTED[name]["kernels"]
    ]
    ours = [
        Section(
            id=kernel.id, backend=kernel.backend, rocm_archs=kernel.rocm_archs, depends=kernel.depends, src=kernel.src
        )
        for kernel in parsed(name).kernels
    ]
    assert ours == wanted


@pytest.mark.parametrize("name", ACCEPTED)
def test_withdrawn_archs_are_recognized_and_never_a_reason_to_refuse(name: str) -> None:
    compat = load_compat()
    named = {arch for kernel in parsed(name).rocm_kernels for arch in kernel.rocm_archs or ()}
    assert sorted(arch for arch in named if compat.replacement(arch)) == EXPECTED[name]["rocm"]["retired_archs"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_official_parser_refuses_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(name)
    assert caught.value.fix
    if EXPECTED[name]["edition"] in {1, 2, 3}:
        assert f"edition {EXPECTED[name]['edition']}" in str(caught.value)


def test_the_largest_one_is_read_quickly() -> None:
    started = time.perf_counter()
    manifest = parsed("kernels-community__aiter-flash-attn-ck")
    seconds = time.perf_counter() - started
    assert sum(len(kernel.src) for kernel in manifest.kernels) > 3000
    assert seconds < 2
