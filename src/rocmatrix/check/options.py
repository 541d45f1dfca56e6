"""What a check is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.check.budget import DEFAULT_BUDGET
from rocmatrix.emulator.host.profiles import DEFAULT


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
    """

    on: On = On.AUTO
    budget: float | None = DEFAULT_BUDGET
    seed: int = 0
    device: str = DEFAULT
