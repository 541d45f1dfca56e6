"""Translated code: a table of blocks that grows as waves reach more of it."""

from __future__ import annotations

import ctypes
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.memory import Allocation
from rocmatrix.emulator.numerics import Numerics
from rocmatrix.emulator.shadow.emitter import ShadowEmitter
from rocmatrix.emulator.shadow.wave import TrackedWave
from rocmatrix.emulator.translator.blocks import Translation
from rocmatrix.emulator.translator.compiler import Compiler, emulator_digest
from rocmatrix.emulator.translator.late_emitter import LateEmitter, LateShadowEmitter
from rocmatrix.emulator.translator.machine import EmittingMachine
from rocmatrix.emulator.translator.module import Sources, module_sources
from rocmatrix.emulator.translator.native import Loaded, NativeWave, Stop, load
from rocmatrix.emulator.wave import Wave

_STOPS = {int(stop): stop for stop in Stop}
_MACHINES: dict[tuple[bool, bool], type[EmittingMachine]] = {
    (False, False): EmittingMachine,
    (True, False): ShadowEmitter,
    (False, True): LateEmitter,
    (True, True): LateShadowEmitter,
}
"""What writes code, by whether waves are tracked and whether their loads arrive late."""


@dataclass(kw_only=True)
class Work:
    """What the fast executor did, for reports.

    Attributes:
        missing: why there is no generated code at all, or ``None``.
        translated: instructions that generated code executed.
        interpreted: instructions that the reference executed, by reason.
        seconds: spent on writing and compiling code; 0 where the cache had it.
    """

    missing: str | None = None
    translated: int = 0
    interpreted: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Code:
    """One stretch of code under one MODE and numerics: a table of its blocks, which grows as waves reach more of it.

    Attributes:
        allocation: the code.
        table_address: where the table lies in this process.
    """

    def __init__(self, program: Program, allocation: Allocation, wave: Wave, compiler: Compiler, work: Work) -> None:
        """Translate nothing yet."""
        self.allocation = allocation
        self._program = program
        self._mode = wave.mode
        # what is not the nearest approximation is left to the reference, so that one translation serves all three
        self._numerics = Numerics(matrix=wave.numerics.matrix)
        self._late = wave.late is not None
        self._machine = _MACHINES[isinstance(wave, TrackedWave), self._late]
        self._compiler = compiler
        self._work = work
        self._table = (ctypes.c_void_p * (len(allocation.data) // 4 + 1))()
        self.table_address = ctypes.addressof(self._table)
        self._loaded: list[Loaded] = []
        self._refusals: dict[int, str] = {}
        self._last: dict[int, int] = {}
        self._runner: Callable[[int, int], int] = lambda _address, _limit: int(Stop.UNKNOWN)

    def run(self, native: NativeWave, limit: int) -> Stop:
        """Run generated code until it stops."""
        return _STOPS[self._runner(native.address, limit)]

    def serves(self, wave: Wave) -> bool:
        """Say whether this is what a wave executes next; ``False`` may also mean that nobody has looked."""
        known = wave.mode is self._mode and wave.numerics.matrix is self._numerics.matrix
        known = known and (wave.late is not None) is self._late
        return known and 0 <= wave.pc - self.allocation.address < len(self.allocation.data) and not wave.pc & 3

    @property
    def library(self) -> ctypes.CDLL | None:
        """A library with the functions of the runtime, once one is loaded."""
        return self._loaded[-1].library if self._loaded else None

    def refusal(self, offset: int) -> str | None:
        """Return why the reference executes an instruction, or ``None`` where that is not so."""
        return self._refusals.get(offset)

    def last_instruction(self, offset: int) -> int:
        """Return the offset of the last instruction of the block that begins at an offset."""
        return self._last[offset]

    def begins_block(self, offset: int) -> bool:
        """Say whether a translated block begins at an offset."""
        return offset in self._last

    def translate(self, offset: int) -> None:
        """Translate what is reached from an offset."""
        if offset in self._last:
            raise AssertionError(f"the block at {offset:#x} was translated and did not run")
        began = time.perf_counter()
        path = self._compiler.compiled(self._identity(offset), lambda: self._sources(offset))
        loaded = load(path)
        self._work.seconds += time.perf_counter() - began
        self._loaded.append(loaded)
        self._runner = loaded.library.run_wave
        for start, (function, last) in loaded.blocks.items():
            self._table[start >> 2] = function
            self._last[start] = last
        self._refusals |= loaded.refusals
        if offset not in loaded.blocks and offset not in loaded.refusals:
            self._refusals[offset] = "nothing was translated here"

    def _identity(self, offset: int) -> bytes:
        known = f"{sorted(self._last)} {sorted(self._refusals)}"
        head = f"{emulator_digest()} {self._machine.__name__} {self._mode.bits} {self._numerics!r} {offset} {known}\n"
        return head.encode() + self.allocation.data.tobytes()

    def _sources(self, offset: int) -> Sources:
        translation = Translation(
            self._program,
            self.allocation.address,
            self._mode,
            known=(*self._last, *self._refusals),
            numerics=self._numerics,
            machine=self._machine,
        )
        translation.translate(offset)
        refusals = list(translation.refusals.values())
        return module_sources(translation.blocks, refusals, parts=len(os.sched_getaffinity(0)))
