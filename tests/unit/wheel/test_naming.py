"""Names of wheels: versions, tags, and what cannot be a name."""

import importlib.resources
import json
import tomllib

import pytest
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from rocmatrix.errors import InputError
from rocmatrix.plan.variants import parse_variant
from rocmatrix.wheel.naming import distribution_name, module_name, release_version, wheel_name


@pytest.mark.parametrize(
    ("variant", "portable", "file"),
    [
        (
            "torch-stable-abi210-rocm72-x86_64-linux",
            True,
            "my_gemm-1.2.0+rocm7.2.torch2.10.stable-cp39-abi3-manylinux_2_28_x86_64.whl",
        ),
        (
            "torch213-cxx11-rocm714-x86_64-linux",
            True,
            "my_gemm-1.2.0+rocm7.14.torch2.13-cp39-abi3-manylinux_2_28_x86_64.whl",
        ),
        ("torch213-cxx11-rocm72-aarch64-linux", False, "my_gemm-1.2.0+rocm7.2.torch2.13-cp39-abi3-linux_aarch64.whl"),
        ("torch-rocm", True, "my_gemm-1.2.0-py3-none-any.whl"),
    ],
)
def test_a_wheel_is_named_after_release_and_variant(variant: str, portable: bool, file: str) -> None:  # noqa: FBT001
    name = wheel_name("my-gemm", Version("1.2.0"), parse_variant(variant), portable=portable)
    assert name.file == file
    distribution, version, _, tags = parse_wheel_filename(name.file)
    assert (distribution, version) == ("my-gemm", name.version)
    assert tags == {Tag(*name.tag.split("-"))}


def test_the_variants_of_one_release_have_versions_of_their_own() -> None:
    variants = [
        f"torch{torch}-rocm{rocm}-x86_64-linux" for torch in ("-stable-abi210", "210", "213") for rocm in (72, 714)
    ]
    names = {wheel_name("gemm", Version("1.0.0"), parse_variant(each), portable=True).version for each in variants}
    assert len(names) == len(variants)


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("v1.2.0", "1.2.0"),
        ("gemm-v1.2.3", "1.2.3"),
        ("v1.2.0-rc.1", "1.2.0rc1"),
        ("v1.0.0-beta2", "1.0.0b2"),
        (None, "1.dev0"),
    ],
)
def test_the_version_is_that_of_the_tag(tag: str | None, version: str) -> None:
    assert str(release_version(tag, "gemm", 1)) == version


@pytest.mark.parametrize(
    "tag", ["1.2.0", "v1.2", "v1.2.0.1", "v1.2.0+rocm7.2", "other-v1.2.0", "v2.0.0", "vx", "", "v1.2.0-x.y"]
)
def test_what_is_no_tag_of_this_kernel_is_refused(tag: str) -> None:
    with pytest.raises(InputError, match=r"is no tag of a release|is of major version 2"):
        release_version(tag, "gemm", 1)


@pytest.mark.parametrize("name", ["", "-x", "x y", "a/b", "ä"])
def test_what_names_no_distribution_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="names no distribution"):
        distribution_name(name, "gemm")
    assert distribution_name("Acme_Gemm", "gemm") == "acme-gemm"
    assert distribution_name(None, "block-gemm") == "block-gemm"


@pytest.mark.parametrize("kernel", ["select", "torch", "json"])
def test_a_kernel_that_would_hide_a_module_is_refused(kernel: str) -> None:
    with pytest.raises(InputError, match="one would hide the other"):
        module_name(kernel)
    assert module_name("block-gemm") == "block_gemm"


def test_python_depends_are_those_of_the_installed_client() -> None:
    ours = tomllib.loads(importlib.resources.files("rocmatrix.wheel").joinpath("python_depends.toml").read_text())
    client = json.loads(importlib.resources.files("kernels").joinpath("python_depends.json").read_text())
    known = {**client["general"], **client["backends"]["rocm"]}
    assert ours["distributions"] == {name: entry["python"][0]["pkg"] for name, entry in known.items()}
    assert all(len(entry["python"]) == 1 for entry in known.values())
