"""Compiler and linker flags of a ROCm's own compiler.

They are kernel-builder's as far as they decide what a source means (``preamble.cmake``, ``kernel.cmake`` and
``torch-extension.cmake`` of huggingface/kernels at 8ac69fc): the macros, one ``--offload-arch`` an arch, and the
author's own flags last, C++ flags for C++ and HIP flags for HIP. The code-object version (``-mcode-object-version=5``)
and compressed bundles (``--offload-compress``) are hip-flags there, and so they are here.

The bytes of a result must not depend on the folder it was built in, so the compiler is told to forget the roots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.plan.model import Abi
from rocmatrix.toolchain.interface import BuildRequest
from rocmatrix.toolchain.llvm.flags import torch_target_version
from rocmatrix.toolchain.project_sources import Source

TORCH_LIBRARIES = {
    Abi.STABLE: ("libtorch.so", "libtorch_cpu.so"),
    Abi.PER_TORCH: ("libtorch.so", "libtorch_cpu.so", "libc10.so"),
}
"""What an extension needs of torch, under the names that the files of its wheels have.

The GPU libraries are not among them: libtorch.so needs libtorch_hip.so, which needs libc10_hip.so, so that their
symbols are found, and an extension that uses none of them also loads on a torch without ROCm.
"""


@dataclass(frozen=True, kw_only=True)
class Roots:
    """Folders that the paths of a compilation are below; ``rocm`` is ``None`` where HIP is the system's own."""

    project: Path
    generated: Path
    torch: Path | None
    rocm: str | None

    @classmethod
    def of(cls, request: BuildRequest, rocm: str | None) -> Roots:
        """Return the roots of a request."""
        return cls(project=request.project, generated=request.generated, torch=request.torch_include, rocm=rocm)

    def labelled(self) -> Roots:
        """Return roots that stand for these wherever they are: what a command looks like apart from its folders."""
        torch = Path("/torch") if self.torch else None
        return Roots(project=Path("/project"), generated=Path("/generated"), torch=torch, rocm=self.rocm)


def hip_flags(request: BuildRequest, roots: Roots, source: Source, *, cuid: str) -> tuple[str, ...]:
    """Return the flags of a HIP source, for all archs at once, apart from its name and output."""
    return (
        *("-x", "hip", f"-cuid={cuid}"),
        *(f"--offload-arch={arch}" for arch in request.unit.archs),
        *_common(request, roots, source),
        "-O3",
        *source.extra,
    )


def cxx_flags(request: BuildRequest, roots: Roots, source: Source) -> tuple[str, ...]:
    """Return the flags of a C++ source, apart from its name and output."""
    hip = ("-isystem", f"{roots.rocm}/include") if roots.rocm else ()
    return ("-x", "c++", *_common(request, roots, source), *hip, "-O2", *source.extra)


def stub_flags(name: str) -> tuple[str, ...]:
    """Return the flags that make a library with a name and nothing in it."""
    return ("-shared", "-nostdlib", "-fuse-ld=lld", f"-Wl,-soname,{name}", "-x", "c", "/dev/null")


def link_flags(objects: tuple[Path, ...], stubs: tuple[Path, ...], exports: Path, rocm: str | None) -> tuple[str, ...]:
    """Return the flags of the link, apart from its output.

    Symbols of torch stay open, since the stubs have none; a gate says whether anything else did. The C++ runtime is the
    shared one of the toolchain: a second one linked into the extension would abort Python at the first exception that
    crosses. A gcc-toolset keeps what the old shared one lacks in an archive that its linker script names by itself.
    """
    folder = (f"-L{rocm}/lib",) if rocm else ()
    return (
        *("-shared", "-fuse-ld=lld", "-s"),
        *("-Wl,--build-id=sha1", "-Wl,--hash-style=gnu", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"),
        f"-Wl,--version-script={exports}",
        *(str(path) for path in objects),
        *("-Wl,--no-as-needed", *(str(path) for path in stubs)),
        *folder,
        "-lamdhip64",
    )


def _common(request: BuildRequest, roots: Roots, source: Source) -> tuple[str, ...]:
    include = [roots.project / folder for folder in source.include] + [roots.generated]
    torch = [roots.torch, roots.torch / "torch/csrc/api/include"] if roots.torch else []
    named = (roots.project, roots.generated, *((roots.torch,) if roots.torch else ()))
    return (
        *("-c", "-fPIC", "-fvisibility=hidden", f"-std={request.cxx_standard}"),
        *(f"-D{macro}" for macro in _macros(request)),
        *(word for folder in include for word in ("-I", str(folder))),
        *(word for folder in torch for word in ("-isystem", str(folder))),
        *(f"-ffile-prefix-map={root}/=" for root in named),
        "-ffile-compilation-dir=.",
    )


def _macros(request: BuildRequest) -> Iterator[str]:
    yield f"TORCH_EXTENSION_NAME={request.extension}"
    yield "USE_ROCM=1"
    yield "ROCM_KERNEL=1"
    yield "__HIP_PLATFORM_AMD__=1"
    if request.unit.abi is Abi.STABLE and request.unit.torch:
        yield f"TORCH_TARGET_VERSION={torch_target_version(request.unit.torch)}"
    else:
        yield "_GLIBCXX_USE_CXX11_ABI=1"
