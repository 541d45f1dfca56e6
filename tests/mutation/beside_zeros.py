"""A constant that only zeros are multiplied with: followed as undefined bits, as ``unseen`` does, and as a number.

Behind the end of K both operands of a product are filled with constants. ``unseen`` does not know that another constant
in one of them makes no difference, because an undefined element times zero may be NaN. Here two programs are executed,
the original and the mutant, and the constant is undefined in both. Where all undefined elements of a matrix instruction
are finite and not negative, they make those results undefined alone that multiply them with something else than +0: the
product with that is +0 in both programs. If then nothing that is stored, addressed or decided is undefined in either,
both store the same.

That holds for the launches that were followed, and for other data in them: it would be wrong only if data of all of
them happened to be zero wherever the constant meets them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator import matrix_unit
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.instruction import Instruction, MatrixBits, Operand, RegisterFile
from rocmatrix.emulator.interpreter import Handler, Program
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.reports import Detector, FaultError, UnsupportedError
from rocmatrix.emulator.semantics.control import Flow
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.semantics.matrix import MATRIX, Element, MatrixOperation
from rocmatrix.emulator.shadow import matrix as shadow
from rocmatrix.emulator.shadow.origin import Origin
from rocmatrix.emulator.shadow.wave import TrackedWave
from rocmatrix.emulator.wave import Wave
from tests.corpus.trial import Trial
from tests.mutation.bench import Bench
from tests.mutation.operators import Mutant, Operator
from tests.mutation.patched import Devices, Programs
from tests.mutation.unseen import FollowingProgram, written_by

Words = NDArray[np.uint32]

_MOVES = ("v_mov_b32", "v_mov_b64")
_ORIGIN = Origin(what="a product with the changed constant")
_EVERYWHERE = np.ones(WAVE, np.bool_)
_OPTIONS = Options(detectors=frozenset({Detector.UNWRITTEN}))


class BesideZeros(Bench):
    """Follows constants of one kernel through its trials and the launches of its edges."""

    def is_hidden(self, mutant: Mutant) -> bool:
        """Say whether a mutant changes a constant on which, then and now, nothing depends in any launch."""
        if mutant.operator is not Operator.CONSTANT or mutant.instruction.name not in _MOVES:
            return False
        followed = {self._subject.loaded_entry + mutant.offset: written_by(mutant)}
        reached = set[int]()

        def following(make: Programs) -> Programs:
            def made(memory: Memory, kernel: str) -> Program:
                program = make(memory, kernel)
                assert isinstance(program, ZerosProgram)
                program.followed, program.reached = followed, reached
                return program

            return made

        place, image = self._subject.place, self._subject.image
        changed, data = self._subject.with_change(mutant)
        original = following(self._programs.of((place, mutant), image, ZerosProgram))
        other = following(self._programs.of((place, mutant), data, ZerosProgram))
        programs = ((self._subject.code, Devices(original)), (changed, Devices(other)))
        trials = self._subject.trials + self._subject.edge_trials
        return all(_hides(trial, programs) for trial in trials) and bool(reached)


def _hides(trial: Trial, programs: Sequence[tuple[CodeObject, Devices]]) -> bool:
    """Say whether programs have the same right result in one launch, and nothing of it is undefined."""
    results = set[bytes]()
    for code, devices in programs:
        try:
            comparison, execution, got = trial.run(code, devices.fresh(), _OPTIONS)
        except (FaultError, UnsupportedError):
            return False
        if not comparison.passed or execution.findings:
            return False
        results.add(got.tobytes())
    return len(results) == 1


class ZerosProgram(FollowingProgram):
    """A program in which products of what is undefined with zeros are zeros."""

    def at(self, address: int) -> tuple[Instruction, Flow | None, Handler | None]:
        """Return an instruction and what executes it."""
        instruction, flow, handler = super().at(address)
        if handler is None or instruction.name not in MATRIX:
            return instruction, flow, handler
        execute = handler

        def executed(wave: Wave, instruction: Instruction) -> None:
            undefined = _undefined_results(wave, instruction) if isinstance(wave, TrackedWave) else None
            execute(wave, instruction)
            if undefined is not None and isinstance(wave, TrackedWave):
                destination = instruction.destinations[0]
                for number, part in enumerate(undefined):
                    file = wave.shadow.file(destination.file)
                    file.write(destination.index + number, part if part.any() else None, _ORIGIN, _EVERYWHERE)

        return instruction, flow, executed


def _undefined_results(wave: TrackedWave, instruction: Instruction) -> Words | None:
    """Return the undefined bits of D, shape (registers, 64); ``None`` where zeros say nothing of it."""
    operation, bits = MATRIX[instruction.name], instruction.matrix or MatrixBits()
    (a, hidden_a), (b, hidden_b), (_, hidden_c) = (
        _registers(wave, operand, count)
        for operand, count in zip(instruction.sources, operation.registers, strict=True)
    )
    if not (_is_tame(operation.a, a, hidden_a) and _is_tame(operation.b, b, hidden_b)):
        return None
    found = _meet(operation, bits, hidden_a, b | hidden_b) | _meet(operation, bits, a | hidden_a, hidden_b)
    found |= hidden_c.reshape(len(found), -1, WAVE).any(axis=1)
    whole = np.where(found, np.uint32(0xFFFFFFFF), np.uint32(0))
    return np.repeat(whole, len(hidden_c) // len(found), axis=0)


def _registers(wave: TrackedWave, operand: Operand, count: int) -> tuple[Words, Words]:
    """Return what an operand's registers hold, and what of it is undefined."""
    if not operand.is_vector:
        return np.zeros((count, WAVE), np.uint32), np.zeros((count, WAVE), np.uint32)
    held = wave.agprs if operand.file is RegisterFile.AGPR else wave.vgprs
    chosen = slice(operand.index, operand.index + count)
    return held[chosen].copy(), wave.shadow.file(operand.file).bits[chosen].copy()


def _is_tame(element: Element, words: Words, undefined: Words) -> bool:
    """Say whether all undefined elements are finite, and none of them is negative."""
    if not undefined.any():
        return True
    if element is Element.F64:
        return False
    with np.errstate(invalid="ignore"):
        numbers = matrix_unit.elements(element, words)
    shifts = np.arange(0, 32, element.bits, dtype=np.uint32)[None, :, None]
    mask = np.uint32((1 << element.bits) - 1)
    hidden, raw = ((part[:, None, :] >> shifts & mask).reshape(-1, WAVE) for part in (undefined, words))
    tame = np.isfinite(numbers) & (raw >> np.uint32(element.bits - 1) == 0)
    return bool(tame[hidden != 0].all())


def _meet(operation: MatrixOperation, bits: MatrixBits, a: Words, b: Words) -> NDArray[np.bool_]:
    """Return where in D, shape (results, 64), elements of A and B meet that both have a bit set."""
    nothing = np.zeros((operation.results, WAVE), dtype=matrix_unit.result_dtype(operation))
    if not (a.any() and b.any()):
        return np.zeros(nothing.shape, np.bool_)
    marks = shadow._marks(operation.a, a), shadow._marks(operation.b, b)
    found: NDArray[np.bool_] = matrix_unit.multiply(operation, bits, *marks, nothing) != 0
    return found
