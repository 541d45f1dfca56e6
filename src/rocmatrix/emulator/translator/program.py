"""A program that is executed by generated code, and by the reference where there is none."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.emulator.interpreter import Program, run_instruction, run_wave
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.numerics import MatrixArithmetic
from rocmatrix.emulator.races.conflicts import Names
from rocmatrix.emulator.races.reference import ReferenceWave
from rocmatrix.emulator.races.tracker import Tracker
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.control import Flow
from rocmatrix.emulator.translator.code import Code, Work
from rocmatrix.emulator.translator.compiler import Compiler, find_compiler
from rocmatrix.emulator.translator.faults import fault_of
from rocmatrix.emulator.translator.native import AllocationTable, NativeWave, Stop
from rocmatrix.emulator.translator.race_tracker import NativeRaces, NativeTracker
from rocmatrix.emulator.wave import Status, Wave

UNDEFINED = "it reads bits that nothing wrote"
APPROXIMATES = "its approximations are not the nearest ones"
CROWDED = "many loads are under way"
_FOLLOWED = {Stop.UNWRITTEN: UNDEFINED, Stop.APPROXIMATES: APPROXIMATES, Stop.CROWDED: CROWDED}
"""Why generated code stops in front of what the reference executes up to the next block."""
_STATUSES = {Stop.AT_BARRIER: Status.AT_BARRIER, Stop.ENDED: Status.ENDED}


class Translator:
    """Makes programs; what it compiles is kept in a folder that processes may share.

    Attributes:
        work: what all its programs did.
    """

    def __init__(self, cache: Path) -> None:
        """Find the compiler; without one, programs are executed by the reference, and ``work`` says so."""
        self._compiler = find_compiler(cache)
        self.work = Work()
        if self._compiler is None:
            self.work.missing = "the package ziglang, whose compiler translates machine code, is not installed"

    def __call__(self, memory: Memory, kernel: str) -> Program:
        """Return what executes a kernel of code in memory."""
        if self._compiler is None:
            return Program(memory, kernel)
        return TranslatedProgram(memory, kernel, self._compiler, self.work)


class TranslatedProgram(Program):
    """Code in memory with what was translated of it so far, by MODE."""

    def __init__(self, memory: Memory, kernel: str, compiler: Compiler, work: Work) -> None:
        """Translate nothing yet."""
        super().__init__(memory, kernel)
        self._device_memory = memory
        self._table = AllocationTable(memory)
        self._compiler = compiler
        self._work = work
        self._codes: dict[tuple[int, int, MatrixArithmetic, bool], Code] = {}
        self._recent: Code | None = None
        self._outside = 0
        self._waves: dict[int, tuple[Wave, NativeWave]] = {}
        self._races: NativeTracker | None = None

    def run(self, wave: Wave, limit: int) -> None:
        """Execute a wave for a turn; see ``run_wave``."""
        if wave.observer is not None or isinstance(wave.races, ReferenceWave):
            before = wave.executed
            run_wave(wave, self, limit)
            self._work.interpreted["somebody observes each instruction"] += wave.executed - before
            return
        before, outside = wave.executed, self._outside
        try:
            self._run(wave, wave.executed + limit)
        finally:
            self._work.translated += max(0, wave.executed - before - (self._outside - outside))
            if wave.status is Status.ENDED:
                self._waves.pop(id(wave), None)

    def race_tracker(self, names: Names, code: int, total: int, *, observed: bool) -> Tracker:
        """Return a race detector for one launch: of generated code, unless the reference executes all of it."""
        if observed:
            return super().race_tracker(names, code, total, observed=observed)
        self._races = NativeTracker(names, code, total)
        return self._races

    def _run(self, wave: Wave, limit: int) -> None:
        while True:
            code = self._code(wave)
            if code is None:
                run_instruction(wave, self)
                raise AssertionError("an address outside of code is refused by the reference")
            native = self._native(wave, code)
            if wave.indexes_registers:
                if self._interpret(wave, native, "vector registers are indexed", limit):
                    return
                continue
            native.enter()
            stop = code.run(native, limit)
            native.leave()
            if reason := _FOLLOWED.get(stop):
                if self._follow(wave, native, code, limit, reason):
                    return
                continue
            if stop is not Stop.UNKNOWN:
                self._stopped(wave, code, native, stop)
                return
            offset = wave.pc - code.allocation.address
            reason = code.refusal(offset)
            if reason is None:
                code.translate(offset)
            elif self._interpret(wave, native, reason, limit):
                return

    def _interpret(self, wave: Wave, native: NativeWave, reason: str, limit: int) -> bool:
        """Let the reference execute one instruction; say whether the turn ends there."""
        native.refresh()
        self._count(reason)
        turn = wave.pc
        run_instruction(wave, self)
        instruction = wave.instruction
        flows = instruction is None or wave.pc != turn + instruction.size
        return wave.status is not Status.READY or (flows and wave.executed >= limit)

    def _follow(self, wave: Wave, native: NativeWave, code: Code, limit: int, reason: str) -> bool:
        """Let the reference execute a wave to the next block; say whether the turn ends before."""
        native.refresh()
        while True:
            self._count(reason)
            run_instruction(wave, self)
            flow = None if wave.instruction is None else self.at(wave.instruction.address)[1]
            if flow is Flow.YIELD or wave.status is not Status.READY:
                break
            if flow not in (None, Flow.NEXT) and wave.executed >= limit:
                break
            if wave.indexes_registers or code.begins_block(wave.pc - code.allocation.address):
                self._table.refresh()
                return False
        self._table.refresh()
        return True

    def _count(self, reason: str) -> None:
        """Note that the reference executes an instruction, and why."""
        self._work.interpreted[reason] += 1
        self._outside += 1

    def _code(self, wave: Wave) -> Code | None:
        """Return the code that a wave is in, or ``None`` where there is none."""
        if self._recent is not None and self._recent.serves(wave):
            return self._recent
        allocation = self._device_memory.find(wave.pc)
        if allocation is None or wave.pc % 4 or allocation.writable:
            return None
        key = allocation.address, wave.mode.bits, wave.numerics.matrix, wave.late is not None
        if key not in self._codes:
            self._codes[key] = Code(self, allocation, wave, self._compiler, self._work)
        self._recent = self._codes[key]
        return self._recent

    def _native(self, wave: Wave, code: Code) -> NativeWave:
        found = self._waves.get(id(wave))
        if found is None or found[0] is not wave:
            found = wave, NativeWave(wave, self._table)
            self._waves[id(wave)] = found
        if isinstance(wave.races, NativeRaces) and wave.races.native is None and code.library is not None:
            found[1].follow(wave.races, code.library)
        found[1].use(code.allocation.address, len(code.allocation.data), code.table_address)
        return found[1]

    def _stopped(self, wave: Wave, code: Code, native: NativeWave, stop: Stop) -> None:
        """Pass on why generated code stopped.

        Raises:
            FaultError: the wave did something wrong.
            UnsupportedError: something of it is not modelled.
        """
        if self._races is not None:
            self._races.check()
        state = native.state
        if stop in (Stop.FAULT, Stop.UNMET):
            self._go_to(wave, code.allocation.address + state.fault_place)
            if stop is Stop.UNMET:
                raise UnsupportedError(state.message.decode(), kernel=wave.kernel, instruction=wave.instruction)
            raise fault_of(wave, self._device_memory, native.state)
        wave.status = _STATUSES.get(stop, wave.status)
        last = code.last_instruction(state.last - code.allocation.address)
        wave.instruction = self.at(code.allocation.address + last)[0]

    def _go_to(self, wave: Wave, place: int) -> None:
        """Count the instructions of a block up to the one that faulted."""
        while True:
            instruction = self.at(wave.pc)[0]
            wave.instruction = instruction
            wave.executed += 1
            wave.pc = instruction.next_address
            if instruction.address == place:
                return
