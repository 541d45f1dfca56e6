"""What is known of registers wherever an instruction is reached, on all paths: dataflow over a listing.

Waves are taken to be whole, as all launches of ``tests.mutation`` make them: "all lanes" are those a wave starts with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_VGPR, Unit, effects_of, registers_of
from rocmatrix.emulator.instruction import EXEC, Instruction, Operand, RegisterFile
from rocmatrix.emulator.semantics.operands import float_constant_bits, integer_constant
from tests.mutation.fact_kinds import Compared, Fact, Known, Lanes, Made, Result, State, made_key

_MASK, _MAGNITUDE, _INFINITY, _QUIET_BIT = 0xFFFFFFFF, 0x7FFFFFFF, 0x7F800000, 1 << 22
_ARITHMETIC = ("v_add_f32", "v_sub_f32", "v_subrev_f32", "v_mul_f32", "v_fma_f32", "v_fmac_f32", "v_pk_add_f32",
               "v_pk_mul_f32", "v_pk_fma_f32", "v_mad_f32", "v_mac_f32", "v_fmaak_f32", "v_fmamk_f32")  # fmt: skip
"""Operations whose float32 result is never a signalling NaN."""
COMPARISONS = tuple(
    f"v_cmp_{condition}_{kind}32" for condition in ("lt", "le", "gt", "ge", "eq", "ne") for kind in ("i", "u")
)
"""Integer comparisons whose masks are followed."""
_NARROWS = ("s_and_saveexec_b64", "s_andn2_saveexec_b64", "s_or_saveexec_b64")
_INTEGERS = ("and_b32", "or_b32", "xor_b32", "or3_b32", "and_or_b32", "lshl_or_b32", "add_u32", "add_i32", "add3_u32",
             "lshl_add_u32", "sub_u32", "sub_i32", "subrev_u32", "lshl_b32", "lshlrev_b32", "lshr_b32", "lshrrev_b32",
             "ashr_i32", "ashrrev_i32")  # fmt: skip
"""Integer arithmetic, without its unit, that reads nothing but its operands."""
_PLAIN_SGPRS = 102
"""SGPRs below VCC."""
_GOES_ON = ("s_or_b64", "s_xor_b64", "s_and_b64", "s_andn2_b64", "s_mov_b64")


def find_facts(
    instructions: Mapping[int, Instruction],
    entries: tuple[int, ...],
    following: Callable[[Instruction], tuple[int, ...]],
) -> Mapping[int, State]:
    """Return what is known before each instruction."""
    start: State = {**dict.fromkeys(EXEC_PAIR, Known.ALL_LANES), FIRST_VGPR: Known.WORK_ITEM}
    before: dict[int, State] = {entry: start for entry in entries if entry in instructions}
    waiting = [*before]
    while waiting:
        instruction = instructions[waiting.pop()]
        state = _advance(before[instruction.address], instruction)
        for place in following(instruction):
            known = before.get(place)
            merged = state if known is None else _merged(known, state, place)
            if place in instructions and merged != known:
                before[place] = merged
                waiting.append(place)
    return before


def _merged(one: State, other: State, place: int) -> State:
    """Return what two paths to a place agree on; of two parts of the same lanes that they are some part of them."""
    merged = {key: fact for key, fact in one.items() if other.get(key) == fact}
    both = one.keys() & other.keys() - merged.keys()
    quiet = (key for key in both if key >= FIRST_VGPR and _is_quiet(one[key]) and _is_quiet(other[key]))
    merged |= dict.fromkeys(quiet, Known.QUIET)
    ours, theirs = one.get(EXEC), other.get(EXEC)
    if ours != theirs and ours is not None and theirs is not None:
        around = [fact for fact in _chain(ours) if fact in _chain(theirs)]
        merged = {key: fact for key, fact in merged.items() if not _is_of(fact, -place)}
        if around:
            merged |= dict.fromkeys(EXEC_PAIR, Lanes(others=False, place=-place, within=around[0]))
    return merged


def _chain(fact: Fact) -> list[Fact]:
    """Return sets of lanes that a set is part of, itself first."""
    return [fact, *_chain(fact.within)] if isinstance(fact, Lanes) else [fact]


def _is_quiet(fact: Fact) -> bool:
    """Say whether a fact makes a register a number or a quiet NaN of float32."""
    if not isinstance(fact, int):
        return fact is Known.QUIET
    return fact & _MAGNITUDE <= _INFINITY or fact & _QUIET_BIT != 0


def narrows_only(instructions: Mapping[int, Instruction]) -> bool:
    """Say whether no instruction activates a lane that the wave did not begin with, as far as names tell."""
    for instruction in instructions.values():
        if "saveexec" in instruction.name and instruction.name not in _NARROWS:
            return False
        writes_exec = any(registers_of(operand) & EXEC_PAIR for operand in instruction.destinations)
        constant = any(operand.file in (RegisterFile.CONSTANT, RegisterFile.LITERAL) for operand in instruction.sources)
        if writes_exec and (instruction.name not in _GOES_ON or constant):
            return False
    return True


def _advance(state: State, instruction: Instruction) -> State:
    writes = effects_of(instruction).writes
    whole = state.get(EXEC) is Known.ALL_LANES
    if writes:
        state = {key: fact for key, fact in state.items() if not _is_of(fact, instruction.address)}
    made = _results(state, instruction)
    if whole and not made:
        made = _vector_results(state, instruction)
    after = {key: fact for key, fact in state.items() if key not in writes}
    keeps = (register for register in made if register < FIRST_VGPR or whole or state.get(register) == made[register])
    return after | {register: made[register] for register in keeps} | _operands(state, instruction, made)


def _operands(state: State, instruction: Instruction, made: State) -> dict[int, Fact]:
    """Say what a result is made of, if all operands of integer arithmetic are known."""
    name = instruction.name.removeprefix("s_").removeprefix("v_")
    if Result(instruction.address) not in made.values() or len(made) != 1 or name not in _INTEGERS:
        return {}
    if instruction.sdwa or instruction.dpp or instruction.clamp or instruction.op_sel:
        return {}
    found = list[int | Result]()
    for operand in instruction.sources:
        number = number_of(operand)
        facts = [number] if number is not None else [state.get(register) for register in registers_of(operand)]
        if len(facts) != 1 or not isinstance(facts[0], (int, Result)):
            return {}
        found.append(facts[0])
    return {made_key(instruction.address): Made(place=instruction.address, operands=tuple(found))}


def _is_of(fact: Fact, place: int) -> bool:
    """Say whether a fact speaks of the lanes that an instruction chose, or its result, when it was executed last."""
    if isinstance(fact, Compared):
        return fact.result.place == place
    if isinstance(fact, Made):
        return fact.place == place or any(_is_of(each, place) for each in fact.operands)
    if isinstance(fact, Result):
        return fact.place == place
    return isinstance(fact, Lanes) and (fact.place == place or _is_of(fact.within, place))


def _results(state: State, instruction: Instruction) -> dict[int, Fact]:
    name = instruction.name
    if name in (*_NARROWS, "s_or_b64", "s_xor_b64"):
        return _masks(state, instruction)
    if name == "s_mov_b64":
        return _moved_pair(state, instruction)
    if name in ("s_mov_b32", "v_mov_b32", "s_movk_i32") and not (instruction.sdwa or instruction.dpp):
        return _moved(state, instruction)
    if name in _ARITHMETIC and not (instruction.sdwa or instruction.dpp or instruction.clamp or instruction.omod):
        return dict.fromkeys(registers_of(instruction.destinations[0]), Known.QUIET)
    return _scalar_results(instruction)


def _scalar_results(instruction: Instruction) -> dict[int, Fact]:
    """Name what a scalar instruction gives to SGPRs."""
    if len(instruction.destinations) != 1 or effects_of(instruction).unit not in (Unit.SALU, Unit.SMEM):
        return {}
    registers = sorted(registers_of(instruction.destinations[0]))
    if not registers or registers[-1] >= _PLAIN_SGPRS:
        return {}
    return {register: Result(instruction.address, part) for part, register in enumerate(registers)}


def _vector_results(state: State, instruction: Instruction) -> dict[int, Fact]:
    """Name what an instruction gives to one VGPR in all lanes, and how such a result compares to a constant."""
    if len(instruction.destinations) != 1 or effects_of(instruction).unit is not Unit.VALU:
        return {}
    (destination,) = instruction.destinations
    if destination.file is RegisterFile.VGPR and destination.count == 1 and "lane" not in instruction.name:
        return {register: Result(instruction.address) for register in registers_of(destination)}
    if instruction.name not in COMPARISONS or instruction.sdwa or destination.file is not RegisterFile.SGPR:
        return {}
    constant = number_of(instruction.sources[0])
    (result,) = {state.get(register) for register in registers_of(instruction.sources[1])} or {None}
    if constant is None or not isinstance(result, Result):
        return {}
    fact = Compared(name=instruction.name, constant=constant & _MASK, result=result)
    return dict.fromkeys(registers_of(destination), fact)


def _masks(state: State, instruction: Instruction) -> dict[int, Fact]:
    """Follow the active lanes through the forms that compilers give to ``if`` and ``else``."""
    name, destination = instruction.name, instruction.destinations[0]
    active = state.get(EXEC)
    saved = [state.get(each.index) for each in instruction.sources if each.file is RegisterFile.SGPR]
    if name == "s_xor_b64":
        pairs = ((saved[0], saved[-1]), (saved[-1], saved[0])) if len(saved) > 1 else ()
        parts = [part for part, whole in pairs if isinstance(part, Lanes) and part.within == whole]
        return _pair(destination, _rest(parts[0])) if parts else {}
    if name == "s_and_saveexec_b64" and active is not None:
        chosen = Lanes(others=False, place=instruction.address, within=active)
        return _pair(destination, active) | dict.fromkeys(EXEC_PAIR, chosen)
    if not isinstance(active, Lanes):
        return {}
    if name == "s_andn2_saveexec_b64":
        rest = _rest(active)
        return _pair(destination, active) | (dict.fromkeys(EXEC_PAIR, rest) if rest in saved else {})
    if name == "s_or_saveexec_b64" or registers_of(destination) == EXEC_PAIR:
        around = (
            [active.within] if _rest(active) in saved else [fact for fact in _chain(active.within) if fact in saved]
        )
        joined = dict.fromkeys(EXEC_PAIR, around[0]) if around else {}
        return joined if name == "s_or_b64" else _pair(destination, active) | joined
    return {}


def _rest(part: Lanes) -> Lanes:
    """Return the lanes around a part that are not of it."""
    return Lanes(others=not part.others, place=part.place, within=part.within)


def _moved_pair(state: State, instruction: Instruction) -> dict[int, Fact]:
    source, first = instruction.sources[0], instruction.destinations[0].index
    number = number_of(source)
    if number is None:
        return _pair(instruction.destinations[0], state.get(source.index))
    if source.file is RegisterFile.LITERAL:  # its upper half is a matter of the instruction
        return {first: number}
    return {first: number & _MASK, first + 1: _MASK if number < 0 else 0} if integer_constant(source.index) else {}


def _pair(operand: Operand, fact: Fact | None) -> dict[int, Fact]:
    is_mask = fact is Known.ALL_LANES or isinstance(fact, Lanes)
    return dict.fromkeys(registers_of(operand), fact) if fact is not None and is_mask else {}


def _moved(state: State, instruction: Instruction) -> dict[int, Fact]:
    (register,) = registers_of(instruction.destinations[0])
    if instruction.name == "s_movk_i32":
        value = instruction.immediate
        return {register: (value - 0x10000 if value & 0x8000 else value) & _MASK}
    source = instruction.sources[0]
    number = number_of(source)
    if number is not None:
        return {register: number & _MASK}
    moved = [state.get(each) for each in registers_of(source)]
    return {register: moved[0]} if moved and moved[0] is not None and source.file is not RegisterFile.AGPR else {}


def number_of(operand: Operand) -> int | None:
    """Return the constant that an operand is, if it is one of 32 bits: a float's bits, negative integers as such."""
    if operand.file is RegisterFile.LITERAL:
        return operand.index
    if operand.file is not RegisterFile.CONSTANT:
        return None
    integer = integer_constant(operand.index)
    return integer if integer is not None else float_constant_bits(operand.index, 32)
