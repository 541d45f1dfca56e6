"""DS: local data share (ISA document, "Data Share Operations"). Addresses are bytes in the workgroup's LDS."""

from __future__ import annotations

import re

from rocmatrix.emulator.algebra import U32, U64, Value
from rocmatrix.emulator.instruction import Instruction, Operand
from rocmatrix.emulator.semantics.access import Access, data_to_store, typed_data, write_loaded, write_old
from rocmatrix.emulator.semantics.atomics import ATOMICS, Atomic
from rocmatrix.emulator.semantics.machine import Machine, Space

_READS = {
    "b32": Access(size=4),
    "b64": Access(size=8),
    "b96": Access(size=12),
    "b128": Access(size=16),
    "u8": Access(size=1),
    "i8": Access(size=1, signed=True),
    "u16": Access(size=2),
    "i16": Access(size=2, signed=True),
    "u8_d16": Access(size=1, half=0),
    "u8_d16_hi": Access(size=1, half=1),
    "i8_d16": Access(size=1, signed=True, half=0),
    "i8_d16_hi": Access(size=1, signed=True, half=1),
    "u16_d16": Access(size=2, half=0),
    "u16_d16_hi": Access(size=2, half=1),
}
_WRITES = {
    "b8": Access(size=1),
    "b16": Access(size=2),
    "b8_d16_hi": Access(size=1, half=1),
    "b16_d16_hi": Access(size=2, half=1),
    **{name: access for name, access in _READS.items() if name.startswith("b")},
}
_TWO = re.compile(r"ds_(read|write)2(st64)?_b(32|64)")
_NAMES = {"wrxchg": "swap", "cmpst": "cmpswap", "min_i": "smin", "min_u": "umin", "max_i": "smax", "max_u": "umax"}
_ATOMIC = re.compile(
    r"ds_(add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|wrxchg|cmpst|pk_add)(_rtn)?_([uibf]|bf)(16|32|64)"
)


def knows(instruction: Instruction) -> bool:
    """Say whether there is a meaning for a DS instruction; the global data share has none."""
    name = instruction.name
    if instruction.memory is not None and instruction.memory.gds:
        return False
    reads, writes = name.removeprefix("ds_read_") in _READS, name.removeprefix("ds_write_") in _WRITES
    return name == "ds_nop" or bool(_TWO.fullmatch(name)) or reads or writes or lds_atomic(name) is not None


def execute_lds(machine: Machine, instruction: Instruction) -> None:
    """Execute a read, write or atomic of LDS."""
    name = instruction.name
    if name == "ds_nop":
        return
    if two := _TWO.fullmatch(name):
        _two(machine, instruction, two)
    elif name.startswith("ds_read_") and (read := _READS.get(name.removeprefix("ds_read_"))):
        values = machine.load(Space.LDS, _address(machine, instruction), read.size)
        write_loaded(machine, instruction.destinations[0], values, read)
    elif name.startswith("ds_write_") and (write := _WRITES.get(name.removeprefix("ds_write_"))):
        data = data_to_store(machine, instruction.sources[1], write)
        machine.store(Space.LDS, _address(machine, instruction), data, write.size)
    elif atomic := lds_atomic(name):
        _atomic(machine, instruction, atomic)


def _address(machine: Machine, instruction: Instruction) -> Value:
    offset = instruction.memory.offset if instruction.memory else 0
    return machine.read(instruction.sources[0], U32) + offset


def _two(machine: Machine, instruction: Instruction, form: re.Match[str]) -> None:
    """Access two places, whose offsets count in elements, or in 64 elements."""
    size = int(form[3]) // 8
    unit = size * (64 if form[2] else 1)
    base = machine.read(instruction.sources[0], U32)
    bits = instruction.memory
    offsets = (bits.offset * unit, bits.offset1 * unit) if bits else (0, 0)
    kind = U64 if size == 8 else U32  # two registers each
    if form[1] == "write":
        sources = instruction.sources[1:]
        data = [data_to_store(machine, source, Access(size=size)) for source in sources]
        for offset, registers in zip(offsets, data, strict=True):
            machine.store(Space.LDS, base + offset, registers, size)
        return
    loaded = [machine.load(Space.LDS, base + offset, size) for offset in offsets]
    destination = instruction.destinations[0]
    for number, values in enumerate(loaded):
        part = Operand(file=destination.file, index=destination.index + number * kind.registers, count=kind.registers)
        write_loaded(machine, part, values, Access(size=size))


def lds_atomic(name: str) -> Atomic | None:
    """Return what an LDS atomic stores, or ``None`` where the name is none."""
    form = _ATOMIC.fullmatch(name)
    if form is None:
        return None
    verb, _, letter, bits = form.groups()
    if letter in ("f", "bf"):
        return ATOMICS.get(f"{verb}_{letter}{bits}")
    word = _NAMES.get(f"{verb}_{letter}", _NAMES.get(verb, verb))
    return ATOMICS.get(word + ("_x2" if bits == "64" else ""))


def _atomic(machine: Machine, instruction: Instruction, atomic: Atomic) -> None:
    data = [value for operand in instruction.sources[1:] for value in typed_data(machine, operand, atomic.kind, 1)]
    if "cmpst" in instruction.name:
        data.reverse()  # LDS takes the comparison first
    address = _address(machine, instruction)
    old = machine.atomic(Space.LDS, address, atomic.kind, atomic.combine, data)
    write_old(machine, instruction, old)
