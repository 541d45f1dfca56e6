"""DPP: the first source of a vector instruction comes from other lanes (ISA document, "Data Parallel Primitives")."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.emulator.algebra import U32, U64, Kind, Value, bitcast, convert, where
from rocmatrix.emulator.instruction import Dpp, Instruction
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.machine import WAVE, Machine
from rocmatrix.emulator.semantics.operands import SMALL, low_part

_ROW, _BANK = 16, 4


@dataclass(frozen=True, kw_only=True)
class Permuted:
    """The first source after the permutation: its registers as U32, and the lanes that may be written."""

    registers: tuple[Value, ...]
    lanes: Value

    def value(self, kind: Kind) -> Value:
        """Return the source as a value of a kind."""
        if kind.bits == 64:  # two registers
            low, high = (convert(register, U64) for register in self.registers)
            return bitcast(low | high << 32, kind)
        return low_part(self.registers[0], kind) if kind in SMALL else bitcast(self.registers[0], kind)


def source_lanes(control: int) -> tuple[int | None, ...] | None:
    """Return for each lane the lane that it reads, ``None`` where there is none; ``None`` for unknown controls."""
    lanes = range(WAVE)
    amount = control & 0xF
    if control <= 0xFF:  # quad_perm
        return tuple(lane & ~3 | control >> 2 * (lane & 3) & 3 for lane in lanes)
    if 0x101 <= control <= 0x10F:  # row_shl
        return tuple(lane + amount if lane % _ROW + amount < _ROW else None for lane in lanes)
    if 0x111 <= control <= 0x11F:  # row_shr
        return tuple(lane - amount if lane % _ROW >= amount else None for lane in lanes)
    if 0x121 <= control <= 0x12F:  # row_ror
        return tuple(lane & ~15 | (lane - amount) % _ROW for lane in lanes)
    if 0x150 <= control <= 0x15F:  # row_newbcast, from gfx90a on
        return tuple(lane & ~15 | amount for lane in lanes)
    whole: dict[int, tuple[int | None, ...]] = {
        0x130: tuple(lane + 1 if lane + 1 < WAVE else None for lane in lanes),
        0x134: tuple((lane + 1) % WAVE for lane in lanes),
        0x138: tuple(lane - 1 if lane else None for lane in lanes),
        0x13C: tuple((lane - 1) % WAVE for lane in lanes),
        0x140: tuple(lane ^ 15 for lane in lanes),
        0x141: tuple(lane ^ 7 for lane in lanes),
        0x142: tuple((lane & ~15) - 1 if lane >= _ROW else None for lane in lanes),
        0x143: tuple(31 if lane >= WAVE // 2 else None for lane in lanes),
    }
    return whole.get(control)


def permuted(machine: Machine, instruction: Instruction) -> Permuted:
    """Return the first source of a DPP instruction, and the lanes that it may write.

    A lane whose source lane does not exist or is inactive reads 0 where the instruction sets ``bound_ctrl``, and is not
    written otherwise. Lanes outside of the row and bank masks are never written.
    """
    dpp = instruction.dpp
    sources = source_lanes(dpp.control) if dpp else None
    if dpp is None or sources is None:
        raise UnsupportedError(f"DPP control {dpp.control if dpp else 0:#x}", instruction=instruction)
    operand = instruction.sources[0]
    from_lanes = _numbers(machine, tuple(lane or 0 for lane in sources))
    valid = machine.static_mask([lane is not None for lane in sources])
    active = machine.permute(convert(machine.read_exec(), U32), from_lanes) != 0
    valid = valid & active
    registers = tuple(
        where(valid, machine.permute(machine.read(operand.register(number), U32), from_lanes), 0)
        for number in range(operand.count)
    )
    return Permuted(registers=registers, lanes=_writable(machine, dpp, valid))


def _writable(machine: Machine, dpp: Dpp, valid: Value) -> Value:
    rows = [
        bool(dpp.row_mask >> lane // _ROW & 1 and dpp.bank_mask >> lane % _ROW // _BANK & 1) for lane in range(WAVE)
    ]
    mask = machine.static_mask(rows)
    return mask if dpp.bound_control else mask & valid


def _numbers(machine: Machine, lanes: tuple[int, ...]) -> Value:
    """Return static lane numbers as a value, built from masks so that any executor can make it."""
    result = machine.lane_numbers() & 0
    for bit in range(WAVE.bit_length() - 1):
        mask = machine.static_mask([bool(lane >> bit & 1) for lane in lanes])
        result = result | convert(mask, U32) << bit
    return result
