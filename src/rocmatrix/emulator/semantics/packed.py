"""VOP3P: two operations at once on halves of registers, mixed-precision fused multiply-add, integer dot products."""

from __future__ import annotations

from dataclasses import replace

from rocmatrix.emulator.algebra import F16, F32, U32, U64, Kind, Value, bitcast, convert, fma, where
from rocmatrix.emulator.descriptor import Denormals, Mode
from rocmatrix.emulator.instruction import Instruction, Operand, RegisterFile
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics import floats
from rocmatrix.emulator.semantics.arithmetic import PACKED, VECTOR, Arithmetic
from rocmatrix.emulator.semantics.conversions import to_f16
from rocmatrix.emulator.semantics.execution import refuse_pair_constants, refuse_rounding, results_of, saturated
from rocmatrix.emulator.semantics.integer import saturating_sum_of_products, sum_of_products
from rocmatrix.emulator.semantics.machine import Machine
from rocmatrix.emulator.semantics.operands import (
    as_register,
    float_constant_bits,
    flushes_results,
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
_SATURATING = ("v_dot4_i32_i8", "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4")
"""Those that may clamp. Products of 16 bits can overflow before ``c`` is added: what is limited then is not known."""
_FLOAT_DOT = "v_dot2_f32_f16"
MIXED = ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")
DOTS = (*_DOTS, _FLOAT_DOT)
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


def dot2_f32_f16(a: Value, b: Value, c: Value, mode: Mode) -> Value:
    """Return ``c`` plus two products of float16, the lower one first, each addition rounded in float32.

    Order and roundings: pseudo code of the ISA document; denormals of float32 are flushed whatever MODE says (LLVM,
    ``performFMACombine``).

    Raises:
        UnsupportedError: MODE flushes denormals of float16: whether the products see that is not documented.
    """
    if mode.denormals_16_64 is not Denormals.KEEP:
        raise UnsupportedError("v_dot2_f32_f16 where MODE flushes denormals of float16")
    total = floats.flush(c)
    for shift in (0, 16):
        left, right = (convert(low_part(source >> shift, F16), F32) for source in (a, b))
        total = total + left * right
    return floats.flush(total)


def _fmac_halves(a: Value, b: Value, c: Value, mode: Mode) -> Value:
    """Return both fused multiply-adds; denormals of float16 as MODE says."""
    flushes = mode.denormals_16_64
    results = []
    for shift in (0, 16):
        parts = [low_part(source >> shift, F16) for source in (a, b, c)]
        if flushes in (Denormals.FLUSH_SOURCES, Denormals.FLUSH_SOURCES_AND_RESULTS):
            parts = [floats.flush(part) for part in parts]
        total = fma(*parts)
        results.append(floats.flush(total) if flushes_results(F16, mode) else total)
    return as_register(results[0]) | as_register(results[1]) << 16


VECTOR.add("v_dot2c_f32_f16", "f32 <- u32 u32 f32", dot2_f32_f16, uses_mode=True, flushes=False)
VECTOR.add("v_pk_fmac_f16", "u32 <- u32 u32 u32", _fmac_halves, uses_mode=True)


def execute_packed(machine: Machine, instruction: Instruction) -> None:
    """Execute one VOP3P instruction that is no matrix instruction."""
    if instruction.name in MIXED:
        _execute_mixed(machine, instruction)
    elif instruction.name in DOTS:
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
    if instruction.op_sel or instruction.neg_hi or instruction.op_sel_hi != _ALL_UPPER:
        raise UnsupportedError(f"modifiers of {instruction.name}", instruction=instruction)
    if instruction.clamp and instruction.name not in _SATURATING:
        raise UnsupportedError(f"the clamp bit on {instruction.name}", instruction=instruction)
    if any(operand.negate for operand in instruction.sources):
        raise UnsupportedError(f"modifiers of {instruction.name}", instruction=instruction)
    a, b, c = (read_operand(machine, instruction, operand, U32) for operand in instruction.sources)
    if instruction.name == _FLOAT_DOT:
        refuse_pair_constants(instruction)
        refuse_rounding(VECTOR["v_dot2c_f32_f16"], instruction, machine.mode)
        total = dot2_f32_f16(a, b, bitcast(c, F32), machine.mode)
        machine.write(instruction.destinations[0], bitcast(total, U32))
        return
    bits, signed = _DOTS[instruction.name]
    combine = saturating_sum_of_products if instruction.clamp else sum_of_products
    machine.write(instruction.destinations[0], combine(a, b, c, bits=bits, signed=signed))
