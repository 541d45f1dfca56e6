"""Scalar instructions that read and write the mask of active lanes, and whole-register bit tricks on masks."""

from __future__ import annotations

from collections.abc import Callable

from rocmatrix.emulator.algebra import U64, Value
from rocmatrix.emulator.instruction import EXEC, Instruction, Operand, RegisterFile
from rocmatrix.emulator.semantics.machine import Machine
from rocmatrix.emulator.semantics.operands import read_operand

_EXEC = Operand(file=RegisterFile.SGPR, index=EXEC, count=2)

_FUNCTIONS: dict[str, Callable[[Value, Value], Value]] = {
    "and": lambda source, active: source & active,
    "or": lambda source, active: source | active,
    "xor": lambda source, active: source ^ active,
    "andn1": lambda source, active: ~source & active,
    "andn2": lambda source, active: source & ~active,
    "orn1": lambda source, active: ~source | active,
    "orn2": lambda source, active: source | ~active,
    "nand": lambda source, active: ~(source & active),
    "nor": lambda source, active: ~(source | active),
    "xnor": lambda source, active: ~(source ^ active),
}


def _save(function: Callable[[Value, Value], Value]) -> Callable[[Machine, Instruction], None]:
    def save_exec(machine: Machine, instruction: Instruction) -> None:
        active = machine.read(_EXEC, U64) | 0
        result = function(read_operand(machine, instruction, instruction.sources[0], U64), active)
        machine.write(_EXEC, result)
        machine.write(instruction.destinations[0], active)
        machine.write_scc(result != 0)

    return save_exec


def _overwrite(function: Callable[[Value, Value], Value]) -> Callable[[Machine, Instruction], None]:
    def write_exec(machine: Machine, instruction: Instruction) -> None:
        active = machine.read(_EXEC, U64)
        result = function(read_operand(machine, instruction, instruction.sources[0], U64), active)
        machine.write(_EXEC, result)
        machine.write(instruction.destinations[0], result)
        machine.write_scc(result != 0)

    return write_exec


EXEC_MASK = {f"s_{name}_saveexec_b64": _save(function) for name, function in _FUNCTIONS.items()} | {
    f"s_{name}_wrexec_b64": _overwrite(_FUNCTIONS[name]) for name in ("andn1", "andn2")
}
