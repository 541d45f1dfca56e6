"""Why a ROCm cannot build a unit, and headers of torch that a wheel does not have."""

from __future__ import annotations

import re
from pathlib import Path

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.plan.text import in_words
from rocmatrix.toolchain.hipcc.compiler import Compiler
from rocmatrix.toolchain.hipcc.setup import Setup
from rocmatrix.toolchain.includes import included_files, read_includes
from rocmatrix.toolchain.interface import BuildRequest
from rocmatrix.toolchain.project_sources import Source, unsupported

_ROCM_TORCH = re.compile(r"^(?:c10|ATen|caffe2|torch)/(?:.*/)?hip/")
"""Headers that only torch's wheels for ROCm have."""


def objection(unit: Unit, manifest: Manifest, setup: Setup, compiler: Compiler) -> str | None:
    """Return why a ROCm cannot build a unit, one sentence, or ``None`` if it can."""
    name = setup.recipe
    if unit.abi is Abi.NOARCH or manifest.torch is None or unit.torch is None or unit.rocm is None:
        return f"{name} builds extensions for one ROCm, and this unit has no compiled code."
    serves = (compiler.rocm,) if setup.own_minor else setup.serves
    if serves and unit.rocm not in serves:
        return f"{name} has HIP {compiler.hip}, which builds for ROCm {in_words(serves)}, not {unit.rocm}."
    if setup.serves and compiler.rocm not in setup.serves:
        return f"{name} is for ROCm {in_words(setup.serves)}, but its hipcc says HIP {compiler.hip}."
    if unknown := [arch for arch in unit.archs if arch.partition(":")[0] not in compiler.archs]:
        return f"The clang {compiler.version} of {name} does not know {in_words(unknown)}."
    return next(unsupported(manifest, name), None)


def require_headers(request: BuildRequest, source: Source) -> None:
    """Refuse a source that is not there, or that includes a header of torch for ROCm which the wheel at hand lacks.

    Raises:
        InputError: the source is not there.
        MissingRequirementError: a file of the project includes such a header.
    """
    path = request.project / source.path
    if not path.is_file():
        raise InputError(f"{source.path} is not there", where="build.toml: src", fix="Add the file or take it out.")
    root = request.project.resolve()
    folders = [root / folder for folder in source.include]
    for file in sorted(included_files(path.resolve(), folders)):
        for include in read_includes(file.read_bytes()):
            name = include.name or ""
            if _ROCM_TORCH.match(name) and not _has(request, name, [file.parent, *folders]):
                raise MissingRequirementError(
                    f"<{name}> is not among the headers of torch at hand: only its wheels for ROCm have it",
                    where=f"{file.relative_to(root)}:{include.line}",
                    fix="Let pip find torch's wheel for this ROCm (its index as extra-index-url, `pip config list`), "
                    "or do without: a binding can take the stream as an argument of the op, or by torch's stable ABI.",
                )


def _has(request: BuildRequest, name: str, own: list[Path]) -> bool:
    folders = [*own, *([request.torch_include] if request.torch_include else [])]
    return any((folder / name).is_file() for folder in folders)
