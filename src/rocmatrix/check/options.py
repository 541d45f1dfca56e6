"""What a check is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rocmatrix.check.budget import DEFAULT_BUDGET
from rocmatrix.emulator.host.profiles import DEFAULT, profile
from rocmatrix.errors import MissingRequirementError

_KFD = Path("/dev/kfd")


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


def confirm(options: CheckOptions) -> None:
    """Refuse what cannot be done, before anything else is.

    Raises:
        MissingRequirementError: a GPU is asked for.
        InputError: there is no such device profile.
    """
    profile(options.device)
    if options.on is On.GPU:
        raise MissingRequirementError(
            f"this version of rocmatrix checks numbers on the emulator only; {gpu_of_this_machine()}",
            where="--on gpu",
            fix="Use --on emulator, which executes the same machine code on this machine's processor.",
        )


def gpu_of_this_machine() -> str:
    """Return what there is to say of an AMD GPU here."""
    if _KFD.exists():
        return f"the AMD GPU behind {_KFD} is not used"
    return f"this machine has no AMD GPU ({_KFD} is not there)"
