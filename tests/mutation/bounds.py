"""How large registers can be and which of their bits can be set, wherever an instruction is reached, on all paths.

It starts from what every launch here keeps to: v0 is less than the size of the workgroup, waves are whole, so that the
first lane's v0 is a multiple of their size, sizes among the arguments are neither negative nor above ``LARGEST_SIZE``,
and addresses have 48 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rocmatrix.emulator.analysis.effects import FIRST_VGPR, effects_of, registers_of
from rocmatrix.emulator.descriptor import Descriptor, Mode
from rocmatrix.emulator.instruction import EXEC, Instruction, Operand, RegisterFile
from tests.mutation.facts import Known, State, number_of
from tests.mutation.symbols import LANES

LARGEST_SIZE = (1 << 31) - 128
"""What launchers accept (``kMaxExtent`` in kernels/gemm/gemm/gemm_launch.h)."""
_ALL = 0xFFFFFFFF
_UPPER_HALF_OF_ADDRESS = 0xFFFF
_SIGN = 1 << 31


@dataclass(frozen=True)
class Bound:
    """What a register's unsigned value is not above, and the bits that may be set in it."""

    largest: int
    bits: int


class _Constant(Bound):
    """A number: the largest value is the only one."""


_UNKNOWN = Bound(_ALL, _ALL)
_SIZE = Bound(LARGEST_SIZE, _SIGN - 1)
_INTACT = -1
"""Stands for the arguments' address among the registers while it is where it was when the wave began."""
Bounds = Mapping[int, Bound]
"""By the numbers of ``analysis.effects``; registers of which nothing is known are left out."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What waves of a kernel begin with.

    Attributes:
        mode: the MODE register.
        work_items: of a workgroup, along its only axis.
        pointer: the SGPR where the arguments' address begins, if any.
        preloaded: SGPR -> offset of the argument that it holds, for waves that begin at the second entry.
        sizes: offsets of the arguments that are sizes, in bytes.
    """

    mode: Mode
    work_items: int
    pointer: int | None = None
    preloaded: Mapping[int, int] = field(default_factory=dict)
    sizes: frozenset[int] = frozenset()


def arguments_of(descriptor: Descriptor, work_items: int, sizes: frozenset[int]) -> Arguments:
    """Return what waves of a kernel begin with."""
    before = descriptor.dispatch_pointer + descriptor.queue_pointer
    first, count = descriptor.user_sgprs - descriptor.preload_length, descriptor.preload_length
    offsets = (4 * (descriptor.preload_offset + number) for number in range(count))
    return Arguments(
        mode=descriptor.mode,
        work_items=work_items,
        pointer=2 * before if descriptor.kernarg_pointer else None,
        preloaded=dict(enumerate(offsets, start=first)),
        sizes=sizes,
    )


def find_bounds(
    instructions: Mapping[int, Instruction],
    entries: Sequence[int],
    following: Callable[[Instruction], tuple[int, ...]],
    facts: Mapping[int, State],
    arguments: Arguments,
) -> Mapping[int, Bounds]:
    """Return what is known before each instruction.

    Args:
        instructions: that can be reached, by address.
        entries: where waves may begin; at all but the first instruction arguments have been preloaded.
        following: returns where an instruction leads.
        facts: what is known otherwise, of which lanes are active.
        arguments: what launches keep to.
    """
    start = {FIRST_VGPR: _up_to(arguments.work_items - 1), _INTACT: _UNKNOWN}
    if arguments.pointer is not None:
        start[arguments.pointer + 1] = _up_to(_UPPER_HALF_OF_ADDRESS)
    sizes = {register: _SIZE for register, offset in arguments.preloaded.items() if offset in arguments.sizes}
    before: dict[int, dict[int, Bound]] = {entry: start | (sizes if entry else {}) for entry in entries}
    waiting = [entry for entry in entries if entry in instructions]
    while waiting:
        instruction = instructions[waiting.pop()]
        after = _after(before[instruction.address], instruction, arguments, facts.get(instruction.address, {}))
        for place in following(instruction):
            known = before.get(place)
            merged = after if known is None else _merged(known, after)
            if place in instructions and merged != known:
                before[place] = merged
                waiting.append(place)
    return {
        place: {register: bound for register, bound in state.items() if register != _INTACT}
        for place, state in before.items()
    }


