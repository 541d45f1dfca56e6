"""How arithmetic instructions reach their operands: the same for every executor."""

from __future__ import annotations

from dataclasses import replace

from rocmatrix.emulator.algebra import BOOL, I64, U32, U64, Kind, Value, bitcast, convert, where
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Encoding, Instruction, Operand, RegisterFile
from rocmatrix.emulator.numerics import Approximation
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.arithmetic import SCALAR, VECTOR, Arithmetic
from rocmatrix.emulator.semantics.dpp import Permuted, permuted
from rocmatrix.emulator.semantics.machine import Machine
from rocmatrix.emulator.semantics.operands import (
    SMALL,
    as_register,
    integer_constant,
    literal_operand,
    low_part,
    merged,
    read_operand,
    result_modified,
    selected,
    source_modified,
)
from rocmatrix.emulator.semantics.rounding import DIRECTED, as_mode_rounds, can_round, rounding_of
from rocmatrix.emulator.semantics.transcendental import APPROXIMATE, at_an_end

_ROW_BROADCAST = 0x150
"""row_newbcast, the only DPP control of 64-bit operations (LLVM, "DP ALU dpp only supports row_newbcast")."""
_HALVES = {f"v_{name}_{kind}" for name in ("min3", "max3", "med3") for kind in ("f16", "i16", "u16")} | {
    *("v_add_i16", "v_sub_i16", "v_mad_i16", "v_mad_u16", "v_mad_i32_i16", "v_mad_u32_u16", "v_pack_b32_f16"),
    *("v_fma_f16", "v_mad_f16", "v_div_fixup_f16", "v_cvt_pknorm_i16_f16", "v_cvt_pknorm_u16_f16"),
    *("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"),
}
"""Operations whose op_sel LLVM knows on gfx942."""
_PAIRS = ("v_dot2c_f32_f16", "v_pk_fmac_f16")
"""Operations of VOP2 on pairs of float16."""
_SATURATING = {f"v_{name}_{kind}" for name in ("add", "sub", "subrev", "mad") for kind in ("u16", "i16", "u32", "i32")}


def execute_scalar(machine: Machine, instruction: Instruction) -> None:
    """Execute SOP1, SOP2, SOPC or SOPK arithmetic."""
    operation = SCALAR[instruction.name]
    sources = iter(instruction.sources)
    values = [
        machine.read_scc() if kind is BOOL else read_operand(machine, instruction, next(sources), kind)
        for kind in operation.operands
    ]
    destinations = iter(instruction.destinations)
    for value in results_of(operation, values, machine.mode):
        if value.kind is BOOL:
            machine.write_scc(value)
        else:
            machine.write(next(destinations), value)


def results_of(operation: Arithmetic, values: list[Value], mode: Mode) -> tuple[Value, ...]:
    """Return the results of an operation as a tuple."""
    result = operation.function(*values, mode) if operation.uses_mode else operation.function(*values)
    return result if isinstance(result, tuple) else (as_mode_rounds(operation, values, result, mode),)


def refuse_rounding(operation: Arithmetic, instruction: Instruction, mode: Mode) -> None:
    """Refuse float arithmetic in a rounding mode that is not modelled, and float16 results that would saturate."""
    if not operation.rounds:
        return
    kinds = [kind for kind in operation.results if kind.is_float]
    for kind in kinds:
        rounding = rounding_of(kind, mode)
        if not can_round(operation, rounding):
            raise UnsupportedError(f"rounding mode {rounding.name}", instruction=instruction)
        saturates = operation.uses_mode or operation.name in DIRECTED
        if kind.bits == 16 and mode.fp16_overflow and not saturates:  # float16
            raise UnsupportedError("float16 arithmetic with FP16_OVFL set", instruction=instruction)


def execute_vector(machine: Machine, instruction: Instruction) -> None:
    """Execute VOP1, VOP2, VOPC or VOP3 arithmetic with all its modifiers."""
    operation = VECTOR[instruction.name]
    mode = machine.mode
    refuse_rounding(operation, instruction, mode)
    moved = permuted(machine, instruction) if instruction.dpp else None
    values = [_source(machine, instruction, operation, number, moved) for number in range(len(operation.operands))]
    if instruction.clamp and not any(kind.is_float for kind in operation.results):
        results: tuple[Value, ...] = (saturated(operation, instruction, values),)
    else:
        results = results_of(operation, values, mode)
    ends = machine.numerics.approximation
    if instruction.name in APPROXIMATE and ends is not Approximation.NEAREST:
        above = ends is Approximation.HIGH
        results = (at_an_end(instruction.name, values[0], results[0], above=above),)
    lanes = moved.lanes if moved else None
    for value, destination in zip(results, instruction.destinations, strict=True):
        _write(machine, instruction, operation, destination, value, lanes=lanes)
    if instruction.name.startswith("v_cmpx_"):
        machine.write_exec(results[0])


