"""Operands to values and back: constants, parts of registers, modifiers of floats."""

from __future__ import annotations

import struct

from rocmatrix.emulator.algebra import (
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Kind,
    Value,
    bitcast,
    convert,
    where,
)
from rocmatrix.emulator.descriptor import Denormals, Mode
from rocmatrix.emulator.instruction import (
    EXECZ,
    PRIVATE_LIMIT,
    SCC,
    SHARED_BASE,
    VCCZ,
    Instruction,
    Operand,
    RegisterFile,
    Sdwa,
    Select,
    Unused,
)
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.floats import flush
from rocmatrix.emulator.semantics.machine import Machine

_FIRST_INTEGER, _LAST_POSITIVE, _LAST_NEGATIVE = 128, 192, 208
_FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
_INVERSE_TWO_PI = 248
_INVERSE_TWO_PI_BITS = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
_UNSIGNED = {8: U8, 16: U16, 32: U32, 64: U64}
_PACK = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}


def integer_constant(index: int) -> int | None:
    """Return the integer that a source number from 128 to 208 stands for, or ``None``."""
    if _FIRST_INTEGER <= index <= _LAST_POSITIVE:
        return index - _FIRST_INTEGER
    if _LAST_POSITIVE < index <= _LAST_NEGATIVE:
        return _LAST_POSITIVE - index
    return None


def float_constant_bits(index: int, bits: int) -> int | None:
    """Return the bits of an inline float constant in the given width, or ``None``."""
    if index == _INVERSE_TWO_PI:
        return _INVERSE_TWO_PI_BITS[bits]
    if index not in _FLOATS:
        return None
    number, unsigned = _PACK[bits]
    return int(struct.unpack(unsigned, struct.pack(number, _FLOATS[index]))[0])


def read_operand(machine: Machine, instruction: Instruction, operand: Operand, kind: Kind) -> Value:
    """Return an operand as a value of a kind, without modifiers.

    16-bit and 8-bit kinds are the low bits of a register. A literal is the low 32 bits of an unsigned 64-bit operand,
    sign-extended for a signed one, and the upper half of a float64 (ISA document, "Literal constants").
    """
    if operand.file is RegisterFile.CONSTANT:
        return constant_operand(machine, instruction, operand.index, kind)
    if operand.file is RegisterFile.LITERAL:
        return literal_operand(machine, operand.index, kind)
    if kind.bits >= 32:  # the width of a register
        return machine.read(operand, kind)
    return low_part(machine.read(operand, U32), kind)


def low_part(register: Value, kind: Kind) -> Value:
    """Return the low bits of a register as a kind of at most 32 bits."""
    return bitcast(convert(register, _UNSIGNED[kind.bits]), kind)


def constant_operand(machine: Machine, instruction: Instruction, index: int, kind: Kind) -> Value:
    """Return an inline constant or a read-only register."""
    unsigned = _UNSIGNED[kind.bits]
    integer = integer_constant(index)
    if integer is not None:
        return bitcast(machine.constant(unsigned, integer), kind)
    bits = float_constant_bits(index, max(kind.bits, 16)) if kind is not U8 else None
    if bits is not None:
        # 16-bit integer operations take the float16; LLVM emits none, and hardware generations differ
        if kind.bits == 16 and not kind.is_float:  # half a register
            raise UnsupportedError("a float constant for a 16-bit integer operand", instruction=instruction)
        return bitcast(machine.constant(unsigned, bits), kind)
    if SHARED_BASE <= index <= PRIVATE_LIMIT or index in (VCCZ, EXECZ, SCC):
        return bitcast(machine.special(index, unsigned), kind)
    raise UnsupportedError(f"source operand number {index}", instruction=instruction)


def literal_operand(machine: Machine, literal: int, kind: Kind) -> Value:
    """Return a literal as a value of a kind."""
    if kind is F64:
        return bitcast(machine.constant(U64, literal << 32), F64)
    if kind is I64 and literal >> 31:
        literal -= 1 << 32
    return bitcast(machine.constant(_UNSIGNED[kind.bits], literal), kind)


def denormals(kind: Kind, mode: Mode) -> Denormals:
    """Return what MODE says of a float kind's denormals."""
    return mode.denormals_32 if kind is F32 else mode.denormals_16_64


def source_modified(value: Value, operand: Operand, mode: Mode, *, flushes: bool) -> Value:
    """Return a float source with absolute value, negation and flushing applied; other kinds as they are."""
    if not value.kind.is_float:
        return value
    if operand.absolute:
        value = abs(value)
    if operand.negate:
        value = -value
    if flushes and denormals(value.kind, mode) in (Denormals.FLUSH_SOURCES, Denormals.FLUSH_SOURCES_AND_RESULTS):
        value = flush(value)
    return value


def flushes_results(kind: Kind, mode: Mode) -> bool:
    """Say whether MODE turns denormal results of a float kind into zero."""
    return denormals(kind, mode) in (Denormals.FLUSH_RESULTS, Denormals.FLUSH_SOURCES_AND_RESULTS)


def result_modified(value: Value, instruction: Instruction, mode: Mode, *, flushes: bool) -> Value:
    """Return a float result with output modifier, flushing and clamping applied.

    Raises:
        UnsupportedError: an output modifier where denormal results are kept: what the hardware does is not documented.
    """
    flushing = flushes_results(value.kind, mode)
    if instruction.omod:
        if not flushing:
            raise UnsupportedError("an output modifier where MODE keeps denormals", instruction=instruction)
        value = value * {1: 2.0, 2: 4.0, 3: 0.5}[instruction.omod]
    if flushes and flushing:
        value = flush(value)
    if instruction.clamp:
        inside = where(value > 1.0, 1.0, where(value > 0.0, value, 0.0))
        value = inside if mode.dx10_clamp else where(value != value, value, inside)  # noqa: PLR0124 - NaN
    return value


def selected(register: Value, select: Select, *, sext: bool) -> Value:
    """Return the part of a register that SDWA selects, extended to 32 bits."""
    if select is Select.DWORD:
        return register
    bits, number = (8, select) if select <= Select.BYTE_3 else (16, select - Select.WORD_0)
    moved = register << (32 - bits - bits * number)
    return bitcast(bitcast(moved, I32) >> (32 - bits), U32) if sext else moved >> (32 - bits)


def merged(value: Value, old: Value, sdwa: Sdwa) -> Value:
    """Return the destination register after an SDWA write of ``value`` (U32) over ``old``."""
    select = sdwa.destination
    if select is Select.DWORD:
        return value
    bits, number = (8, select) if select <= Select.BYTE_3 else (16, select - Select.WORD_0)
    shift = bits * number
    mask = ((1 << bits) - 1) << shift
    placed = value << shift & mask
    if sdwa.unused is Unused.PRESERVE:
        return placed | old & ~mask & 0xFFFFFFFF
    if sdwa.unused is Unused.SEXT:
        above = 32 - bits - shift
        return bitcast(bitcast(value << (32 - bits), I32) >> above, U32) & (0xFFFFFFFF << shift & 0xFFFFFFFF)
    return placed


def as_register(value: Value) -> Value:
    """Return a value of at most 32 bits as a register: U32, upper bits zero."""
    unsigned = bitcast(value, _UNSIGNED[value.kind.bits])
    return convert(unsigned, U32)


SMALL = (F16, U16, I16, U8, I8)
"""Kinds that fill part of a register."""