def _loads_from(instruction: Instruction, pointer: int) -> bool:
    base = instruction.sources[0] if instruction.sources else None
    return (
        instruction.name.startswith("s_load_dword")
        and base is not None
        and (base.file, base.index) == (RegisterFile.SGPR, pointer)
        and instruction.sources[-1].file is RegisterFile.OFF
    )


def _merged(known: Bounds, other: Bounds) -> dict[int, Bound]:
    """Return what holds on two paths; what a loop counts up grows by bits, so that this comes to an end."""
    merged = {key: _either(known[key], other[key]) for key in known.keys() & other.keys()}
    return {key: bound if bound == known[key] else _only(bound.bits) for key, bound in merged.items()}


def _either(one: Bound, other: Bound) -> Bound:
    return Bound(max(one.largest, other.largest), one.bits | other.bits)


def _after(state: dict[int, Bound], instruction: Instruction, arguments: Arguments, facts: State) -> dict[int, Bound]:
    whole = facts.get(EXEC) is Known.ALL_LANES
    writes = effects_of(instruction).writes
    after = {key: bound for key, bound in state.items() if key not in writes}
    pointer = arguments.pointer
    if pointer is None or {pointer, pointer + 1} & writes:
        after.pop(_INTACT, None)
    if _INTACT in state and pointer is not None and _loads_from(instruction, pointer):
        assert instruction.memory is not None
        offset, (destination,) = instruction.memory.offset, instruction.destinations
        loaded = sorted(registers_of(destination))
        return after | {
            register: _SIZE for number, register in enumerate(loaded) if offset + 4 * number in arguments.sizes
        }
    bound = _result(state, instruction)
    if bound is None or bound == _UNKNOWN:
        return after
    (register,) = registers_of(instruction.destinations[0])
    if instruction.name == "v_readfirstlane_b32" and whole and _is_work_item(instruction.sources[0], facts):
        bound = _and([bound, _only(_ALL ^ (LANES - 1))])
    if register >= FIRST_VGPR and not whole:  # other lanes keep what they have
        bound = _either(bound, state.get(register, _UNKNOWN))
    return after | ({} if bound == _UNKNOWN else {register: bound})


def _is_work_item(operand: Operand, facts: State) -> bool:
    return [facts.get(register) for register in registers_of(operand)] == [Known.WORK_ITEM]


def _result(state: Bounds, instruction: Instruction) -> Bound | None:
    """Return what an instruction gives to its first destination, one register; ``None`` where that is not followed."""
    name = instruction.name.removeprefix("s_").removeprefix("v_")
    rule = _RULES.get(name)
    modified = instruction.sdwa or instruction.dpp or instruction.clamp or instruction.omod or instruction.op_sel
    if rule is None or modified or instruction.destinations[0].count != 1:
        return None
    if instruction.destinations[0].file not in (RegisterFile.SGPR, RegisterFile.VGPR):
        return None
    operands = [_of(state, operand) for operand in instruction.sources]
    if name in _REVERSED:
        operands[:2] = operands[1::-1]
    return rule(operands)


def _of(state: Bounds, operand: Operand) -> Bound:
    number = number_of(operand)
    if number is not None:
        return _Constant(number & _ALL, number & _ALL)
    if operand.file not in (RegisterFile.SGPR, RegisterFile.VGPR) or operand.count != 1:
        return _UNKNOWN
    (register,) = registers_of(operand)
    return state.get(register, _UNKNOWN)


# -- rules: from the bounds of the operands to that of the result ------------------------------------------------------


def _up_to(number: int) -> Bound:
    """Return the bound of all numbers up to one; of such as no register holds nothing is known."""
    return Bound(number, (1 << number.bit_length()) - 1) if number <= _ALL else _UNKNOWN


