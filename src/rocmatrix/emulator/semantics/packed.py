"""VOP3P: two operations at once on halves of registers, mixed-precision fused multiply-add, integer dot products."""

from __future__ import annotations

from dataclasses import replace

from rocmatrix.emulator.algebra import F16, F32, U32, U64, Kind, Value, bitcast, convert, fma, where
from rocmatrix.emulator.instruction import Instruction, Operand, RegisterFile
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics import floats
from rocmatrix.emulator.semantics.arithmetic import PACKED, Arithmetic
from rocmatrix.emulator.semantics.conversions import to_f16
from rocmatrix.emulator.semantics.execution import refuse_rounding, results_of, saturated
from rocmatrix.emulator.semantics.integer import sum_of_products
from rocmatrix.emulator.semantics.machine import Machine
from rocmatrix.emulator.semantics.operands import (
    as_register,
    float_constant_bits,
    integer_constant,
    low_part,
    read_operand,
    result_modified,
    source_modified,
)

_DOTS = {
    "v_dot2_i32_i16": (16, True),
    "v_dot2_u32_u16": (16, False),
    "v_dot4_i32_i8": (8, True),
    "v_dot4_u32_u8": (8, False),
    "v_dot8_i32_i4": (4, True),
    "v_dot8_u32_u4": (4, False),
}
MIXED = ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")
DOTS = tuple(_DOTS)
_ALL_UPPER = 7

for _kind in ("u16", "i16"):
    PACKED.add(f"v_pk_add_{_kind}", f"{_kind} <- {_kind} {_kind}", lambda a, b: a + b)
    PACKED.add(f"v_pk_sub_{_kind}", f"{_kind} <- {_kind} {_kind}", lambda a, b: a - b)
    PACKED.add(f"v_pk_mad_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", lambda a, b, c: a * b + c)
    PACKED.add(f"v_pk_min_{_kind}", f"{_kind} <- {_kind} {_kind}", lambda a, b: where(a < b, a, b))
    PACKED.add(f"v_pk_max_{_kind}", f"{_kind} <- {_kind} {_kind}", lambda a, b: where(a >= b, a, b))
PACKED.add("v_pk_mul_lo_u16", "u16 <- u16 u16", lambda a, b: a * b)
PACKED.add("v_pk_lshlrev_b16", "u16 <- u16 u16", lambda count, a: a << (count & 15))
PACKED.add("v_pk_lshrrev_b16", "u16 <- u16 u16", lambda count, a: a >> (count & 15))
PACKED.add("v_pk_ashrrev_i16", "i16 <- u16 i16", lambda count, a: a >> (count & 15))
for _kind in ("f16", "f32"):
    PACKED.add(f"v_pk_fma_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", fma)
    PACKED.add(f"v_pk_mul_{_kind}", f"{_kind} <- {_kind} {_kind}", lambda a, b: a * b)
    PACKED.add(f"v_pk_add_{_kind}", f"{_kind} <- {_kind} {_kind}", lambda a, b: a + b)
PACKED.add("v_pk_min_f16", "f16 <- f16 f16", floats.minimum, uses_mode=True, rounds=False)
PACKED.add("v_pk_max_f16", "f16 <- f16 f16", floats.maximum, uses_mode=True, rounds=False)
PACKED.add("v_pk_mov_b32", "u32 <- u32 u32", lambda a, _b: a)


def execute_packed(machine: Machine, instruction: Instruction) -> None:
    """Execute one VOP3P instruction that is no matrix instruction."""
    if instruction.name in MIXED:
        _execute_mixed(machine, instruction)
    elif instruction.name in _DOTS:
        _execute_dot(machine, instruction)
    else:
        _execute_halves(machine, instruction)


def _execute_halves(machine: Machine, instruction: Instruction) -> None:
    operation = PACKED[instruction.name]
    refuse_rounding(operation, instruction, machine.mode)
    low = _half(machine, instruction, operation, upper=False)
    high = _half(machine, instruction, operation, upper=True)
    if operation.results[0].bits == 32:  # each half fills a register
        both = convert(bitcast(low, U32), U64) | convert(bitcast(high, U32), U64) << 32
        machine.write(instruction.destinations[0], both)
        return
    machine.write(instruction.destinations[0], as_register(low) | as_register(high) << 16)


