"""Which executor a check gets."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.check.emulator import EmulatorExecutor
from rocmatrix.check.interface import Executor
from rocmatrix.check.options import CheckOptions, On, confirm, gpu_of_this_machine
from rocmatrix.engine.interface import Engine
from rocmatrix.events import Emit, Notice


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
    confirm(options)
    if options.on is On.AUTO:
        emit(Notice(level="info", message=f"check chose the emulator (--on auto): {gpu_of_this_machine()}"))
    return EmulatorExecutor(
        engine=engine,
        cache=cache,
        budget=options.budget,
        device=options.device,
        seed=options.seed,
        translated=True,
    )
