"""Instructions that move values between lanes, and between lanes and scalar registers."""

from __future__ import annotations

from rocmatrix.emulator.algebra import U32, Value, convert, popcount, where
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.bits import find_first_one
from rocmatrix.emulator.semantics.machine import Machine
from rocmatrix.emulator.semantics.operands import read_operand

_HALF_WAVE = 32


def v_readfirstlane_b32(machine: Machine, instruction: Instruction) -> None:
    """Copy the first active lane to a scalar register; lane 0 where none is active."""
    active = machine.mask_bits(machine.read_exec())
    first = convert(find_first_one(active), U32) & 63
    _read_lane(machine, instruction, where(active == 0, 0, first))


def v_readlane_b32(machine: Machine, instruction: Instruction) -> None:
    """Copy a lane, active or not, to a scalar register."""
    lane = read_operand(machine, instruction, instruction.sources[1], U32)
    _read_lane(machine, instruction, lane & 63)


def _read_lane(machine: Machine, instruction: Instruction, lane: Value) -> None:
    source = read_operand(machine, instruction, instruction.sources[0], U32)
    machine.write(instruction.destinations[0], machine.pick(source, lane))


def v_writelane_b32(machine: Machine, instruction: Instruction) -> None:
    """Write a scalar to a lane, active or not."""
    value = read_operand(machine, instruction, instruction.sources[0], U32)
    lane = read_operand(machine, instruction, instruction.sources[1], U32) & 63
    machine.write_lane(instruction.destinations[0], value, lane)


def v_mbcnt_lo_u32_b32(machine: Machine, instruction: Instruction) -> None:
    """Count the bits of a mask that belong to lower lanes, among lanes 0 to 31."""
    mask, base = (read_operand(machine, instruction, operand, U32) for operand in instruction.sources)
    lane = machine.lane_numbers()
    below = where(lane < _HALF_WAVE, (1 << (lane & 31)) - 1, 0xFFFFFFFF)
    machine.write(instruction.destinations[0], popcount(mask & below) + base)


def v_mbcnt_hi_u32_b32(machine: Machine, instruction: Instruction) -> None:
    """Count the bits of a mask that belong to lower lanes, among lanes 32 to 63."""
    mask, base = (read_operand(machine, instruction, operand, U32) for operand in instruction.sources)
    lane = machine.lane_numbers()
    below = where(lane < _HALF_WAVE, 0, (1 << (lane & 31)) - 1)
    machine.write(instruction.destinations[0], popcount(mask & below) + base)


def v_swap_b32(machine: Machine, instruction: Instruction) -> None:
    """Exchange two registers."""
    first, second = instruction.destinations
    a, b = machine.read(first, U32), machine.read(second, U32)
    copies = a | 0, b | 0
    machine.write(first, copies[1])
    machine.write(second, copies[0])


def v_nop(_machine: Machine, _instruction: Instruction) -> None:
    """Do nothing."""


def v_accvgpr_move(machine: Machine, instruction: Instruction) -> None:
    """Copy between VGPRs and AGPRs."""
    machine.write(instruction.destinations[0], read_operand(machine, instruction, instruction.sources[0], U32))


def _addressed_lane(machine: Machine, instruction: Instruction) -> Value:
    address = machine.read(instruction.sources[0], U32)
    offset = instruction.memory.offset if instruction.memory else 0
    return (address + offset) >> 2 & 63


def ds_bpermute_b32(machine: Machine, instruction: Instruction) -> None:
    """Pull from the addressed lane; inactive ones give zero."""
    lanes = _addressed_lane(machine, instruction)
    active = machine.permute(convert(machine.read_exec(), U32), lanes) != 0
    pulled = machine.permute(machine.read(instruction.sources[1], U32), lanes)
    machine.deliver(instruction.destinations[0], [where(active, pulled, 0)])


def ds_permute_b32(machine: Machine, instruction: Instruction) -> None:
    """Push to the addressed lane; the highest lane wins, lanes that nothing reaches get zero."""
    lanes = _addressed_lane(machine, instruction)
    machine.deliver(instruction.destinations[0], [machine.scatter(machine.read(instruction.sources[1], U32), lanes)])


def ds_swizzle_b32(machine: Machine, instruction: Instruction) -> None:
    """Permute within 32 lanes by masks, or within 4 lanes; inactive source lanes give zero."""
    offset = instruction.memory.offset if instruction.memory else 0
    lane = machine.lane_numbers()
    if not offset & 0x8000:
        and_mask, or_mask, xor_mask = offset & 31, offset >> 5 & 31, offset >> 10 & 31
        source = lane & 32 | (lane & and_mask | or_mask) ^ xor_mask
    elif offset & 0xFF00 == 0x8000:  # the quad permutation (LLVM, SIDefines.h, namespace Swizzle)
        pattern = machine.constant(U32, offset & 0xFF)
        source = lane & 0xFFFFFFFC | pattern >> (lane & 3) * 2 & 3
    else:
        raise UnsupportedError(f"ds_swizzle_b32 with offset {offset:#x}", instruction=instruction)
    active = machine.permute(convert(machine.read_exec(), U32), source) != 0
    moved = machine.permute(machine.read(instruction.sources[0], U32), source)
    machine.deliver(instruction.destinations[0], [where(active, moved, 0)])


CROSS_LANE = {
    "v_readfirstlane_b32": v_readfirstlane_b32,
    "v_readlane_b32": v_readlane_b32,
    "v_writelane_b32": v_writelane_b32,
    "v_mbcnt_lo_u32_b32": v_mbcnt_lo_u32_b32,
    "v_mbcnt_hi_u32_b32": v_mbcnt_hi_u32_b32,
    "v_swap_b32": v_swap_b32,
    "v_nop": v_nop,
    "v_accvgpr_read_b32": v_accvgpr_move,
    "v_accvgpr_write_b32": v_accvgpr_move,
    "v_accvgpr_mov_b32": v_accvgpr_move,
    "ds_bpermute_b32": ds_bpermute_b32,
    "ds_permute_b32": ds_permute_b32,
    "ds_swizzle_b32": ds_swizzle_b32,
}
