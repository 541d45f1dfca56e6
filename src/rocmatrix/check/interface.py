"""What an executor is: it runs the numerical cases of one built unit and says what they came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rocmatrix.cases import CaseDescription
from rocmatrix.plan.model import Unit
from rocmatrix.records import CaseResult, GpuRun, Tested

Progress = Callable[[int, int, str], None]
"""Takes how many cases are done, of how many, and what the last one came to; called from any thread."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """What running the cases came to.

    Attributes:
        tested: what executed the kernel; never ``untested``.
        device: which device, or which mode of the emulator, for people.
        results: one for each case that was run, in their order.
        left_out: names of the cases that were not.
        profile: key of the device that was played; ``""`` for a real one.
        seed: what the random inputs began with.
        detectors: what was looked for beside wrong numbers.
        gpu: what a GPU's run was on; ``None`` for all else.
    """

    tested: Tested
    device: str
    results: tuple[CaseResult, ...]
    left_out: tuple[str, ...] = ()
    profile: str = ""
    seed: int = 0
    detectors: tuple[str, ...] = ()
    gpu: GpuRun | None = None


class UntestableError(Exception):
    """An executor cannot say anything of a unit, right or wrong; the message is the reason, for people."""


class Executor(Protocol):
    """Runs numerical cases, on a GPU or on an emulator."""

    def identity(self, unit: Unit) -> str:
        """Return what decides a unit's results besides payload and cases: name, version, device; reuse goes by it."""

    def run(
        self, unit: Unit, payload: Path, tests: Path, cases: tuple[CaseDescription, ...], *, progress: Progress
    ) -> Execution:
        """Run the cases of ``tests/cases.py`` on a payload; a wrong result is a result, not an exception.

        Called from several threads at once.

        Raises:
            UntestableError: this unit is beyond what the executor can run.
            InputError: the payload is damaged, or not what the unit promises.
            CheckError: the cases could not be run.
            MissingRequirementError: the device is gone.
        """

    def interrupt(self) -> None:
        """Kill whatever runs and start nothing more; called from another thread than ``run``."""