def _half(machine: Machine, instruction: Instruction, operation: Arithmetic, *, upper: bool) -> Value:
    """Return the result of the lower or the upper operation."""
    values = []
    moving = operation.name == "v_pk_mov_b32"
    for number, kind in enumerate(operation.operands):
        bits = instruction.op_sel_hi if upper and not moving else instruction.op_sel
        value = part_of(machine, instruction, instruction.sources[number], kind, upper=bool(bits >> number & 1))
        operand = instruction.sources[number]
        negate = bool(instruction.neg_hi >> number & 1) if upper else operand.negate
        values.append(source_modified(value, replace(operand, negate=negate), machine.mode, flushes=operation.flushes))
    if moving:
        return values[1] if upper else values[0]
    if instruction.clamp and not operation.results[0].is_float:
        return saturated(operation, instruction, values)
    result = results_of(operation, values, machine.mode)[0]
    if result.kind.is_float:
        result = result_modified(result, instruction, machine.mode, flushes=operation.flushes)
    return result


def part_of(machine: Machine, instruction: Instruction, operand: Operand, kind: Kind, *, upper: bool) -> Value:
    """Return the lower or upper part of a packed operand.

    A constant is 32 bits: an integer with its sign extended, or the float in the lower half and zero above.
    """
    if operand.file is RegisterFile.CONSTANT:
        return _constant_part(machine, instruction, operand, kind, upper=upper)
    if kind.bits == 32:  # a register each
        single = operand.file is RegisterFile.SGPR and operand.count == 1
        if single and upper:
            raise UnsupportedError("the upper half of a single SGPR", instruction=instruction)
        return machine.read(operand.register(int(upper)), kind)
    register = read_operand(machine, instruction, operand, U32)
    return low_part(register >> 16 if upper else register, kind)


def _constant_part(machine: Machine, instruction: Instruction, operand: Operand, kind: Kind, *, upper: bool) -> Value:
    integer = integer_constant(operand.index)
    if integer is not None:
        if kind.bits == 32 and upper and integer:  # what is above 32 bits is not documented
            raise UnsupportedError("the upper half of a constant", instruction=instruction)
        shifted = integer >> 16 if upper and kind.bits == 16 else integer  # half a register
        return read_constant(machine, kind, shifted)
    bits = float_constant_bits(operand.index, kind.bits)
    if bits is None or not kind.is_float or upper:
        what = "this constant" if not upper else "the upper half of a constant"
        raise UnsupportedError(f"{what} in a packed operation", instruction=instruction)
    return read_constant(machine, kind, bits)


def read_constant(machine: Machine, kind: Kind, bits: int) -> Value:
    """Return the low bits of a number as a kind."""
    register = machine.constant(U32, bits)
    return bitcast(register, kind) if kind.bits == 32 else low_part(register, kind)


def _execute_mixed(machine: Machine, instruction: Instruction) -> None:
    """Fused multiply-add in float32 of float32 or float16 operands: op_sel_hi says which, neg_hi is absolute value."""
    mode = machine.mode
    values = []
    for number, operand in enumerate(instruction.sources[:3]):
        if instruction.op_sel_hi >> number & 1:
            upper = bool(instruction.op_sel >> number & 1)
            value = convert(part_of(machine, instruction, operand, F16, upper=upper), F32)
        else:
            value = read_operand(machine, instruction, operand, F32)
        absolute = bool(instruction.neg_hi >> number & 1)
        values.append(source_modified(value, replace(operand, absolute=absolute), mode, flushes=True))
    operation = Arithmetic(name=instruction.name, results=(F32, F16), operands=(F32, F32, F32), function=fma)
    refuse_rounding(operation, instruction, mode)
    total = fma(values[0], values[1], values[2])
    if instruction.name == "v_fma_mix_f32":
        machine.write(
            instruction.destinations[0], bitcast(result_modified(total, instruction, mode, flushes=True), U32)
        )
        return
    half = as_register(result_modified(to_f16(total, mode), instruction, mode, flushes=True))
    old = machine.read(instruction.destinations[0], U32)
    low = instruction.name == "v_fma_mixlo_f16"
    machine.write(instruction.destinations[0], half | old & 0xFFFF0000 if low else half << 16 | old & 0xFFFF)


def _execute_dot(machine: Machine, instruction: Instruction) -> None:
    if instruction.clamp or instruction.op_sel or instruction.neg_hi or instruction.op_sel_hi != _ALL_UPPER:
        raise UnsupportedError(f"modifiers of {instruction.name}", instruction=instruction)
    if any(operand.negate for operand in instruction.sources):
        raise UnsupportedError(f"modifiers of {instruction.name}", instruction=instruction)
    bits, signed = _DOTS[instruction.name]
    a, b, c = (read_operand(machine, instruction, operand, U32) for operand in instruction.sources)
    machine.write(instruction.destinations[0], sum_of_products(a, b, c, bits=bits, signed=signed))