def _only(bits: int, largest: int = _ALL) -> Bound:
    return Bound(min(bits, largest), bits)


def _and(operands: Sequence[Bound]) -> Bound:
    one, other = operands[:2]
    return _only(one.bits & other.bits, min(one.largest, other.largest))


def _or(operands: Sequence[Bound]) -> Bound:
    bits = 0
    for operand in operands:
        bits |= operand.bits
    return _only(bits)


def _added(operands: Sequence[Bound]) -> Bound:
    total = sum(operand.largest for operand in operands)
    if total > _ALL:
        return _UNKNOWN
    low = _or(operands).bits
    return _only(_up_to(total).bits & -(low & -low), total) if low else Bound(0, 0)


def _multiplied(operands: Sequence[Bound]) -> Bound:
    return _up_to(operands[0].largest * operands[1].largest)


def _shifted_left(operands: Sequence[Bound]) -> Bound:
    value, shift = operands[0], _count(operands[1])
    if shift is None:
        return _UNKNOWN
    bits, whole = value.bits << shift & _ALL, value.largest << shift
    return _only(bits, whole) if whole <= _ALL else _only(bits)


def _shifted_right(operands: Sequence[Bound]) -> Bound:
    value, shift = operands[0], _count(operands[1])
    return (
        Bound(value.largest, _up_to(value.largest).bits)
        if shift is None
        else _only(value.bits >> shift, value.largest >> shift)
    )


def _shifted_with_sign(operands: Sequence[Bound]) -> Bound:
    return _UNKNOWN if operands[0].bits & _SIGN else _shifted_right(operands)


def _count(bound: Bound) -> int | None:
    """Return by how many bits is shifted, if that is a constant."""
    return bound.largest & 31 if isinstance(bound, _Constant) else None


def _part(operands: Sequence[Bound]) -> Bound:
    """Return some bits of a value: the first and the width follow as operands, or in one constant."""
    value, first, *rest = operands
    if not all(isinstance(each, _Constant) for each in operands[1:]):
        return _UNKNOWN
    width = rest[0].largest & 31 if rest else first.largest >> 16 & 0x7F
    return _only(value.bits >> (first.largest & 31) & ((1 << width) - 1))


def _without_sign(operands: Sequence[Bound]) -> Bound:
    """Return the absolute value."""
    return _UNKNOWN if operands[0].bits & _SIGN else _first(operands)


def _first(operands: Sequence[Bound]) -> Bound:
    return Bound(operands[0].largest, operands[0].bits)


_REVERSED = ("lshlrev_b32", "lshrrev_b32", "ashrrev_i32")
"""The count comes first."""
_RULES: Mapping[str, Callable[[Sequence[Bound]], Bound]] = {
    **dict.fromkeys(("mov_b32", "movk_i32", "readfirstlane_b32"), _first),
    "and_b32": _and,
    **dict.fromkeys(("or_b32", "xor_b32", "or3_b32"), _or),
    **dict.fromkeys(("add_u32", "add_i32", "addk_i32", "add3_u32"), _added),
    **dict.fromkeys(("mul_i32", "mul_lo_u32"), _multiplied),
    **dict.fromkeys(("lshl_b32", "lshlrev_b32"), _shifted_left),
    **dict.fromkeys(("lshr_b32", "lshrrev_b32"), _shifted_right),
    **dict.fromkeys(("ashr_i32", "ashrrev_i32"), _shifted_with_sign),
    "bfe_u32": _part,
    "abs_i32": _without_sign,
    "and_or_b32": lambda operands: _or([_and(operands[:2]), operands[2]]),
    "lshl_or_b32": lambda operands: _or([_shifted_left(operands[:2]), operands[2]]),
    "lshl_add_u32": lambda operands: _added([_shifted_left(operands[:2]), operands[2]]),
    **dict.fromkeys(("cndmask_b32", "cselect_b32"), lambda operands: _either(*operands[:2])),
}
"""By the instruction's name without its unit."""