def refuse_modifiers(operation: Arithmetic, instruction: Instruction) -> None:
    """Refuse modifiers that the operation cannot have: their effect is not documented."""
    kinds = (*operation.operands, *operation.results)
    if instruction.op_sel and operation.name not in _HALVES:
        raise UnsupportedError("op_sel on an operation that has no such halves", instruction=instruction)
    has_wide = any(kind.bits == 64 for kind in kinds)  # two registers
    if instruction.sdwa and has_wide and not operation.name.startswith("v_cvt_pk_f32_"):  # two float32, no float64
        raise UnsupportedError("SDWA on a 64-bit operation", instruction=instruction)
    if instruction.dpp and has_wide and instruction.dpp.control & 0x1F0 != _ROW_BROADCAST:
        raise UnsupportedError("this DPP control on a 64-bit operation", instruction=instruction)
    if instruction.clamp and all(kind is BOOL for kind in operation.results):
        raise UnsupportedError("the clamp bit on a comparison", instruction=instruction)
    if operation.name in _PAIRS:
        refuse_pair_constants(instruction)
    for operand, kind in zip(instruction.sources, operation.operands, strict=True):
        if kind is BOOL and not _is_mask(operand):
            raise UnsupportedError("a lane mask that is not in scalar registers", instruction=instruction)
        if (operand.absolute or operand.negate) and not kind.is_float:
            raise UnsupportedError("a float modifier on an integer source", instruction=instruction)


def refuse_pair_constants(instruction: Instruction) -> None:
    """Refuse sources of pairs of float16 whose upper half is not documented, and parts of them."""
    if instruction.sdwa is not None:
        raise UnsupportedError(f"SDWA on {instruction.name}", instruction=instruction)
    for operand in instruction.sources[:2]:
        constant = operand.file is RegisterFile.CONSTANT and integer_constant(operand.index) is None
        if constant or operand.file is RegisterFile.LITERAL:
            raise UnsupportedError(f"a float constant in {instruction.name}", instruction=instruction)


def _is_mask(operand: Operand) -> bool:
    constant = operand.file is RegisterFile.CONSTANT and integer_constant(operand.index) is not None
    return constant or operand.file is RegisterFile.SGPR


def _source(
    machine: Machine,
    instruction: Instruction,
    operation: Arithmetic,
    number: int,
    moved: Permuted | None,
) -> Value:
    operand, kind = instruction.sources[number], operation.operands[number]
    if kind is BOOL:
        return machine.read_mask(operand)
    value = _raw_source(machine, instruction, number, kind, moved)
    return source_modified(value, operand, machine.mode, flushes=operation.flushes)


def _raw_source(machine: Machine, instruction: Instruction, number: int, kind: Kind, moved: Permuted | None) -> Value:
    operand = instruction.sources[number]
    if moved is not None and number == 0:
        return moved.value(kind)
    sdwa = instruction.sdwa
    if sdwa is not None and number < len(sdwa.sources):
        register = read_operand(machine, instruction, operand, U32)
        part = selected(register, sdwa.sources[number], sext=sdwa.sext[number])
        return low_part(part, kind) if kind in SMALL else bitcast(part, kind)
    if instruction.op_sel >> number & 1 and kind in SMALL:
        if operand.file in (RegisterFile.CONSTANT, RegisterFile.LITERAL):
            raise UnsupportedError("the upper half of a constant", instruction=instruction)
        return low_part(read_operand(machine, instruction, operand, U32) >> 16, kind)
    if operand.file is RegisterFile.LITERAL:
        return literal_operand(machine, operand.index, kind)
    return read_operand(machine, instruction, operand, kind)


def saturated(operation: Arithmetic, instruction: Instruction, values: list[Value]) -> Value:
    """Return an integer result limited to the range of its kind, as the clamp bit asks.

    Raises:
        UnsupportedError: the operation is none of the sums whose exact value is known.
    """
    kind = operation.results[0]
    if operation.name not in _SATURATING and not operation.name.startswith("v_pk_"):
        raise UnsupportedError(f"the clamp bit on {operation.name}", instruction=instruction)
    exact = operation.function(*(convert(value, I64) for value in values))
    if isinstance(exact, tuple):
        raise UnsupportedError(f"the clamp bit on {operation.name}", instruction=instruction)
    lowest = -(1 << (kind.bits - 1)) if kind.is_signed else 0
    highest = (1 << (kind.bits - kind.is_signed)) - 1
    return convert(where(exact > highest, highest, where(exact < lowest, lowest, exact)), kind)


def _write(
    machine: Machine,
    instruction: Instruction,
    operation: Arithmetic,
    destination: Operand,
    value: Value,
    *,
    lanes: Value | None,
) -> None:
    if value.kind is BOOL:
        machine.write_mask(destination, value)
        return
    if value.kind.is_float:
        value = result_modified(value, instruction, machine.mode, flushes=operation.flushes)
    if value.kind.bits == 64:  # two registers
        machine.write(destination, bitcast(value, U64), lanes)
        return
    register = as_register(value)
    if instruction.sdwa is not None:
        register = merged(register, machine.read(destination, U32), instruction.sdwa)
    elif value.kind in SMALL:
        register = _placed(machine, instruction, operation, destination, register)
    machine.write(destination, register, lanes)


def _placed(
    machine: Machine, instruction: Instruction, operation: Arithmetic, destination: Operand, register: Value
) -> Value:
    """Return the register after writing a 16-bit result to one half of it."""
    upper = instruction.encoding is Encoding.VOP3 and bool(instruction.op_sel >> 3 & 1)
    if not upper and not operation.keeps_high:
        return register
    old = machine.read(replace(destination, count=1), U32)
    return register << 16 | old & 0xFFFF if upper else register | old & 0xFFFF0000
