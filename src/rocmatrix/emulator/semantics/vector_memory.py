"""FLAT, GLOBAL, SCRATCH and MUBUF (ISA document, "Vector Memory" and "Flat Memory Instructions")."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rocmatrix.emulator.algebra import I32, I64, U32, U64, Value, bitcast, convert, where
from rocmatrix.emulator.instruction import M0, Encoding, Instruction, MemoryBits, Operand, RegisterFile
from rocmatrix.emulator.semantics.access import (
    LOADS,
    STORES,
    Access,
    data_to_store,
    extended,
    typed_data,
    write_loaded,
    write_old,
)
from rocmatrix.emulator.semantics.atomics import ATOMICS
from rocmatrix.emulator.semantics.machine import Machine, Space
from rocmatrix.emulator.semantics.operands import read_operand

_SPACES = {
    Encoding.FLAT: Space.FLAT,
    Encoding.GLOBAL: Space.GLOBAL,
    Encoding.SCRATCH: Space.SCRATCH,
    Encoding.MUBUF: Space.GLOBAL,
}
_DWORD = 4
_BASE_MASK = (1 << 48) - 1
_CACHE_CONTROL = ("buffer_wbl2", "buffer_inv")
_TO_LDS = ("ubyte", "sbyte", "ushort", "sshort", "dword")


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where an instruction accesses memory: address of each lane, and lanes that access at all (``None``: all)."""

    space: Space
    address: Value
    lanes: Value | None = None


def knows(instruction: Instruction) -> bool:
    """Say whether there is a meaning for a FLAT, GLOBAL, SCRATCH or MUBUF instruction."""
    if instruction.name in _CACHE_CONTROL:
        return True
    _, access, what = [*instruction.name.split("_", 2), ""][:3]
    if access == "load" and instruction.memory is not None and instruction.memory.lds:
        return what.removeprefix("lds_") in _TO_LDS and instruction.encoding is not Encoding.SCRATCH
    tables: dict[str, Collection[str]] = {"load": LOADS, "store": STORES, "atomic": ATOMICS}
    if access == "atomic" and instruction.encoding is Encoding.SCRATCH:
        return False
    return access in tables and what in tables[access]


def execute_vector_memory(machine: Machine, instruction: Instruction) -> None:
    """Execute a load, store or atomic of FLAT, GLOBAL, SCRATCH or MUBUF."""
    if instruction.name in _CACHE_CONTROL:
        return
    _, access, what = instruction.name.split("_", 2)
    if access == "load" and _bits(instruction).lds:
        _load_to_lds(machine, instruction, LOADS[what.removeprefix("lds_")])
    elif access == "load":
        load = LOADS[what]
        target = _target(machine, instruction, load.size)
        values = machine.load(target.space, target.address, load.size, target.lanes)
        write_loaded(machine, instruction.destinations[0], values, load)
    elif access == "store":
        store = STORES[what]
        target = _target(machine, instruction, store.size)
        data = data_to_store(machine, instruction.sources[-1], store)
        machine.store(target.space, target.address, data, store.size, target.lanes)
    else:
        _atomic(machine, instruction, what)


def _atomic(machine: Machine, instruction: Instruction, what: str) -> None:
    atomic = ATOMICS[what]
    data = typed_data(machine, instruction.sources[-1], atomic.kind, atomic.operands)
    target = _target(machine, instruction, atomic.kind.bits // 8)
    old = machine.atomic(target.space, target.address, atomic.kind, atomic.combine, data, lanes=target.lanes)
    write_old(machine, instruction, old)


def _load_to_lds(machine: Machine, instruction: Instruction, load: Access) -> None:
    """Load dwords to LDS: the address is M0's lower 16 bits plus the instruction's offset plus 4 bytes for each lane.

    What a load of a byte or a short would put into a register, zero- or sign-extended to 32 bits, goes to LDS as a
    dword too: lanes are 4 bytes apart (ISA document, "Memory Buffer Load to LDS"), and the model of these instructions
    in gem5 (src/arch/amdgpu/vega) extends them to that.
    """
    target = _target(machine, instruction, load.size)
    values = machine.load(target.space, target.address, load.size, target.lanes)
    if load.size < _DWORD:
        values = (extended(values[0], load),)
    base = machine.read(Operand(file=RegisterFile.SGPR, index=M0), U32) & 0xFFFF
    address = base + (machine.lane_numbers() * _DWORD + _bits(instruction).offset)
    machine.deliver_to_lds(address, values)


def _bits(instruction: Instruction) -> MemoryBits:
    if instruction.memory is None:
        raise AssertionError("the decoder gives memory instructions their fields")
    return instruction.memory


def _target(machine: Machine, instruction: Instruction, size: int) -> Target:
    if instruction.encoding is Encoding.MUBUF:
        return buffer_target(machine, instruction, size)
    offset = _bits(instruction).offset
    vector, scalar = instruction.sources[:2]
    space = _SPACES[instruction.encoding]
    if space is Space.SCRATCH:
        parts = [convert(bitcast(machine.read(part, U32), I32), I64) for part in (vector, scalar) if part.count]
        total = machine.constant(I64, offset)
        for part in parts:
            total = part + total
        return Target(space=space, address=bitcast(total, U64))
    if scalar.count:
        base = machine.read(scalar, U64) + convert(machine.read(vector, U32), U64)
    else:
        base = machine.read(vector, U64)
    return Target(space=space, address=base + offset if offset else base)


def buffer_target(machine: Machine, instruction: Instruction, size: int) -> Target:
    """Return where a buffer instruction accesses memory, by its resource descriptor.

    A lane outside of the buffer loads zeros and stores nothing. Without a stride, a lane is outside if its offset is at
    least ``num_records`` minus the scalar offset. With one, documents disagree whether the index counts or the bytes;
    where that makes a difference the access is refused.

    Raises:
        UnsupportedError: swizzled buffers, thread ids added by the hardware, resources that are not known before the
            code runs where their form would decide what happens.
    """
    bits = _bits(instruction)
    vector, resource, scalar = instruction.sources[:3]
    words = [machine.read(resource.register(number), U32) for number in range(4)]
    machine.require((words[1] >> 31 == 0) & (words[3] >> 23 & 1 == 0), "swizzled buffers and added thread ids")
    offset = machine.constant(U32, 0)
    index = machine.constant(U32, 0)
    if bits.idxen:
        index = machine.read(vector.register(0), U32)
    if bits.offen:
        offset = machine.read(vector.register(vector.count - 1), U32)
    offset = offset + bits.offset
    scalar_offset = read_operand(machine, instruction, scalar, U32)
    stride = words[1] >> 16 & 0x3FFF
    base = (convert(words[0], U64) | convert(words[1], U64) << 32) & _BASE_MASK
    limit = words[2] - scalar_offset
    place = convert(index, U64) * convert(stride, U64) + convert(offset, U64)
    room = convert(where(words[2] < scalar_offset, 0, limit), U64)
    inside = place + size <= room
    by_index = index < words[2]
    machine.require((place >= room) | inside, "buffer accesses that are partly out of range")
    machine.require((stride == 0) | ~(inside ^ by_index), "the range check of buffers with a stride")
    address = base + convert(scalar_offset, U64) + place
    return Target(space=Space.GLOBAL, address=address, lanes=inside)
