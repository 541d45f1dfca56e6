"""How loads and stores of every address kind treat their data: width, extension, halves of registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocmatrix.emulator.algebra import I8, I16, I32, U8, U16, U32, U64, Kind, Value, bitcast, convert
from rocmatrix.emulator.instruction import Instruction, Operand
from rocmatrix.emulator.semantics.machine import Machine


@dataclass(frozen=True, kw_only=True)
class Access:
    """One load or store.

    Attributes:
        size: bytes in memory for each lane.
        signed: a load of less than a register extends the sign.
        half: 0 or 1 where only that half of the register is read or written, else ``None``.
    """

    size: int
    signed: bool = False
    half: int | None = None


def _loads() -> dict[str, Access]:
    table = {
        "ubyte": Access(size=1),
        "sbyte": Access(size=1, signed=True),
        "ushort": Access(size=2),
        "sshort": Access(size=2, signed=True),
        "dword": Access(size=4),
        "dwordx2": Access(size=8),
        "dwordx3": Access(size=12),
        "dwordx4": Access(size=16),
    }
    for half, suffix in ((0, "_d16"), (1, "_d16_hi")):
        table[f"ubyte{suffix}"] = Access(size=1, half=half)
        table[f"sbyte{suffix}"] = Access(size=1, signed=True, half=half)
        table[f"short{suffix}"] = Access(size=2, half=half)
    return table


def _stores() -> dict[str, Access]:
    table = {"byte": Access(size=1), "short": Access(size=2)}
    table |= {f"{name}_d16_hi": Access(size=access.size, half=1) for name, access in table.items()}
    return table | {name: access for name, access in _loads().items() if name.startswith("dword")}


WHOLE = 0xFFFFFFFF
"""All bits of a register."""
LOADS = _loads()
"""By the name behind ``_load_``."""
STORES = _stores()
"""By the name behind ``_store_``."""

_NARROW = {(1, False): U8, (1, True): I8, (2, False): U16, (2, True): I16}


def write_loaded(machine: Machine, destination: Operand, values: Sequence[Value], access: Access) -> None:
    """Write what was loaded to the destination's registers."""
    if access.size >= 4:  # whole registers
        machine.deliver(destination, values)
        return
    value = extended(values[0], access)
    if access.half is None:
        machine.deliver(destination, [value])
        return
    value = value & 0xFFFF
    machine.deliver(destination, [value << 16 if access.half else value], 0xFFFF0000 if access.half else 0xFFFF)


def write_now(machine: Machine, destination: Operand, values: Sequence[Value], bits: int) -> None:
    """Write what an access found to consecutive registers, of which only some bits may be meant."""
    number = 0
    for value in values:
        part = replace(destination, index=destination.index + number, count=value.kind.registers)
        number += value.kind.registers
        machine.write(part, value if bits == WHOLE else value | machine.read(part, U32) & ~bits & WHOLE)


def extended(value: Value, access: Access) -> Value:
    """Return a loaded byte or short, which is zero-extended, with its sign extended where the instruction says so."""
    if not access.signed:
        return value
    kind: Kind = _NARROW[access.size, True]
    unsigned: Kind = _NARROW[access.size, False]
    return bitcast(convert(bitcast(convert(value, unsigned), kind), I32), U32)


def data_to_store(machine: Machine, operand: Operand, access: Access) -> list[Value]:
    """Return the registers that a store writes, the upper half moved down where it is meant."""
    if access.half:
        return [machine.read(operand, U32) >> 16]
    count = max(1, access.size // 4)
    return [machine.read(operand.register(number), U32) for number in range(count)]


def typed_data(machine: Machine, operand: Operand, kind: Kind, count: int) -> list[Value]:
    """Return the data values of an atomic, each of one kind, from consecutive registers."""
    return [
        machine.read(
            Operand(file=operand.file, index=operand.index + number * kind.registers, count=kind.registers), kind
        )
        for number in range(count)
    ]


def write_old(machine: Machine, instruction: Instruction, old: Value) -> None:
    """Write what an atomic found in memory, where the instruction returns it."""
    if instruction.destinations:
        unsigned = U64 if old.kind.bits == 64 else U32  # two registers
        machine.deliver(instruction.destinations[0], [bitcast(old, unsigned)])
