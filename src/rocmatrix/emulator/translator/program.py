"""A program that is executed by generated code, and by the reference where there is none."""

from __future__ import annotations

import ctypes
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rocmatrix.emulator.interpreter import Program, run_instruction, run_wave
from rocmatrix.emulator.memory import Allocation, Memory
from rocmatrix.emulator.reports import AccessError, Fault, FaultError, FaultKind, UnsupportedError
from rocmatrix.emulator.translator.blocks import Translation
from rocmatrix.emulator.translator.compiler import Compiler, emulator_digest, find_compiler
from rocmatrix.emulator.translator.module import module_text
from rocmatrix.emulator.translator.native import Access, AllocationTable, Loaded, NativeWave, Space, Stop, load
from rocmatrix.emulator.wave import Status, Wave

_WAVE = 64
_NO_LANE = 64
_STATUSES = {Stop.AT_BARRIER: Status.AT_BARRIER, Stop.ENDED: Status.ENDED}


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
        self._codes: dict[tuple[int, int], Code] = {}
        self._waves: dict[int, tuple[Wave, NativeWave]] = {}

    def run(self, wave: Wave, limit: int) -> None:
        """Execute a wave for a turn; see ``run_wave``."""
        if wave.observer is not None:
            before = wave.executed
            run_wave(wave, self, limit)
            self._work.interpreted["somebody observes each instruction"] += wave.executed - before
            return
        before = wave.executed
        outside = self._work.interpreted.total()
        try:
            self._run(wave, wave.executed + limit)
        finally:
            interpreted = self._work.interpreted.total() - outside
            self._work.translated += max(0, wave.executed - before - interpreted)
            if wave.status is Status.ENDED:
                self._waves.pop(id(wave), None)

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
        self._work.interpreted[reason] += 1
        turn = wave.pc
        run_instruction(wave, self)
        instruction = wave.instruction
        flows = instruction is None or wave.pc != turn + instruction.size
        return wave.status is not Status.READY or (flows and wave.executed >= limit)

    def _code(self, wave: Wave) -> Code | None:
        """Return the code that a wave is in, or ``None`` where there is none."""
        allocation = self._device_memory.find(wave.pc)
        if allocation is None or wave.pc % 4 or allocation.writable:
            return None
        key = allocation.address, wave.mode.bits
        if key not in self._codes:
            self._codes[key] = Code(self, allocation, wave, self._compiler, self._work)
        return self._codes[key]

    def _native(self, wave: Wave, code: Code) -> NativeWave:
        found = self._waves.get(id(wave))
        if found is None or found[0] is not wave:
            found = wave, NativeWave(wave, self._table)
            self._waves[id(wave)] = found
        found[1].use(code.allocation.address, len(code.allocation.data), code.table_address)
        return found[1]

    def _stopped(self, wave: Wave, code: Code, native: NativeWave, stop: Stop) -> None:
        """Pass on why generated code stopped.

        Raises:
            FaultError: the wave did something wrong.
            UnsupportedError: something of it is not modelled.
        """
        state = native.state
        if stop in (Stop.FAULT, Stop.UNMET):
            self._go_to(wave, code.allocation.address + state.fault_place)
            if stop is Stop.UNMET:
                raise UnsupportedError(state.message.decode(), kernel=wave.kernel, instruction=wave.instruction)
            raise _fault(wave, self._device_memory, native)
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


def _fault(wave: Wave, memory: Memory, native: NativeWave) -> FaultError:
    """Return the fault of an access in the words of the memory that refuses it."""
    state = native.state
    lane = None if state.fault_lane >= _NO_LANE else int(state.fault_lane)
    address, size = int(state.fault_address), int(state.fault_size)
    try:
        _refuse(wave, memory, state.fault_space, state.fault_access, lane, address, size)
    except AccessError as err:
        return FaultError(
            Fault(
                kind=err.kind,
                kernel=wave.kernel,
                instruction=wave.instruction,
                wave=wave.identity,
                lane=err.lane,
                address=err.address,
                detail=err.detail,
            )
        )
    raise AssertionError("generated code refuses an access that the reference allows")


def _refuse(wave: Wave, memory: Memory, space: int, access: int, lane: int | None, address: int, size: int) -> None:
    """Make one lane's access again, where it raises its ``AccessError``."""
    writing = access == Access.WRITES
    if access == Access.MISALIGNED:
        what = f"an atomic of {size} bytes needs an address that is a multiple of {size}"
        raise AccessError(FaultKind.MISALIGNED, what, lane=lane, address=address)
    if space == Space.GLOBAL:
        memory.bytes_at(address, size, writing=writing, lane=lane)
        return
    local = wave.lds if space == Space.LDS else wave.scratch
    signed = np.array(address, dtype=np.uint64).astype(np.int64)
    active = np.arange(_WAVE) == (lane or 0)
    local.check(np.full(_WAVE, signed), size, active, writing=writing)


class Code:
    """One stretch of code under one MODE: a table of its blocks, which grows as waves reach more of it.

    Attributes:
        allocation: the code.
        table_address: where the table lies in this process.
    """

    def __init__(self, program: Program, allocation: Allocation, wave: Wave, compiler: Compiler, work: Work) -> None:
        """Translate nothing yet."""
        self.allocation = allocation
        self._program = program
        self._mode = wave.mode
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
        return Stop(self._runner(native.address, limit))

    def refusal(self, offset: int) -> str | None:
        """Return why the reference executes an instruction, or ``None`` where that is not so."""
        return self._refusals.get(offset)

    def last_instruction(self, offset: int) -> int:
        """Return the offset of the last instruction of the block that begins at an offset."""
        return self._last[offset]

    def translate(self, offset: int) -> None:
        """Translate what is reached from an offset."""
        if offset in self._last:
            raise AssertionError(f"the block at {offset:#x} was translated and did not run")
        began = time.perf_counter()
        path = self._compiler.compiled(self._identity(offset), lambda: self._text(offset))
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
        head = f"{emulator_digest()} {self._mode.bits} {offset} {sorted(self._last)} {sorted(self._refusals)}\n"
        return head.encode() + self.allocation.data.tobytes()

    def _text(self, offset: int) -> str:
        translation = Translation(
            self._program, self.allocation.address, self._mode, known=(*self._last, *self._refusals)
        )
        translation.translate(offset)
        return module_text(translation.blocks, list(translation.refusals.values()))
