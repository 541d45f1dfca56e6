"""Manifests and units of a small kernel, for tests of the toolchain."""

from dataclasses import replace

from rocmatrix.plan.manifest import KernelSection, Manifest, TorchSection
from rocmatrix.plan.model import Abi, ToolchainId, Unit, UnitId

TORCH = TorchSection(
    src=("torch-ext/binding.cpp", "torch-ext/binding.h"),
    include=None,
    pyext=("py",),
    cxx_flags=(),
    stable_abi="2.10",
    minver=None,
    maxver=None,
)
KERNEL = KernelSection(
    id="add",
    backend="rocm",
    src=("add/add.hip", "add/add.h"),
    include=None,
    depends=("torch",),
    cxx_flags=(),
    hip_flags=(),
    rocm_archs=None,
)
MANIFEST = Manifest(
    name="add",
    version=1,
    license="Apache-2.0",
    backends=("rocm",),
    upstream=None,
    source=None,
    repo_id=None,
    branch=None,
    python_depends=(),
    torch=TORCH,
    pyext=("py",),
    kernels=(KERNEL,),
)
UNIT = Unit(
    id=UnitId("add.torch-stable-abi210-rocm72-x86_64-linux"),
    kernel="add",
    variant="torch-stable-abi210-rocm72-x86_64-linux",
    abi=Abi.STABLE,
    torch="2.10",
    rocm="7.2",
    toolchain=ToolchainId("llvm-rocm7.2"),
    archs=("gfx942",),
    serves=(),
)


def with_kernel(**changes: object) -> Manifest:
    """Return the manifest with a changed kernel section."""
    return replace(MANIFEST, kernels=(replace(KERNEL, **changes),))  # type: ignore[arg-type] # checked by the class


def with_torch(**changes: object) -> Manifest:
    """Return the manifest with a changed torch section."""
    return replace(MANIFEST, torch=replace(TORCH, **changes))  # type: ignore[arg-type] # checked by the class
