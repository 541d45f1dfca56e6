"""Flags: what they must say, and that no folder gets into the bytes."""

from pathlib import Path

import pytest

from rocmatrix.toolchain.llvm import flags
from rocmatrix.toolchain.llvm.flags import LinkInputs, Roots, Translation

ROOTS = Roots(
    zig=Path("/somewhere/zig"),
    hip=Path("/somewhere/hip"),
    project=Path("/work/project"),
    generated=Path("/work/generated"),
    torch=Path("/cache/torch"),
)
BINDING = Translation(
    extension="_add_rocm_1a2b3c4d", standard="c++20", torch_target="2.10", include=("include",), extra=("-DMINE",)
)


@pytest.mark.parametrize(
    ("level", "value"),
    [("2.10", "0x020a000000000000"), ("2.9", "0x0209000000000000"), ("2.13", "0x020d000000000000")],
)
def test_the_level_of_the_stable_abi_is_two_bytes(level: str, value: str) -> None:
    assert flags.torch_target_version(level) == value


def test_a_binding_is_told_the_level_the_backend_and_its_name() -> None:
    found = flags.cxx_flags(ROOTS, BINDING)
    for macro in (
        "TORCH_TARGET_VERSION=0x020a000000000000",
        "USE_ROCM=1",
        "ROCM_KERNEL=1",
        "TORCH_EXTENSION_NAME=_add_rocm_1a2b3c4d",
    ):
        assert f"-D{macro}" in found
    assert {"-std=c++20", "-fPIC", "-fvisibility=hidden", "-nostdinc"} <= {*found}
    assert found[-1] == "-DMINE"


def test_the_authors_folders_come_before_ours_and_torchs() -> None:
    found = flags.cxx_flags(ROOTS, BINDING)
    order = ["/work/project/include", "/work/generated", "/cache/torch", "/somewhere/hip"]
    assert [word for word in found if word in order] == order


@pytest.mark.parametrize("root", [ROOTS.zig, ROOTS.hip, ROOTS.project, ROOTS.generated, ROOTS.torch])
def test_the_compiler_is_told_to_forget_every_root(root: Path) -> None:
    host = flags.hip_host_flags(ROOTS, BINDING, cuid="1")
    device = flags.hip_device_flags(ROOTS, BINDING, cuid="1", arch="gfx942")
    for found in (flags.cxx_flags(ROOTS, BINDING), host, device):
        assert f"-ffile-prefix-map={root}/=" in found


def test_a_command_apart_from_its_folders_is_the_same_everywhere() -> None:
    moved = Roots(zig=Path("/a"), hip=Path("/b"), project=Path("/c"), generated=Path("/d"), torch=Path("/e"))
    one, other = (
        flags.hip_device_flags(roots.labelled(), BINDING, cuid="1", arch="gfx942") for roots in (ROOTS, moved)
    )
    assert one == other


def test_options_for_llvm_itself_reach_the_machine_code() -> None:
    extra = ("-ffast-math", "-mllvm", "-amdgpu-early-inline-all=true")
    found = flags.code_object_flags("gfx942", extra)
    assert found[-2:] == extra[1:]
    assert "-ffast-math" not in found


def test_torchs_libraries_stay_among_what_is_loaded_and_the_runtime_comes_last() -> None:
    inputs = LinkInputs(objects=(Path("a.o"),), kept=(Path("libtorch.so"),), libraries=(Path("libstdc++.so.6"),))
    found = flags.link_command(Path("zig"), Path("a.so"), inputs, strip=True)
    order = ["a.o", "--no-as-needed", "libtorch.so", "--as-needed", "libstdc++.so.6"]
    assert [word for word in found if word in order] == order
    assert {"--no-undefined", "--build-id=sha1", "-s"} <= {*found}
    assert "-s" not in flags.link_command(Path("zig"), Path("a.so"), inputs, strip=False)
