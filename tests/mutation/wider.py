"""Mutants with which more lanes load than are meant, followed through launches: nobody uses what they get.

The mutant is executed. Where its mask has lanes that the original's has not, what they load is undefined for the
detector of what was never written, and so is each bit of other registers that comes out otherwise than it was. Behind
the next mask both programs must have the same lanes and scalar registers, so that they differ in undefined bits alone.
If then nothing that is stored, addressed or decided depends on them, and the result is right, both have the same one.

That holds whatever lies in memory where only the mutant loads, but only for the launches that were followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_VGPR, effects_of
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.instruction import EXEC, Instruction
from rocmatrix.emulator.interpreter import Handler, Program, handler_of
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
from tests.mutation.change import decoded
from tests.mutation.operators import Listing, Mutant
from tests.mutation.stretches import Stretch, goes_on_alike, loads, stretch_of

_ORIGIN = Origin(what="what lanes load that the mask is to keep from it")
_UNDEFINED = np.full(WAVE, 0xFFFFFFFF, np.uint32)


class _OtherwiseError(Exception):
    """The two programs differ in more than undefined bits."""


@dataclass(frozen=True)
class _Scalars:
    """Scalar registers of a wave, and what is undefined of them."""

    words: NDArray[np.uint32]
    scc: bool
    undefined: NDArray[np.uint32]
    undefined_scc: bool

    @classmethod
    def of(cls, wave: TrackedWave) -> _Scalars:
        """Return them as they are."""
        return cls(wave.sgprs.copy(), wave.scc, wave.shadow.sgprs.copy(), bool(wave.shadow.scc))

    def put(self, wave: TrackedWave) -> None:
        """Let a wave have them."""
        wave.sgprs[:] = self.words
        wave.shadow.sgprs[:] = self.undefined
        wave.scc, wave.shadow.scc = self.scc, self.undefined_scc
        wave.set_exec(self.lanes)

    @property
    def lanes(self) -> NDArray[np.bool_]:
        """The active ones."""
        return np.unpackbits(self.words[EXEC : EXEC + 2].view(np.uint8), bitorder="little").view(np.bool_)

    def differ(self, other: _Scalars) -> bool:
        """Say whether registers but EXEC and SCC differ."""
        same = self.words == other.words
        same[sorted(EXEC_PAIR)] = True
        return not same.all()


@dataclass(frozen=True, kw_only=True)
class _Apart:
    """A wave of the mutant between the changed mask and the next.

    Attributes:
        wave: which.
        extra: lanes that are active, and are not in the original.
        meant: scalar registers of the original, EXEC among them.
        old: vector registers that were written since, as they were before.
    """

    wave: TrackedWave
    extra: NDArray[np.bool_]
    meant: _Scalars
    old: dict[int, NDArray[np.uint32]] = field(default_factory=dict)


class Follower:
    """Follows one mutant through a launch.

    Attributes:
        met: whether a wave had lanes that the original has not.
    """

    def __init__(self, listing: Listing, mutant: Mutant, stretch: Stretch, entry: int) -> None:
        """Take the mutant, what its mask governs, and where the kernel begins in memory."""
        self._listing = listing
        self._mutant = mutant
        self._stretch = stretch
        self._entry = entry
        self._apart: dict[int, _Apart] = {}
        self.met = False

    def around(self, address: int, handler: Handler) -> Handler:
        """Return what executes an instruction and follows the mutant there."""
        offset = address - self._entry
        if offset == self._mutant.offset:
            return lambda wave, instruction: self._mask(handler, wave, instruction)
        if offset in self._stretch.inside:
            return lambda wave, instruction: self._step(handler, wave, instruction)
        if offset in self._stretch.ends:
            return lambda wave, instruction: self._end(handler, wave, instruction, offset)
        return handler

    def _mask(self, handler: Handler, wave: Wave, instruction: Instruction) -> None:
        """Execute the mutant; see what the original has otherwise."""
        if not isinstance(wave, TrackedWave):  # it is being translated
            handler(wave, instruction)
            return
        before = _Scalars.of(wave)
        handler(wave, instruction)
        meant = _Scalars.of(wave)
        before.put(wave)
        for each in decoded(self._mutant.after, instruction.address):
            if each.name not in FLOWS:  # s_nop is one
                handler_of(each)(wave, each)
        got = _Scalars.of(wave)
        if meant.differ(got) or (meant.lanes & ~got.lanes).any():
            raise _OtherwiseError
        wave.shadow.scc = wave.shadow.scc or meant.scc != got.scc
        extra = got.lanes & ~meant.lanes
        if extra.any():
            self.met = True
            self._apart[id(wave)] = _Apart(wave=wave, extra=extra, meant=meant)

    def _step(self, handler: Handler, wave: Wave, instruction: Instruction) -> None:
        apart = self._apart.get(id(wave))
        if apart is None or apart.wave is not wave:
            handler(wave, instruction)
            return
        registers = effects_of(instruction).writes
        for register in registers:
            apart.old.setdefault(register, wave.vgprs[register - FIRST_VGPR].copy())
        handler(wave, instruction)
        if loads(instruction):
            for register in registers:
                apart.wave.shadow.vgprs.write(register - FIRST_VGPR, _UNDEFINED, _ORIGIN, apart.extra)

    def _end(self, handler: Handler, wave: Wave, instruction: Instruction, offset: int) -> None:
        """Let everything be undefined that differs; the next mask must give the same lanes in both programs."""
        apart = self._apart.get(id(wave))
        if apart is None or apart.wave is not wave or not isinstance(wave, TrackedWave):
            handler(wave, instruction)
            return
        del self._apart[id(wave)]
        idle = self._stretch.idle_end
        if not apart.meant.lanes.any() and not goes_on_alike(self._listing, idle, offset):
            raise _OtherwiseError
        for register, old in apart.old.items():
            _forget(wave, register - FIRST_VGPR, old, apart.extra)
        before = _Scalars.of(wave)
        lanes = before.words.copy()
        lanes[EXEC : EXEC + 2] = apart.meant.words[EXEC : EXEC + 2]
        replace(before, words=lanes, scc=apart.meant.scc).put(wave)
        handler(wave, instruction)
        meant = _Scalars.of(wave)
        before.put(wave)
        handler(wave, instruction)
        got = _Scalars.of(wave)
        if meant.differ(got) or (meant.lanes != got.lanes).any() or meant.scc != got.scc:
            raise _OtherwiseError


def _forget(wave: TrackedWave, index: int, old: NDArray[np.uint32], lanes: NDArray[np.bool_]) -> None:
    """Let bits of a register be undefined that are not what they were."""
    undefined = wave.shadow.vgprs.read(index)
    known = np.zeros(WAVE, np.uint32) if undefined is None else undefined
    wave.shadow.vgprs.write(index, known | (wave.vgprs[index] ^ old), _ORIGIN, lanes)


class FollowedProgram(TranslatedProgram):
    """A program in which some instructions are followed."""

    follower: Follower
    """Set by whoever follows it."""

    def at(self, address: int) -> tuple[Instruction, Flow | None, Handler | None]:
        """Return an instruction and what executes it."""
        instruction, flow, handler = super().at(address)
        return instruction, flow, None if handler is None else self.follower.around(address, handler)


class Wider(Bench):
    """Follows mutants of one kernel through its trials and the launches of its edges."""

    @cached_property
    def _trials(self) -> tuple[Trial, ...]:
        return self._subject.trials + self._subject.edge_trials

    def is_unused(self, mutant: Mutant) -> bool:
        """Say whether more lanes load with a mutant, in some launch, and nothing depends on that in any."""
        listing = self._subject.listing()
        stretch = stretch_of(listing, mutant)
        if stretch is None:
            return False
        follower = Follower(listing, mutant, stretch, self._subject.loaded_entry)
        pieces = [mutant, *(_piece(mutant, listing, each) for each in _executed(stretch))]
        return all(self._hides(follower, pieces, trial) for trial in self._trials) and follower.met

    def _hides(self, follower: Follower, pieces: Sequence[Mutant], trial: Trial) -> bool:
        """Say whether one launch is right and nothing in it depends on what only the mutant loads."""
        subject = self._subject
        make = self._programs.of((subject.place, *pieces), subject.image, FollowedProgram)

        def followed(memory: Memory, kernel: str) -> Program:
            made = make(memory, kernel)
            assert isinstance(made, FollowedProgram)
            made.follower = follower
            return made

        options = Options(detectors=frozenset({Detector.UNWRITTEN}))
        try:
            comparison, execution, _ = trial.run(subject.code, self._originals.fresh(followed), options)
        except (FaultError, UnsupportedError, _OtherwiseError):
            return False
        return comparison.passed and not execution.findings


def _executed(stretch: Stretch) -> Mapping[int, Instruction]:
    return {**stretch.inside, **stretch.ends}


def _piece(mutant: Mutant, listing: Listing, place: int) -> Mutant:
    """Return a mutant that changes nothing, for the reference to execute what lies there."""
    instruction = next(each for each in listing.instructions if each.address == place)
    code = listing.code[place : instruction.next_address]
    return replace(mutant, offset=place, before=code, after=code, instruction=instruction)
