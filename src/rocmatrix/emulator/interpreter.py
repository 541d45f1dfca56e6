"""The reference interpreter: fetch, decode, execute, one wave and one instruction at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rocmatrix.emulator.algebra import U64
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.hardware_registers import HARDWARE_REGISTERS
from rocmatrix.emulator.instruction import VECTOR_MEMORY, Encoding, Instruction, RegisterFile
from rocmatrix.emulator.lanes import constant
from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.races.conflicts import Names
from rocmatrix.emulator.races.reference import ReferenceTracker
from rocmatrix.emulator.races.tracker import Tracker
from rocmatrix.emulator.register_indexing import REGISTER_INDEXING, indexed
from rocmatrix.emulator.reports import AccessError, Fault, FaultError, FaultKind, UnsupportedError
from rocmatrix.emulator.semantics import (
    conversions,
    division,
    floats,
    integer,
    lds,
    octets,
    scalar,
    scalar_memory,
    transcendental,
    trig_preop,
    vector_memory,
)
from rocmatrix.emulator.semantics.arithmetic import PACKED, SCALAR, VECTOR
from rocmatrix.emulator.semantics.control import CONDITIONS, FLOWS, Flow
from rocmatrix.emulator.semantics.cross_lane import CROSS_LANE
from rocmatrix.emulator.semantics.exec_mask import EXEC_MASK
from rocmatrix.emulator.semantics.execution import execute_scalar, execute_vector, refuse_modifiers
from rocmatrix.emulator.semantics.matrix import MATRIX
from rocmatrix.emulator.semantics.operand_rules import check_operands
from rocmatrix.emulator.semantics.packed import DOTS, MIXED, execute_packed
from rocmatrix.emulator.wave import Status, Wave

Handler = Callable[[Wave, Instruction], None]

TABLES = (scalar, integer, octets, floats, division, transcendental, trig_preop, conversions)
"""Modules that fill the tables of arithmetic when they are imported."""

_LONGEST = 16
_ALIGNED = (RegisterFile.SGPR, RegisterFile.VGPR, RegisterFile.AGPR)
_SCALAR = (Encoding.SOP1, Encoding.SOP2, Encoding.SOPC, Encoding.SOPK)
_VECTOR = (Encoding.VOP1, Encoding.VOP2, Encoding.VOPC, Encoding.VOP3)
_CLOCKS = ("s_memtime", "s_memrealtime")


def _matrix(wave: Wave, instruction: Instruction) -> None:
    wave.matrix(instruction)


def _scalar_memory(wave: Wave, instruction: Instruction) -> None:
    """Clocks count executed instructions: they move forward, and mean nothing else."""
    if instruction.name in _CLOCKS:
        wave.asks_for_time = True
        wave.invented.add(f"a clock ({instruction.name})")
        wave.deliver(instruction.destinations[0], [constant(U64, wave.executed)])
    else:
        scalar_memory.execute_scalar_memory(wave, instruction)


def _getpc(wave: Wave, instruction: Instruction) -> None:
    wave.write(instruction.destinations[0], constant(U64, instruction.next_address))


def handler_of(instruction: Instruction) -> Handler:  # noqa: PLR0911 - one line for each format
    """Return what executes an instruction that is no control flow.

    Raises:
        UnsupportedError: nothing does.
    """
    name, encoding = instruction.name, instruction.encoding
    special: dict[str, Handler] = {
        **CROSS_LANE,
        **EXEC_MASK,
        **HARDWARE_REGISTERS,
        **REGISTER_INDEXING,
        "s_getpc_b64": _getpc,
    }
    if name in special and instruction.sdwa is None and instruction.dpp is None:
        return special[name]
    if encoding in _SCALAR and name in SCALAR:
        return execute_scalar
    if encoding in _VECTOR and name in VECTOR:
        return execute_vector
    if encoding is Encoding.VOP3P and (name in PACKED or name in MIXED or name in DOTS):
        return execute_packed
    if encoding is Encoding.MAI and name in MATRIX:
        return _matrix
    if encoding is Encoding.SMEM and (name in _CLOCKS or scalar_memory.knows(instruction)):
        return _scalar_memory
    if encoding is Encoding.DS and lds.knows(instruction):
        return lds.execute_lds
    if encoding in VECTOR_MEMORY and vector_memory.knows(instruction):
        return vector_memory.execute_vector_memory
    raise UnsupportedError(f"the instruction {name}", instruction=instruction)


def check_executable(instruction: Instruction) -> None:
    """Refuse an instruction that could not be executed, whatever the state of the wave.

    Raises:
        AccessError: it uses registers that it must not use.
        UnsupportedError: its meaning, or that of one of its modifiers, is not known.
    """
    check_registers(instruction)
    check_operands(instruction)
    if instruction.name in FLOWS:
        return
    if handler_of(instruction) is execute_vector:
        refuse_modifiers(VECTOR[instruction.name], instruction)


class Program:
    """Decoded code, as far as it was executed."""

    def __init__(self, memory: Memory, kernel: str) -> None:
        """Take code from memory."""
        self._memory = memory
        self._kernel = kernel
        self._decoded: dict[int, tuple[Instruction, Flow | None, Handler | None]] = {}

    def at(self, address: int) -> tuple[Instruction, Flow | None, Handler | None]:
        """Return the instruction at an address, with its control flow or what executes it.

        Raises:
            AccessError: there is no code.
            UnsupportedError: it is not known.
        """
        found = self._decoded.get(address)
        if found is None:
            found = self._decoded[address] = self._decode(address)
        return found

    def run(self, wave: Wave, limit: int) -> None:
        """Execute a wave for a turn; see ``run_wave``."""
        run_wave(wave, self, limit)

    def race_tracker(self, names: Names, code: int, total: int, *, observed: bool) -> Tracker:  # noqa: ARG002
        """Return a race detector for one launch; see ``ReferenceTracker``.

        ``observed``: somebody watches each instruction, and only the reference lets them.
        """
        return ReferenceTracker(names, code, total)

    def _decode(self, address: int) -> tuple[Instruction, Flow | None, Handler | None]:
        allocation = self._memory.find(address)
        if allocation is None or address % 4 or allocation.writable:
            raise AccessError(FaultKind.ILLEGAL, "the program counter is not in code", address=address)
        size = min(_LONGEST, allocation.end - address)
        instruction = decode(self._memory.bytes_at(address, size).tobytes(), address)
        check_executable(instruction)
        flow = FLOWS.get(instruction.name)
        return instruction, flow, None if flow is not None else handler_of(instruction)


def check_registers(instruction: Instruction) -> None:
    """Refuse operands of several registers that begin where the machine does not allow it.

    Vector registers begin at even numbers (gfx90a and later), scalar ones at a multiple of 2, or of 4 for four and more
    (ISA document, "SGPR Alignment").

    Raises:
        AccessError: an operand is one.
    """
    for operand in (*instruction.destinations, *instruction.sources):
        align = 2 if operand.is_vector else min(operand.count, 4)
        if operand.file not in _ALIGNED or operand.count == 1:
            continue
        if operand.index % align:
            first, last = operand.index, operand.index + operand.count - 1
            what = f"the registers {operand.file.value}[{first}:{last}] do not begin at a multiple of {align}"
            raise AccessError(FaultKind.ILLEGAL, what)
        if operand.is_vector and operand.index + operand.count > 256:  # noqa: PLR2004 - registers of one file
            raise AccessError(FaultKind.ILLEGAL, "an operand reaches beyond the last register")


def run_wave(wave: Wave, program: Program, limit: int) -> None:
    """Execute a wave until it meets a barrier, sleeps, ends, or has executed ``limit`` instructions.

    The limit ends a turn behind an instruction that may move the program counter, so that an executor of whole basic
    blocks ends it at the same place.

    Raises:
        FaultError: it did something wrong.
        UnsupportedError: it did something unknown; the message names kernel and instruction.
    """
    _located(wave, lambda: _run(wave, program, wave.executed + limit))


def run_instruction(wave: Wave, program: Program) -> None:
    """Execute one instruction; it raises what ``run_wave`` does."""
    _located(wave, lambda: _step(wave, program))


def _located(wave: Wave, execute: Callable[[], object]) -> None:
    """Execute; faults and refusals get the names of kernel, instruction and wave."""
    try:
        with np.errstate(all="ignore"):
            execute()
    except AccessError as err:
        raise FaultError(
            Fault(
                kind=err.kind,
                kernel=wave.kernel,
                instruction=wave.instruction,
                wave=wave.identity,
                lane=err.lane,
                address=err.address,
                detail=err.detail,
            )
        ) from err
    except UnsupportedError as err:
        if err.kernel is not None:
            raise
        raise err.located(wave.kernel, wave.instruction) from err


def _run(wave: Wave, program: Program, limit: int) -> None:
    while True:
        flow = _step(wave, program)
        if flow is Flow.YIELD or wave.status is not Status.READY:
            return
        if wave.executed >= limit and flow is not None and flow is not Flow.NEXT:
            return


def _step(wave: Wave, program: Program) -> Flow | None:
    observer = wave.observer
    instruction, flow, handler = program.at(wave.pc)
    wave.instruction = instruction
    if observer is not None:
        observer.before(wave, instruction)
    if wave.races is not None:
        wave.races.begin(instruction)
    wave.executed += 1
    wave.pc = instruction.next_address
    if handler is not None:
        handler(wave, indexed(wave, instruction) if wave.indexes_registers else instruction)
    elif flow is not Flow.NEXT:
        _follow(wave, instruction, flow)
    if wave.late is not None:
        wave.late.after(wave, instruction)
    if observer is not None:
        observer.after(wave, instruction)
    return flow


def _follow(wave: Wave, instruction: Instruction, flow: Flow | None) -> None:
    if flow is Flow.BRANCH:
        condition = CONDITIONS.get(instruction.name)
        if condition is None or wave.decided(condition(wave), "whether it branches"):
            wave.pc = instruction.branch_target
    elif flow is Flow.JUMP:
        _jump(wave, instruction)
    elif flow is Flow.BARRIER:
        wave.status = Status.AT_BARRIER
    elif flow is Flow.END:
        wave.status = Status.ENDED
    elif flow is Flow.TRAP:
        raise AccessError(FaultKind.TRAP, f"the kernel executed s_trap {instruction.immediate & 0xFF}")


def _jump(wave: Wave, instruction: Instruction) -> None:
    target = instruction.branch_target
    if instruction.sources and instruction.sources[0].file is RegisterFile.SGPR:
        target = wave.decided(wave.read(instruction.sources[0], U64), "the address that it jumps to")
    if instruction.destinations:
        wave.write(instruction.destinations[0], constant(U64, instruction.next_address))
    wave.pc = target
