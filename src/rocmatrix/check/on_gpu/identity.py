"""Whether the torch and the GPU are those of a promise; only then does a case count.

ROCm is ``torch.version.hip`` to its minor, as the ``kernels`` client has it; torch is a release; the GPU's arch is the
part of ``gcnArchName`` before its features. A torch without ROCm is refused whatever else it is: an index that is named
carelessly serves one for CUDA (vllm-project/vllm#44660).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from rocmatrix.check.on_gpu.inside.wire import Found
from rocmatrix.errors import MissingRequirementError
from rocmatrix.plan.model import CellId


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What the users of one cell have: torch minor, ROCm minor, gfx archs."""

    cell: CellId
    torch: str
    rocm: str
    archs: tuple[str, ...]


def require_promised(found: Found, promises: Sequence[Promise], *, gfx: str, image: str) -> Promise:
    """Return the promise that this torch on this GPU keeps.

    Args:
        found: what the container says.
        promises: any of which would do; at least one.
        gfx: arch of the GPU as the driver names it outside of the container.
        image: the image, for messages.

    Raises:
        MissingRequirementError: what was promised, what is there, and what to do.
    """
    if found.hip is None:
        kind = f"for CUDA {found.cuda}" if found.cuda else "for CPUs"
        raise _mismatch(f"its torch {found.torch} is built {kind}: torch.version.hip is None", promises, image)
    minors = _torch_minor(found.torch), _hip_minor(found.hip)
    if None in minors:
        what = f"its torch {found.torch} for HIP {found.hip} is no release whose minors can be told"
        raise _mismatch(what, promises, image)
    _require_gpu(found, gfx, image)
    of_torch = [promise for promise in promises if (promise.torch, promise.rocm) == minors]
    if not of_torch:
        raise _mismatch(f"it has torch {found.torch} for HIP {found.hip}", promises, image)
    of_gpu = [promise for promise in of_torch if gfx in promise.archs]
    if not of_gpu:
        raise MissingRequirementError(
            f"{of_torch[0].cell} is promised for {', '.join(of_torch[0].archs)}, and this GPU is {found.arch}",
            where="--on gpu",
            fix="Choose another with --gpu, run this on a machine that has one, or use --on emulator.",
        )
    return of_gpu[0]


def base_arch(arch: str) -> str:
    """Return the arch of ``gcnArchName`` without its features: ``gfx942`` of ``gfx942:sramecc+:xnack-``."""
    return arch.partition(":")[0]


def _require_gpu(found: Found, gfx: str, image: str) -> None:
    """Refuse a torch that sees no GPU, several, one that does not work, or one of another name than the driver's."""
    if found.devices != 1:
        seen = "no GPU" if found.devices < 1 else f"{found.devices} GPUs"
        said = f": {found.problem}" if found.problem else ""
        raise MissingRequirementError(
            f"torch {found.torch} sees {seen} where it was given one ({gfx}){said}",
            where=image,
            fix="See `rocmatrix doctor --gpu`. A driver that is too old for the image's ROCm, and groups that do not"
            " fit, look like this.",
        )
    if found.problem:
        raise MissingRequirementError(
            f"the GPU {found.name} does not work: {found.problem}",
            where=image,
            fix="See `dmesg | grep amdgpu`; a GPU that hangs needs a reset, or its machine a restart.",
        )
    if base_arch(found.arch) != gfx:
        raise MissingRequirementError(
            f"torch calls the GPU {found.arch or 'nothing'}, and the driver calls it {gfx}",
            where=image,
            fix="Take HSA_OVERRIDE_GFX_VERSION and the like out of the image.",
        )


def _mismatch(what: str, promises: Sequence[Promise], image: str) -> MissingRequirementError:
    listed = ", ".join(dict.fromkeys(f"torch {each.torch} for ROCm {each.rocm}" for each in promises))
    return MissingRequirementError(
        f"the image is none that was promised: {what}; the unit is for {listed}",
        where=image,
        fix="Name an image with one of these torches: check.images in matrix.yaml, or --image.",
    )


def _torch_minor(text: str) -> str | None:
    """Return the minor of a release; ``None`` for a development version or what is no version."""
    try:
        version = Version(text)
    except InvalidVersion:
        return None
    return None if version.is_prerelease else f"{version.major}.{version.minor}"


def _hip_minor(text: str) -> str | None:
    match = re.match(r"(\d{1,4})\.(\d{1,4})(?:\.|$)", text, re.ASCII)
    return f"{int(match[1])}.{int(match[2])}" if match else None
