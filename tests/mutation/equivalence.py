"""Why a mutant that nothing noticed is the same program: a closed list of reasons, each proved of the code.

Nothing here depends on what was executed. A proof that needs more than is known (a jump to a register, a call) fails,
and the mutant counts as a survivor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from enum import StrEnum

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_VGPR, Effects, Unit, effects_of, registers_of
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import EXEC, Encoding, Instruction, Unused
from tests.mutation.bounds import Arguments, Bounds, find_bounds
from tests.mutation.fact_kinds import Known
from tests.mutation.facts import find_facts, narrows_only
from tests.mutation.fall_through import goes_over_nothing
from tests.mutation.idle import EFFECTS, QUIET, SCHEDULING, IdleCode
from tests.mutation.operators import Listing, Mutant, Operator


class Reason(StrEnum):
    """Why two programs are the same."""

    UNREACHABLE = "no path of the code leads there"
    SCHEDULING = "priority and sleep change the order of waves only"
    DEAD = "what it writes, then and now, is overwritten before anything reads it"
    SKIP = "the branch skips code that does nothing where no lane is active"
    IDLE = "no lane is ever active at the branch, and both ways do the same then"
    FALLS_THROUGH = "the branch goes over nothing but wait states"
    SAME_VALUE = "both registers were given the same value"
    WAIT_STATES = "no hazard of LLVM's table asks for as many wait states"
    UNSEEN = "with its result undefined, nothing stored, addressed or decided depends on it, at every edge of a tile"
    UNUSED = "more lanes load, and nothing depends on what that gives them, at every edge of a tile"
    BESIDE_ZEROS = "only zeros are multiplied with it, and nothing else depends on it, at every edge of a tile"
    SAME_NUMBERS = "the same, but for which NaN comes out where both give one"
    SAME_EFFECT = "executed side by side over unknown values, nothing differs that anything reads again"


_SECOND_ENTRY = 256
"""Where a kernel whose arguments were preloaded begins (LLVM, AMDGPUUsage, "Preloaded Kernel Arguments")."""
_WRITES_MEMORY = ("store", "atomic", "ds_write", "ds_add", "ds_sub", "ds_max", "ds_min", "ds_and", "ds_or", "ds_xor",
                  "ds_cmpst", "ds_wrxchg", "ds_inc", "ds_dec", "ds_append", "ds_consume", "ds_gws", "ds_rsub",
                  "ds_mskor", "ds_pk_add")  # fmt: skip
_LEAVES = ("s_setpc", "s_swappc", "s_call", "s_trap", "s_set_gpr_idx", "s_movrel", "v_movrel")
_PARTIAL = ("d16", "_hi_", "mixlo", "mixhi", "byte", "cvt_pk_fp8", "cvt_pk_bf8", "cvt_sr")


class Prover:
    """Looks for a reason in one kernel's code.

    Attributes:
        entries: where waves may start.
        may_go_anywhere: whether a jump goes to an address that only the run knows.
        idle: what is known of code where no lane is active.
        facts: what is known of registers before each instruction; empty where too little is known of the code.
    """

    def __init__(self, listing: Listing, *, preloads: bool = True) -> None:
        """Take the code, and whether arguments may be preloaded, so that there is a second entry."""
        self._listing = listing
        self._addresses = [each.address for each in listing.instructions]
        self._effects: dict[int, Effects] = {}
        self.idle = IdleCode(listing, self.dead_at)
        self.entries = (0, _SECOND_ENTRY) if preloads else (0,)
        self.may_go_anywhere = False
        self._reachable = self.reached_from(*self.entries)
        instructions = {each.address: each for each in listing.instructions if each.address in self._reachable}
        self._trusted = narrows_only(instructions) and not self.may_go_anywhere
        self.facts = find_facts(instructions, self.entries, following) if self._trusted else {}

    def bounds(self, arguments: Arguments) -> Mapping[int, Bounds]:
        """Return how large registers can be before each instruction; nothing where too little is known of the code."""
        instructions = {each.address: each for each in self._listing.instructions if each.address in self._reachable}
        if not self._trusted:
            return {}
        return find_bounds(instructions, self.entries, following, self.facts, arguments)

    def reached_from(self, *entries: int) -> frozenset[int]:
        """Return all places that some path leads to."""
        waiting, seen = list(entries), set[int]()
        while waiting:
            instruction = self._at(waiting.pop())
            if instruction is None or instruction.address in seen:
                continue
            seen.add(instruction.address)
            if instruction.name.startswith(_LEAVES):
                self.may_go_anywhere = True
                return frozenset(self._addresses)
            waiting += following(instruction)
        return frozenset(seen)

    def reason(self, mutant: Mutant) -> Reason | None:
        """Return why a mutant is the same program; ``None`` if that is not proved."""
        name, removed = mutant.instruction.name, mutant.operator is Operator.REMOVE
        if not mutant.places & self._reachable:
            return Reason.UNREACHABLE
        if mutant.operator is Operator.SHORTER_NOP:
            return Reason.WAIT_STATES  # the hazard detector was asked, and found nothing
        if name.startswith((*EFFECTS, *QUIET)):
            return self._may_go(mutant.instruction) if removed else None
        if self._is_dead(mutant):
            return Reason.DEAD
        return Reason.SAME_VALUE if mutant.operator is Operator.SOURCE and self._is_same_value(mutant) else None

    def _may_go(self, instruction: Instruction) -> Reason | None:
        """Return why an instruction that is more than its results may be removed."""
        if instruction.name == "s_cbranch_execz" and self.idle.leads(instruction):
            return Reason.SKIP
        if goes_over_nothing(self._listing, instruction):
            return Reason.FALLS_THROUGH
        return Reason.SCHEDULING if instruction.name in SCHEDULING else None

    # -- what is dead --------------------------------------------------------------------------------------------

    def _is_dead(self, mutant: Mutant) -> bool:
        """Say whether neither what the original writes nor what the mutant writes is ever read."""
        old = mutant.instruction
        written = set(effects_of(old).writes)
        if old.memory is not None and not written:
            return False
        if any(part in old.name for part in _WRITES_MEMORY) or (old.memory is not None and old.memory.lds):
            return False
        if mutant.operator is not Operator.REMOVE:
            if old.memory is not None and mutant.operator is not Operator.DESTINATION:
                return False  # another address may not be there
            written |= effects_of(_changed(mutant)).writes
        return self.are_dead(written, old)

    def are_dead(self, registers: Iterable[int], behind: Instruction) -> bool:
        """Say whether no path behind an instruction reads what it gave to some registers."""
        return self.dead_at(registers, behind.next_address, same_lanes=not ignores_lanes(behind))

    def dead_at(self, registers: Iterable[int], place: int, *, same_lanes: bool = True) -> bool:
        """Say whether no path from a place reads what some registers hold there.

        Args:
            registers: by the numbers of ``analysis.effects``.
            place: the next instruction.
            same_lanes: whether all lanes are active for which this is asked.
        """
        return all(self._dead(register, place, same_lanes=same_lanes) for register in registers)

    def _dead(self, register: int, start: int, *, same_lanes: bool) -> bool:
        if register in EXEC_PAIR:
            return False
        waiting, seen = [(start, same_lanes)], set[tuple[int, bool]]()
        while waiting:
            place, same = waiting.pop()
            if (place, same) in seen:
                continue
            seen.add((place, same))
            instruction = self._at(place)
            if instruction is None or instruction.name.startswith(_LEAVES):
                return False
            effects = self._effects_at(instruction)
            if register in effects.reads or self._keeps_parts(instruction, register, effects):
                return False
            if instruction.name == "s_endpgm" or self._kills(register, instruction, same_lanes=same):
                continue
            same = same and not effects.writes & EXEC_PAIR
            waiting += [(following_place, same) for following_place in following(instruction)]
        return True

    def _kills(self, register: int, instruction: Instruction, *, same_lanes: bool) -> bool:
        """A vector register is overwritten in active lanes only: those asked about, or all, must be active."""
        effects = self._effects_at(instruction)
        if register not in effects.writes or "writelane" in instruction.name:
            return False
        whole = self._has_all_lanes(instruction) or effects.unit is Unit.MATRIX
        return register < FIRST_VGPR or same_lanes or whole

    def _has_all_lanes(self, instruction: Instruction) -> bool:
        """Say whether all lanes are active at an instruction."""
        return self.facts.get(instruction.address, {}).get(EXEC) is Known.ALL_LANES

    @staticmethod
    def _keeps_parts(instruction: Instruction, register: int, effects: Effects) -> bool:
        """Say whether an instruction leaves a part of what a register held, which is to read it."""
        if register not in effects.writes or register < FIRST_VGPR:
            return False
        parts = instruction.sdwa is not None and instruction.sdwa.unused is Unused.PRESERVE
        old = instruction.dpp is not None
        return parts or old or any(part in instruction.name for part in _PARTIAL) or instruction.op_sel >> 3 != 0

    # -- what has the same value ---------------------------------------------------------------------------------

    def _is_same_value(self, mutant: Mutant) -> bool:
        """Say whether the two registers were last given the same constant, in all lanes, in this basic block."""
        old, new = mutant.instruction.sources[mutant.index], _changed(mutant).sources[mutant.index]
        pairs = zip(sorted(registers_of(old)), sorted(registers_of(new)), strict=True)
        return all(
            self._given(one, mutant.instruction) == self._given(other, mutant.instruction) for one, other in pairs
        )

    def _given(self, register: int, before: Instruction) -> object:
        """Return the constant that a move gave to a register earlier in the block; itself where that is unknown."""
        joins = self._listing.targets | frozenset(self.entries)
        if before.address in joins:
            return register
        number = bisect_left(self._addresses, before.address)
        for instruction in reversed(self._listing.instructions[:number]):
            effects = self._effects_at(instruction)
            if register in effects.writes:
                moved = instruction.name in {"v_mov_b32", "s_mov_b32"} and not (instruction.sdwa or instruction.dpp)
                whole = register < FIRST_VGPR or self._has_all_lanes(instruction)
                source = instruction.sources[0] if moved and whole else None
                return source if source is not None and not registers_of(source) else register
            if effects.writes & EXEC_PAIR or instruction.address in joins:
                return register
            if instruction.name.startswith(("s_cbranch", "s_branch", *_LEAVES)):
                return register
        return register

    def _at(self, place: int) -> Instruction | None:
        number = bisect_left(self._addresses, place)
        found = self._listing.instructions[number] if number < len(self._addresses) else None
        return found if found is not None and found.address == place else None

    def _effects_at(self, instruction: Instruction) -> Effects:
        found = self._effects.get(instruction.address)
        if found is None:
            found = self._effects[instruction.address] = effects_of(instruction)
        return found


def ignores_lanes(instruction: Instruction) -> bool:
    """Say whether an instruction writes lanes that are not active."""
    return effects_of(instruction).unit is Unit.MATRIX or "writelane" in instruction.name


def _changed(mutant: Mutant) -> Instruction:
    return decode(mutant.after + bytes(16 - len(mutant.after)), mutant.offset)


def following(instruction: Instruction) -> tuple[int, ...]:
    """Return where control may be behind an instruction that is no jump to a register."""
    if instruction.name == "s_endpgm":
        return ()
    if instruction.name == "s_branch":
        return (instruction.branch_target,)
    if instruction.encoding is Encoding.SOPP and instruction.name.startswith("s_cbranch"):
        return (instruction.branch_target, instruction.next_address)
    return (instruction.next_address,)
