"""What a check is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.check.budget import DEFAULT_BUDGET
from rocmatrix.emulator.host.profiles import DEFAULT, profile
from rocmatrix.gpu.nodes import require_driver


class On(StrEnum):
    """What executes the kernels."""

    AUTO = "auto"
    EMULATOR = "emulator"
    GPU = "gpu"


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """What a check is asked to do.

    Attributes:
        on: what executes the kernels.
        budget: floating-point operations of the cases that run; ``None`` for all of them.
        seed: what the random inputs, and the order of workgroups and waves, begin with; 0 for the cases' own seeds.
        device: key of the device profile that the emulator plays.
        gpu: which of the visible GPUs, from 0; ``None`` for the first.
        image: the image that cases run in on a GPU, instead of those that matrix.yaml names.
        gpu_budget: as ``budget``, on a GPU.
    """

    on: On = On.AUTO
    budget: float | None = DEFAULT_BUDGET
    seed: int = 0
    device: str = DEFAULT
    gpu: int | None = None
    image: str | None = None
    gpu_budget: float | None = None


def confirm(options: CheckOptions) -> None:
    """Refuse what cannot be done, before anything else is.

    Raises:
        MissingRequirementError: a GPU is asked for, and this machine has none.
        InputError: there is no such device profile.
    """
    profile(options.device)
    if options.on is On.GPU:
        require_driver()
