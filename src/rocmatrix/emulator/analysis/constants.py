"""Values of scalar registers that are the same whenever control comes by: what tells where jumps go.

Addresses are those of the image. Compilers make them with ``s_getpc_b64`` and additions, or load them from a table that
the loader relocates; between there and a jump they may be kept in lanes of a VGPR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rocmatrix.emulator.analysis.code import Step
from rocmatrix.emulator.instruction import SCC, Instruction, Operand, RegisterFile

Values = dict[int, int]
"""Register -> its 32 bits; lanes of a VGPR count as registers too, see ``_lane``."""

_FIRST_LANE, _LANES = 1024, 64
_INTEGERS, _NEGATIVES, _LAST_INTEGER = 128, 192, 208
_KEPT_BY_CALLS = range(32, 106)
"""SGPRs that a function leaves as they were (AMDGPUUsage, "Non-Kernel Functions"); so are the lanes of VGPRs in which
its callers keep SGPRs, for these are kept across calls by whoever saves registers there."""
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, kw_only=True)
class Table:
    """Words of the image that are addresses after loading: place -> address in the image."""

    words: Mapping[int, int]


def _lane(register: Operand, lane: int) -> int:
    return _FIRST_LANE + _LANES * register.index + lane % _LANES


def value_of(values: Values, operand: Operand, half: int = 0) -> int | None:
    """Return 32 bits of an operand if they are known."""
    if operand.file is RegisterFile.SGPR:
        return values.get(operand.index + half)
    if operand.file is RegisterFile.LITERAL:
        return operand.index if half == 0 else -(operand.index >> 31) & _MASK
    if operand.file is RegisterFile.CONSTANT and _INTEGERS <= operand.index <= _LAST_INTEGER:
        number = operand.index - _INTEGERS if operand.index <= _NEGATIVES else _NEGATIVES - operand.index
        return (number if half == 0 else number >> 31) & _MASK
    return None


def address_of(values: Values, pair: Operand) -> int | None:
    """Return the address in a pair of SGPRs if it is known."""
    low, high = value_of(values, pair), value_of(values, pair, 1)
    return None if low is None or high is None else low | high << 32


def after_call(values: Values) -> Values:
    """Return what is known behind a call."""
    return {place: value for place, value in values.items() if place in _KEPT_BY_CALLS or place >= _FIRST_LANE}


def join(known: Iterable[Values]) -> Values:
    """Return what all of several paths agree on."""
    first, *rest = known
    return {place: value for place, value in first.items() if all(other.get(place) == value for other in rest)}


def advance(values: Values, step: Step, table: Table) -> None:
    """Let an instruction change what is known."""
    instruction = step.instruction
    results = _RULES.get(instruction.name, _unknown)(values, instruction, table)
    for register in step.effects.writes:
        values.pop(register, None)
    for operand in instruction.destinations:
        if operand.file is RegisterFile.VGPR and instruction.name != "v_writelane_b32":
            for register in range(operand.index, operand.index + operand.count):
                for lane in range(_LANES):
                    values.pop(_FIRST_LANE + _LANES * register + lane, None)
    values.update({place: value for place, value in results.items() if value is not None})


Results = dict[int, int | None]


def _unknown(_values: Values, _instruction: Instruction, _table: Table) -> Results:
    return {}


def _getpc(_values: Values, instruction: Instruction, _table: Table) -> Results:
    first = instruction.destinations[0].index
    return {first: instruction.next_address & _MASK, first + 1: instruction.next_address >> 32}


def _move(values: Values, instruction: Instruction, _table: Table) -> Results:
    first, source = instruction.destinations[0], instruction.sources[0]
    return {first.index + half: value_of(values, source, half) for half in range(first.count)}


def _add(values: Values, instruction: Instruction, _table: Table) -> Results:
    a, b = (value_of(values, source) for source in instruction.sources)
    carry = values.get(SCC) if instruction.name == "s_addc_u32" else 0
    if a is None or b is None or carry is None:
        return {}
    total = a + b + carry
    return {instruction.destinations[0].index: total & _MASK, SCC: total >> 32}


def _writelane(values: Values, instruction: Instruction, _table: Table) -> Results:
    value, lane = (value_of(values, source) for source in instruction.sources[:2])
    register = instruction.destinations[0]
    if lane is None:
        for other in range(_LANES):
            values.pop(_lane(register, other), None)
        return {}
    values.pop(_lane(register, lane), None)
    return {_lane(register, lane): value}


def _readlane(values: Values, instruction: Instruction, _table: Table) -> Results:
    lane = value_of(values, instruction.sources[1])
    if lane is None:
        return {}
    return {instruction.destinations[0].index: values.get(_lane(instruction.sources[0], lane))}


def _load(values: Values, instruction: Instruction, table: Table) -> Results:
    base, offset = address_of(values, instruction.sources[0]), instruction.sources[1]
    if base is None or offset.file is not RegisterFile.OFF or instruction.memory is None:
        return {}
    found = table.words.get(base + instruction.memory.offset)
    first = instruction.destinations[0].index
    return {} if found is None else {first: found & _MASK, first + 1: found >> 32}


_RULES: dict[str, Callable[[Values, Instruction, Table], Results]] = {
    "s_getpc_b64": _getpc,
    "s_mov_b32": _move,
    "s_mov_b64": _move,
    "s_movk_i32": _move,
    "s_add_u32": _add,
    "s_addc_u32": _add,
    "s_add_i32": _unknown,
    "v_writelane_b32": _writelane,
    "v_readlane_b32": _readlane,
    "s_load_dwordx2": _load,
}
