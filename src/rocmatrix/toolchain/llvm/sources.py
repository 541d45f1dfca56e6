"""Which sources of a project this toolchain compiles, and why it refuses the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.toolchain.includes import included_files, read_includes
from rocmatrix.toolchain.llvm.facts import HIP_INCLUDE, hip_runtimes, hip_soname
from rocmatrix.toolchain.project_sources import CXX, HEADERS, HIP, Source, unsupported

WHO_COULD = "The toolchains almalinux, therock and hipcc have all of ROCm and could."

_FULL_ROCM = re.compile(
    r"^(?:hip|rocwmma|ck|ck_tile|hipcub|rocprim|thrust|rocblas|hipblas|hipblaslt|rocrand|hiprand|hipfft|hsa|rocthrust)/"
)


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
    return next(unsupported(manifest, "llvm", WHO_COULD), None)


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
        if not file.is_relative_to(root) or file.suffix not in CXX | HIP | HEADERS:
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
