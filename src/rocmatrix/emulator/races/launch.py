"""What the race detector needs to know of a launch before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.races.conflicts import Names
from rocmatrix.emulator.races.stamps import MOST_WAVES
from rocmatrix.emulator.reports import AccessError, UnsupportedError, WaveId
from rocmatrix.emulator.semantics.machine import WAVE

if TYPE_CHECKING:
    from rocmatrix.emulator.dispatch import Dispatch
    from rocmatrix.emulator.interpreter import Program
    from rocmatrix.emulator.races.tracker import Tracker


def waves_of_workgroup(dispatch: Dispatch) -> int:
    """Return how many waves each workgroup of a launch has."""
    block = dispatch.geometry.block
    return -(-block[0] * block[1] * block[2] // WAVE)


def first_wave(dispatch: Dispatch, workgroup: tuple[int, int, int]) -> int:
    """Return the number in the launch of a workgroup's first wave."""
    x, y, z = workgroup
    width, height, _ = dispatch.geometry.grid
    return (x + width * (y + height * z)) * waves_of_workgroup(dispatch)


def track_races(dispatch: Dispatch, program: Program) -> Tracker:
    """Return a race detector for a launch.

    Raises:
        UnsupportedError: the launch has more waves than stamps can tell apart.
    """
    grid, each = dispatch.geometry.grid, waves_of_workgroup(dispatch)
    total = grid[0] * grid[1] * grid[2] * each
    if total > MOST_WAVES:
        what = f"the race detector on launches of more than {MOST_WAVES} waves; this one has {total}"
        raise UnsupportedError(what, kernel=dispatch.kernel.name)
    code = dispatch.memory.find(dispatch.entry)
    base = 0 if code is None else code.address

    def wave(number: int) -> WaveId:
        workgroup, which = divmod(number, each)
        rest, x = divmod(workgroup, grid[0])
        return WaveId(workgroup=(x, rest % grid[1], rest // grid[1]), wave=which)

    def instruction(place: int) -> Instruction | None:
        try:
            return program.at(base + 4 * place)[0]
        except (AccessError, UnsupportedError):
            return None  # in code too large for a stamp

    names = Names(kernel=dispatch.kernel.name, wave=wave, instruction=instruction, memory=dispatch.memory)
    return program.race_tracker(names, base, total, observed=dispatch.observer is not None)
