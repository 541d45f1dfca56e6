"""s_getreg and s_setreg: hardware registers as far as kernels may depend on them."""

from __future__ import annotations

from collections.abc import Callable

from rocmatrix.emulator.algebra import U32
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.lanes import constant
from rocmatrix.emulator.placement import HW_ID, XCC_ID
from rocmatrix.emulator.registers import PRIVATE_APERTURE, SHARED_APERTURE
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.operands import read_operand
from rocmatrix.emulator.wave import Wave

_MODE, _MEMORY_BASES = 1, 15
_PLACES = {XCC_ID: "HW_REG_XCC_ID", HW_ID: "HW_REG_HW_ID"}


def _field(instruction: Instruction) -> tuple[int, int, int]:
    """Return number of the register, first bit and width of the field."""
    immediate = instruction.immediate
    return immediate & 0x3F, immediate >> 6 & 0x1F, (immediate >> 11 & 0x1F) + 1


def s_getreg_b32(wave: Wave, instruction: Instruction) -> None:
    """Read a field of a hardware register."""
    number, offset, width = _field(instruction)
    if number == _MODE:
        value = wave.mode.bits
    elif number == _MEMORY_BASES:
        value = PRIVATE_APERTURE >> 48 | SHARED_APERTURE >> 48 << 16
    elif number in _PLACES and wave.placement is not None:
        value = wave.placement.xcc_id if number == XCC_ID else wave.placement.hw_id
        wave.invented.add(f"where its waves run ({_PLACES[number]})")
    else:
        raise UnsupportedError(f"reading hardware register {number}", instruction=instruction)
    wave.write(instruction.destinations[0], constant(U32, value >> offset & ((1 << width) - 1)))


def s_setreg(wave: Wave, instruction: Instruction) -> None:
    """Write a field of the MODE register."""
    number, offset, width = _field(instruction)
    if number != _MODE:
        raise UnsupportedError(f"writing hardware register {number}", instruction=instruction)
    value = wave.decided(read_operand(wave, instruction, instruction.sources[0], U32), "MODE")
    mask = ((1 << width) - 1) << offset & 0xFFFFFFFF
    wave.mode = Mode.from_bits(wave.mode.bits & ~mask | value << offset & mask)


HARDWARE_REGISTERS: dict[str, Callable[[Wave, Instruction], None]] = {
    "s_getreg_b32": s_getreg_b32,
    "s_setreg_b32": s_setreg,
    "s_setreg_imm32_b32": s_setreg,
}
