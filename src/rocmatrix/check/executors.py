"""Which executor a check gets."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.check.emulator import EmulatorExecutor
from rocmatrix.check.interface import Executor
from rocmatrix.check.options import CheckOptions, On
from rocmatrix.engine.interface import Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Emit, Notice

_KFD = Path("/dev/kfd")


def make_executor(options: CheckOptions, *, engine: Engine, cache: Path, emit: Emit) -> Executor:
    """Return what runs the cases; of ``auto`` it is said what was chosen and why.

    Args:
        options: what is asked for.
        engine: where processes run.
        cache: folder that several runs share.
        emit: takes the notice.

    Raises:
        MissingRequirementError: a GPU is asked for.
        InputError: there is no such device profile.
    """
    if options.on is On.GPU:
        raise MissingRequirementError(
            f"this version of rocmatrix checks numbers on the emulator only; {_gpu_of_this_machine()}",
            where="--on gpu",
            fix="Use --on emulator, which executes the same machine code on this machine's processor.",
        )
    executor = EmulatorExecutor(
        engine=engine,
        cache=cache,
        budget=options.budget,
        device=options.device,
        seed=options.seed,
        translated=True,
    )
    if options.on is On.AUTO:
        emit(Notice(level="info", message=f"check chose the emulator (--on auto): {_gpu_of_this_machine()}"))
    return executor


def _gpu_of_this_machine() -> str:
    if _KFD.exists():
        return f"the AMD GPU behind {_KFD} is not used"
    return f"this machine has no AMD GPU ({_KFD} is not there)"
