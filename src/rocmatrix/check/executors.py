"""Which executor a check gets."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.check.emulator import EmulatorExecutor
from rocmatrix.check.interface import Executor
from rocmatrix.check.on_gpu.choice import Wanted, make_gpu_executor
from rocmatrix.check.options import CheckOptions, On, confirm
from rocmatrix.engine.interface import Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Emit, Notice


def make_executor(options: CheckOptions, wanted: Wanted, *, engine: Engine, cache: Path, emit: Emit) -> Executor:
    """Return what runs the cases; of ``auto`` it is said what was chosen and why.

    ``auto`` is a GPU where everything for one is there, for all units that are asked for. What turns out to be wrong
    after that ends the check: nothing is run on the emulator in its place.

    Args:
        options: what is asked for.
        wanted: which units, of which plan.
        engine: where processes of this machine run.
        cache: folder that several runs share.
        emit: takes the notice.

    Raises:
        MissingRequirementError: a GPU is asked for, and something for it is missing.
        InputError: there is no such device profile, or no GPU of the number that was asked for.
    """
    confirm(options)
    if options.on is not On.EMULATOR:
        try:
            executor = make_gpu_executor(options, wanted, host=engine, emit=emit)
        except MissingRequirementError as err:
            if options.on is On.GPU:
                raise
            emit(Notice(level="info", message=f"check chose the emulator (--on auto): {err.what}"))
        else:
            if options.on is On.AUTO:
                emit(Notice(level="info", message=f"check chose the GPU (--on auto): {executor.description}"))
            return executor
    return EmulatorExecutor(
        engine=engine,
        cache=cache,
        budget=options.budget,
        device=options.device,
        seed=options.seed,
        translated=True,
    )
