"""Which of the GPUs is used: what ``--gpu`` says, among those that the environment leaves visible.

``ROCR_VISIBLE_DEVICES`` (numbers or ``GPU-<unique id>``) hides from everything, ``HIP_VISIBLE_DEVICES`` or else
``CUDA_VISIBLE_DEVICES`` hides among what is left and counts anew, as the runtimes do (ROCm, "GPU isolation
techniques"). A scheduler may have set them, so that they narrow the choice and are never overruled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.gpu.topology import Gpu

_HSA = "ROCR_VISIBLE_DEVICES"
_HIP = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
_NUMBER = re.compile(r"[0-9]{1,9}")
_UUID = re.compile(r"GPU-([0-9a-fA-F]{1,16})")


def visible(gpus: Sequence[Gpu], environment: Mapping[str, str]) -> tuple[Gpu, ...]:
    """Return the GPUs that the environment leaves visible, in the order in which HIP counts them."""
    left = _named(gpus, environment.get(_HSA))
    for name in _HIP:
        if name in environment:
            return _named(left, environment[name])
    return left


def choose(gpus: Sequence[Gpu], number: int | None, environment: Mapping[str, str]) -> Gpu:
    """Return the GPU to use.

    Args:
        gpus: those of this machine.
        number: what ``--gpu`` says, counted among the visible ones; ``None`` for the first of them.
        environment: of this process.

    Raises:
        MissingRequirementError: there is no GPU, or the environment hides all of them.
        InputError: there is none of that number.
    """
    seen = visible(gpus, environment)
    if not gpus:
        raise MissingRequirementError(
            "the driver amdgpu names no GPU",
            where="/sys/class/kfd/kfd/topology/nodes",
            fix="See `dmesg | grep amdgpu`: the driver may have failed, or this is a container without the GPU.",
        )
    if not seen:
        names = ", ".join(name for name in (_HSA, *_HIP) if name in environment)
        fix = f"Correct or unset {names}."
        raise MissingRequirementError(f"{names} hides all {len(gpus)} GPUs of this machine", where=names, fix=fix)
    if number is None:
        return seen[0]
    if number >= len(seen):
        listed = "; ".join(f"{place}: {gpu.gfx}, {gpu.render_node}" for place, gpu in enumerate(seen))
        raise InputError(f"there is no visible GPU {number}", where="--gpu", fix=f"There are {listed}.")
    return seen[number]


def _named(gpus: Sequence[Gpu], value: str | None) -> tuple[Gpu, ...]:
    """Return the GPUs of a list of numbers or ids; as in the runtimes, the list ends before one that is none."""
    if value is None:
        return tuple(gpus)
    found: list[Gpu] = []
    for word in (part.strip() for part in value.split(",")):
        match = _UUID.fullmatch(word)
        if match:
            same = [gpu for gpu in gpus if gpu.unique_id == int(match[1], 16)]
        else:
            same = [gpus[int(word)]] if _NUMBER.fullmatch(word) and int(word) < len(gpus) else []
        if not same:
            break
        found += [gpu for gpu in same[:1] if gpu not in found]
    return tuple(found)
