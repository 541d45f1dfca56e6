"""Which instructions a launch executes: the translator's blocks are executed one at a time, and noted.

Answers are kept in a folder. The reference, which could be watched, takes many times as long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from rocmatrix import atomic, digest
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.semantics.control import Flow
from rocmatrix.emulator.translator.compiler import emulator_digest
from rocmatrix.emulator.translator.program import TranslatedProgram
from rocmatrix.emulator.wave import Status, Wave
from tests.corpus.trial import Trial
from tests.mutation.patched import MutantPrograms


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


class CoveringProgram(TranslatedProgram):
    """A program that notes which instructions are executed."""

    coverage: Coverage
    """Set by whoever asks for it."""

    def run(self, wave: Wave, limit: int) -> None:
        """Execute a wave for a turn, which ends where it would without notes."""
        end = wave.executed + limit
        while True:
            place, before = wave.pc, wave.executed
            super().run(wave, 1)
            flow = self._note(place, wave.executed - before)
            self.coverage.most = max(self.coverage.most, wave.executed)
            if flow is Flow.YIELD or wave.status is not Status.READY or wave.executed >= end:
                return

    def _note(self, place: int, executed: int) -> Flow | None:
        """Note instructions that lie one behind the other; return the last one's flow.

        A turn of one instruction ends behind the first that may move the program counter; the reference, which
        executes what is not translated, ends it behind the first that did.
        """
        flow: Flow | None = None
        for _ in range(executed):
            assert flow in (None, Flow.NEXT, Flow.BRANCH), "a turn ends where control goes elsewhere"
            instruction, flow, _ = self.at(place)
            self.coverage.addresses.add(place)
            place = instruction.next_address
        return flow


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


def covered_by(trial: Trial, code: CodeObject, options: Options, folder: Path, programs: MutantPrograms) -> Covered:
    """Return what a trial executes; it is launched once for each code, launch and version of the emulator.

    Args:
        trial: the launch.
        code: the original code.
        options: of the launch; its detectors are not asked.
        folder: where answers are kept.
        programs: of this code and its mutants.
    """
    place = folder / f"covered-{_identity(trial, code, options)}.json"
    if place.exists():
        return msgspec.json.decode(place.read_bytes(), type=Covered)
    coverage, make = Coverage(), programs.of(None, b"", CoveringProgram)

    def covering(memory: Memory, kernel: str) -> Program:
        made = make(memory, kernel)
        assert isinstance(made, CoveringProgram)
        made.coverage = coverage
        return made

    _, _, result = trial.run(code, Device(covering), replace(options, detectors=frozenset()))
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
