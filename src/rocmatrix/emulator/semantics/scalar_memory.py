"""SMEM: loads into scalar registers (ISA document, "Scalar Memory Operations")."""

from __future__ import annotations

import re

from rocmatrix.emulator.algebra import I64, U32, U64, Value, bitcast, convert, where
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.semantics.machine import Machine

_LOAD = re.compile(r"s_(buffer_)?load_dword(?:x(2|4|8|16))?")
_CACHE = ("s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol")


def knows(instruction: Instruction) -> bool:
    """Say whether there is a meaning for an SMEM instruction, clocks aside."""
    return instruction.name in _CACHE or _LOAD.fullmatch(instruction.name) is not None


def execute_scalar_memory(machine: Machine, instruction: Instruction) -> None:
    """Execute a scalar load; cache control does nothing, because there is no cache."""
    if instruction.name in _CACHE:
        return
    load = _LOAD.fullmatch(instruction.name)
    if load is None:
        raise ValueError(instruction.name)
    count = int(load[2] or 1)
    offset = _offset(machine, instruction)
    if load[1]:
        values = _buffer_load(machine, instruction, offset, count)
    else:
        base = bitcast(machine.read(instruction.sources[0], U64), I64)
        address = bitcast(base + offset, U64) & 0xFFFFFFFFFFFFFFFC
        values = machine.load_scalar(address, count)
    machine.deliver(instruction.destinations[0], values)


def _offset(machine: Machine, instruction: Instruction) -> Value:
    """Return the offset in bytes as I64: immediate plus register, the latter unsigned."""
    register = instruction.sources[1]
    bits = instruction.memory
    immediate = bits.offset if bits else 0
    if not register.count:
        return machine.constant(I64, immediate)
    value = bitcast(convert(machine.read(register, U32), U64), I64)
    return value + immediate


def _buffer_load(machine: Machine, instruction: Instruction, offset: Value, count: int) -> tuple[Value, ...]:
    """Load through a resource descriptor; dwords outside of the buffer are zero."""
    words = [machine.read(instruction.sources[0].register(number), U32) for number in range(4)]
    stride = convert(words[1] >> 16 & 0x3FFF, U64)
    size = convert(words[2], U64) * where(stride == 0, 1, stride)
    base = (convert(words[0], U64) | convert(words[1], U64) << 32) & ((1 << 48) - 1)
    start = bitcast(offset, U64) & 0xFFFFFFFFFFFFFFFC
    values = []
    for number in range(count):
        place = start + 4 * number
        inside = place + 4 <= size
        address = where(inside, (base & 0xFFFFFFFFFFFFFFFC) + place, 0)
        values.append(machine.load_scalar_or_zero(address, inside))
    return tuple(values)
