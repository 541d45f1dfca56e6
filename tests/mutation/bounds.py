"""How large registers can be and which of their bits can be set, wherever an instruction is reached, on all paths.

It starts from what every launch here keeps to: v0 is less than the size of the workgroup, waves are whole, so that the
first lane's v0 is a multiple of their size, sizes among the arguments are neither negative nor above ``LARGEST_SIZE``,
addresses have 48 bits, and a grid has less than 2^32 work items along an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rocmatrix.emulator.analysis.effects import FIRST_VGPR, effects_of, registers_of
from rocmatrix.emulator.descriptor import Descriptor, Mode
from rocmatrix.emulator.instruction import EXEC, Instruction, Operand, RegisterFile
from tests.mutation.bound_rules import ALL, REVERSED, RULES, SIGN, UNKNOWN, Bound, Constant, both, either, only, up_to
from tests.mutation.fact_kinds import Known, State
from tests.mutation.facts import number_of
from tests.mutation.symbols import LANES

LARGEST_SIZE = (1 << 31) - 128
"""What launchers accept (``kMaxExtent`` in kernels/gemm/gemm/gemm_launch.h)."""
_UPPER_HALF_OF_ADDRESS = 0xFFFF
_LARGEST_GRID = (1 << 32) - 1
"""Work items along one axis: ``grid_size_x`` of the dispatch packet has 32 bits (HSA Platform System Architecture)."""
_SIZE = Bound(LARGEST_SIZE, SIGN - 1)
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
        workgroup: the SGPR that holds the workgroup's number along x, if any.
    """

    mode: Mode
    work_items: int
    pointer: int | None = None
    preloaded: Mapping[int, int] = field(default_factory=dict)
    sizes: frozenset[int] = frozenset()
    workgroup: int | None = None


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
        workgroup=descriptor.user_sgprs if descriptor.workgroup_ids[0] else None,
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
    start = {FIRST_VGPR: up_to(arguments.work_items - 1), _INTACT: UNKNOWN}
    if arguments.pointer is not None:
        start[arguments.pointer + 1] = up_to(_UPPER_HALF_OF_ADDRESS)
    if arguments.workgroup is not None:
        start[arguments.workgroup] = up_to(_LARGEST_GRID // arguments.work_items - 1)
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
    merged = {key: either(known[key], other[key]) for key in known.keys() & other.keys()}
    return {key: bound if bound == known[key] else only(bound.bits) for key, bound in merged.items()}


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
    if bound is None or bound == UNKNOWN:
        return after
    (register,) = registers_of(instruction.destinations[0])
    if instruction.name == "v_readfirstlane_b32" and whole and _is_work_item(instruction.sources[0], facts):
        bound = both([bound, only(ALL ^ (LANES - 1))])
    if register >= FIRST_VGPR and not whole:  # other lanes keep what they have
        bound = either(bound, state.get(register, UNKNOWN))
    return after | ({} if bound == UNKNOWN else {register: bound})


def _is_work_item(operand: Operand, facts: State) -> bool:
    return [facts.get(register) for register in registers_of(operand)] == [Known.WORK_ITEM]


def _result(state: Bounds, instruction: Instruction) -> Bound | None:
    """Return what an instruction gives to its first destination, one register; ``None`` where that is not followed."""
    name = instruction.name.removeprefix("s_").removeprefix("v_")
    rule = RULES.get(name)
    modified = instruction.sdwa or instruction.dpp or instruction.clamp or instruction.omod or instruction.op_sel
    modified = modified or any(each.negate or each.absolute for each in instruction.sources)
    if rule is None or modified or instruction.destinations[0].count != 1:
        return None
    if instruction.destinations[0].file not in (RegisterFile.SGPR, RegisterFile.VGPR):
        return None
    operands = [_of(state, operand) for operand in instruction.sources]
    if name in REVERSED:
        operands[:2] = operands[1::-1]
    return rule(operands)


def _of(state: Bounds, operand: Operand) -> Bound:
    number = number_of(operand)
    if number is not None:
        return Constant(number & ALL, number & ALL)
    if operand.file not in (RegisterFile.SGPR, RegisterFile.VGPR) or operand.count != 1:
        return UNKNOWN
    (register,) = registers_of(operand)
    return state.get(register, UNKNOWN)
