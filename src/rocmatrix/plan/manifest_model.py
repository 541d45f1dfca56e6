"""What build.toml says, as values: the manifest of a kernel-builder project, as far as rocmatrix builds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class KernelSection:
    """One ``[kernel.<id>]`` table.

    Attributes:
        backend: e.g. ``rocm``.
        src: source and header files relative to the project, as written.
        include: include folders relative to the project; ``None`` if the key is absent.
        depends: e.g. ``("torch",)``.
        rocm_archs: gfx archs; ``None`` if the key is absent, which means those of the matrix.
        cuda_capabilities: of a section for CUDA, read and kept; rocmatrix does not build it.
    """

    id: str
    backend: str
    src: tuple[str, ...]
    include: tuple[str, ...] | None
    depends: tuple[str, ...]
    cxx_flags: tuple[str, ...]
    hip_flags: tuple[str, ...]
    rocm_archs: tuple[str, ...] | None
    cuda_capabilities: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class TorchSection:
    """The ``[torch]`` table: the C++ binding between torch and the kernels.

    Attributes:
        stable_abi: level of torch's stable ABI for ROCm, e.g. ``2.10``; ``None`` if the binding needs the headers of
            each torch.
        minver: lowest torch that may be served; ``None`` if unbounded.
        maxver: highest torch that may be served; ``None`` if unbounded.
    """

    src: tuple[str, ...]
    include: tuple[str, ...] | None
    pyext: tuple[str, ...]
    cxx_flags: tuple[str, ...]
    stable_abi: str | None
    minver: str | None
    maxver: str | None


@dataclass(frozen=True, kw_only=True)
class KernelDependency:
    """Another kernel of the Hub that this one loads, at a major version or at a revision (exactly one is set)."""

    repo_id: str
    version: int | None
    revision: str | None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A build.toml.

    Attributes:
        name: ``general.name``, with dashes.
        version: ``general.version``, the major version.
        backends: as written.
        repo_id: ``general.hub.repo-id``; ``None`` if absent.
        branch: ``general.hub.branch``; ``None`` if absent, which means ``v<version>``.
        torch: ``None`` for a project without compiled code (``[torch-noarch]``) and for ``[tvm-ffi]``.
        pyext: suffixes of the Python files and data that go into the payload, without dot.
        tvm_ffi: whether this is a ``[tvm-ffi]`` project, which rocmatrix reads but cannot build.
        noarch_archs: ``torch-noarch.rocm_archs``; ``None`` if absent.
    """

    name: str
    version: int
    license: str
    backends: tuple[str, ...]
    upstream: str | None
    source: str | None
    repo_id: str | None
    branch: str | None
    python_depends: tuple[str, ...]
    torch: TorchSection | None
    pyext: tuple[str, ...]
    kernels: tuple[KernelSection, ...]
    warnings: tuple[str, ...] = ()
    kernel_depends: tuple[KernelDependency, ...] = ()
    tvm_ffi: bool = False
    noarch_archs: tuple[str, ...] | None = None

    @property
    def module(self) -> str:
        """Name of the Python module: the kernel's name with underscores."""
        return self.name.replace("-", "_")

    @property
    def rocm_kernels(self) -> tuple[KernelSection, ...]:
        """The sections that are compiled for ROCm."""
        return tuple(kernel for kernel in self.kernels if kernel.backend == "rocm")
