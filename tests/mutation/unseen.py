"""A mutant's result that nobody sees: followed as undefined bits through every edge that a tile can have.

The detector of what was never written knows what may depend on a bit, whatever its value. Here it is told that what one
instruction of the original code writes is undefined. If then nothing that is stored, addressed or decided depends on
undefined bits, another result of this instruction changes nothing. Zeros for rows behind the end of an operand are the
example: they go through LDS and matrix products, and reach no element that is stored.

That holds for any data, and for the launches that were followed: all numbers of rows and of columns at a tile's edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rocmatrix.emulator.analysis.effects import FIRST_AGPR, FIRST_VGPR, VCC_PAIR, Unit, effects_of
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.instruction import SCC, Instruction
from rocmatrix.emulator.interpreter import Handler, Program
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.reports import Detector, FaultError, UnsupportedError
from rocmatrix.emulator.semantics.control import FLOWS, Flow
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.shadow.origin import Origin
from rocmatrix.emulator.shadow.wave import TrackedWave
from rocmatrix.emulator.translator.program import TranslatedProgram
from rocmatrix.emulator.wave import Wave
from tests.corpus.trial import Trial
from tests.mutation.bench import Bench
from tests.mutation.operators import Mutant, Operator

_OPERATORS = (Operator.REMOVE, Operator.SOURCE, Operator.DESTINATION, Operator.CONSTANT)
_OTHERWISE = (
    "s_setreg",
    "s_set_gpr_idx",
    "s_sendmsg",
    "s_dcache",
    "s_icache",
    "s_mem",
    "v_cmpx",
    "s_movrel",
    "v_movrel",
)
"""Instructions that do something else than to write registers, or to others than they name."""
_ARITHMETIC = (Unit.SALU, Unit.VALU, Unit.MATRIX)
_PLAIN_SCALARS = frozenset(range(102)) | VCC_PAIR | {SCC}
"""Scalar registers that are read by name alone, and VCC and SCC, whose readers are known."""
_FEW = 4
"""Launches that show of most results that something depends on them."""
_ORIGIN = Origin(what="the result of the changed instruction")
_UNDEFINED, _EVERYWHERE = np.full(WAVE, 0xFFFFFFFF, np.uint32), np.ones(WAVE, np.bool_)


class Unseen(Bench):
    """Follows results of one kernel's instructions through its trials and the launches of its edges."""

    def among(self, mutants: Sequence[Mutant]) -> tuple[Mutant, ...]:
        """Return those on whose results nothing depends, then and now, in any launch.

        They are followed together, which is quicker; one by one in a launch where something depends on any of them.
        """
        first = self._subject.trials[:_FEW] + self._subject.edge_trials[:: len(self._subject.edge_trials) // _FEW or 1]
        reached: set[int] = set()
        likely = [mutant for mutant in mutants if written_by(mutant)]
        likely = [mutant for mutant in likely if all(self._hides([mutant], trial, reached) for trial in first)]
        for trial in self._subject.trials + self._subject.edge_trials:
            if not likely:
                break
            if any(trial is each for each in first):
                continue
            if not self._hides(likely, trial, reached):
                likely = [mutant for mutant in likely if self._hides([mutant], trial, reached)]
        return tuple(mutant for mutant in likely if self._subject.loaded_entry + mutant.offset in reached)

    def _hides(self, mutants: Sequence[Mutant], trial: Trial, reached: set[int]) -> bool:
        """Say whether one launch sees nothing of what some instructions write; note which of them it executes.

        Raises:
            AssertionError: the original's result is wrong.
        """
        subject = self._subject
        make = self._programs.of((subject.place, *mutants), subject.image, FollowingProgram)
        followed = dict[int, frozenset[int]]()
        for mutant in mutants:  # there may be several of one instruction
            place = self._subject.loaded_entry + mutant.offset
            followed[place] = followed.get(place, frozenset()) | written_by(mutant)

        def following(memory: Memory, kernel: str) -> Program:
            made = make(memory, kernel)
            assert isinstance(made, FollowingProgram)
            made.followed, made.reached = followed, reached
            return made

        options = Options(detectors=frozenset({Detector.UNWRITTEN}))
        try:
            comparison, execution, _ = trial.run(subject.code, self._originals.fresh(following), options)
        except (FaultError, UnsupportedError):
            return False
        assert comparison.passed, f"{subject.name} {trial.name}: {comparison.detail}"
        return not execution.findings


class FollowingProgram(TranslatedProgram):
    """A program in which some registers are undefined behind one instruction, whatever it writes there."""

    followed: Mapping[int, frozenset[int]]
    """Address of an instruction -> registers by the numbers of ``analysis.effects``."""
    reached: set[int]
    """Addresses of those that were executed. Both are set by whoever follows them."""

    def at(self, address: int) -> tuple[Instruction, Flow | None, Handler | None]:
        """Return an instruction and what executes it; of those that are followed the result is undefined."""
        instruction, flow, handler = super().at(address)
        registers = self.followed.get(address)
        if registers is None or handler is None:
            return instruction, flow, handler
        execute = handler

        def executed(wave: Wave, instruction: Instruction) -> None:
            execute(wave, instruction)
            if isinstance(wave, TrackedWave):  # else it is being translated: the original's block
                _forget(wave, instruction, registers)
                self.reached.add(address)

        return instruction, flow, executed


def _forget(wave: TrackedWave, instruction: Instruction, registers: frozenset[int]) -> None:
    """Make registers of a wave undefined, vector registers in the lanes that the instruction may have written."""
    shadow = wave.shadow
    all_lanes = effects_of(instruction).unit is Unit.MATRIX or "writelane" in instruction.name
    for register in registers:
        if register == SCC:
            shadow.scc = True
        elif register < FIRST_VGPR:
            shadow.sgprs[register] = _UNDEFINED[0]
            shadow.scalar_origins[register] = _ORIGIN
        else:
            file, first = (shadow.vgprs, FIRST_VGPR) if register < FIRST_AGPR else (shadow.agprs, FIRST_AGPR)
            file.write(register - first, _UNDEFINED, _ORIGIN, _EVERYWHERE if all_lanes else wave.active)


def written_by(mutant: Mutant) -> frozenset[int]:
    """Return what the original and the mutant write; nothing if one of them does more than to write registers."""
    if mutant.operator not in _OPERATORS:
        return frozenset()
    written = frozenset[int]()
    for code in (mutant.before, mutant.after):
        instruction = decode(code + bytes(16), mutant.offset)
        if instruction.name == "s_nop":
            continue
        effects = effects_of(instruction)
        if instruction.name in FLOWS or instruction.name.startswith(_OTHERWISE) or effects.unit not in _ARITHMETIC:
            return frozenset()
        written |= effects.writes
    scalars = {register for register in written if register < FIRST_VGPR}
    return written if scalars <= _PLAIN_SCALARS else frozenset()
