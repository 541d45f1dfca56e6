"""Which instructions a launch executes: an observer of the reference, whose answers are kept in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rocmatrix import atomic, digest
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.semantics.machine import Space
from rocmatrix.emulator.translator.compiler import emulator_digest
from rocmatrix.emulator.wave import Wave
from tests.corpus.trial import Trial


class Coverage:
    """What was executed.

    Attributes:
        addresses: of the instructions.
        most: instructions of the wave that executed most.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.addresses: set[int] = set()
        self.most = 0

    def before(self, wave: Wave, instruction: Instruction) -> None:
        """Keep the address."""
        del instruction
        self.addresses.add(wave.pc)

    def after(self, wave: Wave, instruction: Instruction) -> None:
        """Nothing."""

    def access(
        self,
        wave: Wave,
        space: Space,
        addresses: NDArray[np.integer],
        size: int,
        lanes: NDArray[np.bool_],
        *,
        reads: bool,
        writes: bool,
    ) -> None:
        """Nothing."""

    def barrier(self, waves: tuple[Wave, ...]) -> None:
        """Nothing."""

    def end(self, wave: Wave) -> None:
        """Keep how much it executed."""
        self.most = max(self.most, wave.executed)


@dataclass(frozen=True, kw_only=True)
class Covered:
    """What a trial executes.

    Attributes:
        addresses: of the instructions; fresh devices load at the same address.
        most: instructions of the wave that executed most.
        result: digest of the result's bytes.
    """

    addresses: tuple[int, ...]
    most: int
    result: str


def covered_by(trial: Trial, code: CodeObject, options: Options, folder: Path) -> Covered:
    """Return what a trial executes; the reference is asked once for each code, launch and version of the emulator."""
    place = folder / f"covered-{_identity(trial, code, options)}.json"
    if place.exists():
        return msgspec.json.decode(place.read_bytes(), type=Covered)
    coverage = Coverage()
    _, _, result = trial.run(code, Device(Program), options, coverage)
    made = Covered(
        addresses=tuple(sorted(coverage.addresses)), most=coverage.most, result=digest.of_bytes(result.tobytes())
    )
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_file(place, msgspec.json.encode(made))
    return made


def _identity(trial: Trial, code: CodeObject, options: Options) -> str:
    parts = [segment.data for segment in code.segments]
    parts += [array.tobytes() for array in (*trial.inputs, trial.out)]
    words = (emulator_digest(), trial.kernel, trial.geometry, trial.scalars, trial.nothings, options)
    return digest.of_bytes(
        b"".join(digest.of_bytes(part).encode() for part in parts) + repr(words).encode()
    ).removeprefix("sha256:")
