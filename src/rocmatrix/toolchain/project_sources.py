"""What is compiled of a kernel project, whichever toolchain does it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from rocmatrix.errors import InputError
from rocmatrix.plan.manifest import Manifest

CXX = frozenset({".cpp", ".cc", ".cxx"})
HIP = frozenset({".hip"})
HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp", ".def"})
"""Suffixes of C++ sources, of HIP sources, and of files that are included by them."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file that becomes an object.

    Attributes:
        path: relative to the project.
        is_hip: compiled for the GPU and the CPU; else C++ for the CPU alone.
        include: folders relative to the project.
        extra: the author's own flags.
    """

    path: str
    is_hip: bool
    include: tuple[str, ...]
    extra: tuple[str, ...]

    @property
    def stem(self) -> str:
        """A file name that no other source of the project has."""
        return re.sub(r"[^A-Za-z0-9.]", lambda match: f"_{ord(match[0]):x}_" if match[0] != "/" else "__", self.path)


def project_sources(manifest: Manifest) -> tuple[Source, ...]:
    """Return what is compiled of a project, bindings first, in the order of build.toml.

    C++ flags apply to C++ sources and HIP flags to HIP sources, as in kernel-builder's CMake templates
    (``torch-binding.cmake``, ``kernel-component/hip.cmake``). A source that two sections name is refused, because one
    object cannot have the flags of both.

    Raises:
        InputError: two sections name one source.
    """
    found: dict[str, Source] = {}
    for paths, include, cxx_flags, hip_flags in sections(manifest):
        for path in paths:
            suffix = PurePosixPath(path).suffix
            if suffix not in CXX | HIP:
                continue
            if path in found:
                raise InputError(
                    f"two sections name {path}", where="build.toml: src", fix="Keep it in one of the sections."
                )
            extra = hip_flags if suffix in HIP else cxx_flags
            found[path] = Source(path=path, is_hip=suffix in HIP, include=include or (), extra=extra)
    return tuple(found.values())


def sections(
    manifest: Manifest,
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...] | None, tuple[str, ...], tuple[str, ...]]]:
    """Yield sources, include folders, C++ flags and HIP flags of each section that counts for ROCm."""
    if manifest.torch:
        yield manifest.torch.src, manifest.torch.include, manifest.torch.cxx_flags, ()
    for kernel in manifest.rocm_kernels:
        yield kernel.src, kernel.include, kernel.cxx_flags, kernel.hip_flags


def unsupported(manifest: Manifest, toolchain: str, who_could: str = "") -> Iterator[str]:
    """Yield what a toolchain that builds HIP and C++ sources with nothing but torch cannot build, one sentence each.

    Args:
        manifest: of the project.
        toolchain: its name, for the sentences.
        who_could: a sentence that names those that have what this one lacks, or ``""``.
    """
    more = f" {who_could}" if who_could else ""
    for kernel in manifest.rocm_kernels:
        if others := [name for name in kernel.depends if name != "torch"]:
            yield f"[kernel.{kernel.id}] depends on {', '.join(others)}, which {toolchain} does not have.{more}"
    for paths, *_ in sections(manifest):
        for path in paths:
            suffix = PurePosixPath(path).suffix
            if suffix == ".cu":
                yield (
                    f"{path} is CUDA, which {toolchain} does not translate to HIP: translate it once (hipify-perl "
                    "does), and name the .hip file in build.toml."
                )
            elif suffix not in CXX | HIP | HEADERS:
                yield f"{path} is neither a HIP source (.hip), nor C++ ({', '.join(sorted(CXX))}), nor a header."
