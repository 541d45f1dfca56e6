"""Which sources of a project this toolchain compiles, and why it refuses the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.toolchain.llvm.facts import HIP_INCLUDE, hip_runtimes, hip_soname
from rocmatrix.toolchain.llvm.includes import included_files, read_includes

WHO_COULD = "The toolchains almalinux, therock and hipcc have all of ROCm and could."

_CXX = frozenset({".cpp", ".cc", ".cxx"})
_HIP = frozenset({".hip"})
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp", ".def"})
_FULL_ROCM = re.compile(
    r"^(?:hip|rocwmma|ck|ck_tile|hipcub|rocprim|thrust|rocblas|hipblas|hipblaslt|rocrand|hiprand|hipfft|hsa|rocthrust)/"
)


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


def objection(unit: Unit, manifest: Manifest, archs: frozenset[str]) -> str | None:
    """Return why the toolchain cannot build a unit, and who could, or ``None`` if it can.

    ``archs`` are the AMD GPU targets that the compiler knows.
    """
    if unit.abi is Abi.PER_TORCH:
        return (
            f"llvm builds on torch's stable ABI only, because its C++ library is not the one of torch {unit.torch}. "
            f"{WHO_COULD} Or set torch.stable-abi in build.toml."
        )
    if unit.abi is Abi.NOARCH or manifest.torch is None or unit.torch is None or unit.rocm is None:
        return "llvm builds extensions for one ROCm, and this unit has no compiled code."
    if hip_soname(unit.rocm) is None:
        known = " and ".join(f"{row.first} to {row.last}" for row in hip_runtimes())
        return f"llvm does not know the SONAME of libamdhip64 in ROCm {unit.rocm}, only of ROCm {known}. {WHO_COULD}"
    if unknown := [arch for arch in unit.archs if arch.partition(":")[0] not in archs]:
        return f"The clang of llvm does not know {', '.join(unknown)}. {WHO_COULD}"
    return next(_refused(manifest), None)


def project_sources(manifest: Manifest) -> tuple[Source, ...]:
    """Return what is compiled of a project, bindings first, in the order of build.toml.

    C++ flags apply to C++ sources and HIP flags to HIP sources, as in kernel-builder's CMake templates
    (``torch-binding.cmake``, ``kernel-component/hip.cmake``). A source that two sections name is refused, because one
    object cannot have the flags of both.

    Raises:
        InputError: two sections name one source.
    """
    found: dict[str, Source] = {}
    for paths, include, cxx_flags, hip_flags in _sections(manifest):
        for path in paths:
            suffix = PurePosixPath(path).suffix
            if suffix not in _CXX | _HIP:
                continue
            if path in found:
                raise InputError(
                    f"two sections name {path}", where="build.toml: src", fix="Keep it in one of the sections."
                )
            extra = hip_flags if suffix in _HIP else cxx_flags
            found[path] = Source(path=path, is_hip=suffix in _HIP, include=include or (), extra=extra)
    return tuple(found.values())


def refuse_full_rocm(project: Path, source: Source) -> None:
    """Refuse a source that includes headers of ROCm that are not among our declarations.

    Raises:
        InputError: the source is not there.
        MissingRequirementError: the source, or a file of the project that it includes, needs such a header.
    """
    path = project / source.path
    if not path.is_file():
        raise InputError(f"{source.path} is not there", where="build.toml: src", fix="Add the file or take it out.")
    root = project.resolve()
    folders = (project, *(project / folder for folder in source.include))
    for file in sorted(included_files(path, folders)):
        if not file.is_relative_to(root) or file.suffix not in _CXX | _HIP | _HEADERS:
            continue
        for include in read_includes(file.read_bytes()):
            name = include.name or ""
            if _FULL_ROCM.match(name) and not (HIP_INCLUDE / name).is_file() and not _own(name, file, folders):
                raise MissingRequirementError(
                    f"llvm has no <{name}>: it declares {', '.join(_declared())} and nothing else of ROCm",
                    where=f"{file.relative_to(root)}:{include.line}",
                    fix=f"{WHO_COULD} Or do without this header.",
                )


def _own(name: str, includer: Path, folders: tuple[Path, ...]) -> bool:
    return any((folder / name).is_file() for folder in (includer.parent, *folders))


def _declared() -> Iterator[str]:
    return (f"<{path.relative_to(HIP_INCLUDE).as_posix()}>" for path in sorted(HIP_INCLUDE.rglob("*.h")))


def _refused(manifest: Manifest) -> Iterator[str]:
    for kernel in manifest.rocm_kernels:
        if others := [name for name in kernel.depends if name != "torch"]:
            yield f"[kernel.{kernel.id}] depends on {', '.join(others)}, which llvm does not have. {WHO_COULD}"
    for paths, *_ in _sections(manifest):
        for path in paths:
            suffix = PurePosixPath(path).suffix
            if suffix == ".cu":
                yield f"{path} is CUDA, which llvm does not translate to HIP; llvm builds .hip sources. {WHO_COULD}"
            elif suffix not in _CXX | _HIP | _HEADERS:
                yield f"{path} is neither a HIP source (.hip), nor C++ ({', '.join(sorted(_CXX))}), nor a header."


def _sections(
    manifest: Manifest,
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...] | None, tuple[str, ...], tuple[str, ...]]]:
    """Yield sources, include folders, C++ flags and HIP flags of each section that counts for ROCm."""
    if manifest.torch:
        yield manifest.torch.src, manifest.torch.include, manifest.torch.cxx_flags, ()
    for kernel in manifest.rocm_kernels:
        yield kernel.src, kernel.include, kernel.cxx_flags, kernel.hip_flags
