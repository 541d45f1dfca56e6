"""Why a mutant that nothing noticed is the same program: a closed list of reasons, each proved of the code.

Nothing here depends on what was executed. A proof that needs more than is known (a jump to a register, a call) fails,
and the mutant counts as a survivor.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from enum import StrEnum

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_VGPR, Effects, Unit, effects_of, registers_of
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import Encoding, Instruction, Unused
from tests.mutation.operators import Listing, Mutant, Operator


class Reason(StrEnum):
    """Why two programs are the same."""

    UNREACHABLE = "no path of the code leads there"
    SCHEDULING = "priority and sleep change the order of waves only"
    DEAD = "what it writes, then and now, is overwritten before anything reads it"
    SKIP = "the branch skips code that does nothing where no lane is active"
    SAME_VALUE = "both registers were given the same value"
    WAIT_STATES = "no hazard of LLVM's table asks for as many wait states"


_SECOND_ENTRY = 256
"""Where a kernel whose arguments were preloaded begins (LLVM, AMDGPUUsage, "Preloaded Kernel Arguments")."""
_SCHEDULING = ("s_setprio", "s_sleep")
_QUIET = ("s_nop", "s_waitcnt", *_SCHEDULING)
_EFFECTS = ("s_barrier", "s_endpgm", "s_trap", "s_sendmsg", "s_setreg", "s_set_gpr_idx", "buffer_wbl2", "buffer_inv",
            "s_dcache", "s_icache", "s_setpc", "s_swappc", "s_call", "s_branch", "s_cbranch")  # fmt: skip
_WRITES_MEMORY = ("store", "atomic", "ds_write", "ds_add", "ds_sub", "ds_max", "ds_min", "ds_and", "ds_or", "ds_xor",
                  "ds_cmpst", "ds_wrxchg", "ds_inc", "ds_dec", "ds_append", "ds_consume", "ds_gws")  # fmt: skip
_LEAVES = ("s_setpc", "s_swappc", "s_call", "s_trap", "s_set_gpr_idx", "s_movrel", "v_movrel")
_PARTIAL = ("d16", "_hi_", "mixlo", "mixhi", "byte", "cvt_pk_fp8", "cvt_pk_bf8", "cvt_sr")


class Prover:
    """Looks for a reason in one kernel's code."""

    def __init__(self, listing: Listing) -> None:
        """Take the code."""
        self._listing = listing
        self._addresses = [each.address for each in listing.instructions]
        self._effects: dict[int, Effects] = {}
        self._reachable = self._reached_from(0, _SECOND_ENTRY)

    def _reached_from(self, *entries: int) -> frozenset[int]:
        waiting, seen = list(entries), set[int]()
        while waiting:
            instruction = self._at(waiting.pop())
            if instruction is None or instruction.address in seen:
                continue
            seen.add(instruction.address)
            if instruction.name.startswith(_LEAVES):
                return frozenset(self._addresses)  # it may go anywhere
            waiting += () if instruction.name == "s_endpgm" else _following(instruction)
        return frozenset(seen)

    def reason(self, mutant: Mutant) -> Reason | None:
        """Return why a mutant is the same program; ``None`` if that is not proved."""
        name, removed = mutant.instruction.name, mutant.operator is Operator.REMOVE
        if not mutant.places & self._reachable:
            return Reason.UNREACHABLE
        if mutant.operator is Operator.SHORTER_NOP:
            return Reason.WAIT_STATES  # the hazard detector was asked, and found nothing
        if name.startswith((*_EFFECTS, *_QUIET)):
            if removed and name == "s_cbranch_execz" and self._skips_nothing(mutant.instruction):
                return Reason.SKIP
            return Reason.SCHEDULING if removed and name in _SCHEDULING else None
        if self._is_dead(mutant):
            return Reason.DEAD
        return Reason.SAME_VALUE if mutant.operator is Operator.SOURCE and self._is_same_value(mutant) else None

    # -- what is dead --------------------------------------------------------------------------------------------

    def _is_dead(self, mutant: Mutant) -> bool:
        """Say whether neither what the original writes nor what the mutant writes is ever read."""
        old = mutant.instruction
        written = set(effects_of(old).writes)
        if any(part in old.name for part in _WRITES_MEMORY) or (old.memory is not None and old.memory.lds):
            return False
        if mutant.operator is not Operator.REMOVE:
            if old.memory is not None and mutant.operator is not Operator.DESTINATION:
                return False  # another address may not be there
            written |= effects_of(_changed(mutant)).writes
        return self.are_dead(written, old)

    def are_dead(self, registers: Iterable[int], behind: Instruction) -> bool:
        """Say whether no path behind an instruction reads what it gave to some registers."""
        return all(self._dead(register, behind) for register in registers)

    def _dead(self, register: int, behind: Instruction) -> bool:
        if register in EXEC_PAIR:
            return False
        waiting, seen = [(behind.next_address, True)], set[tuple[int, bool]]()
        while waiting:
            place, same_lanes = waiting.pop()
            if (place, same_lanes) in seen:
                continue
            seen.add((place, same_lanes))
            instruction = self._at(place)
            if instruction is None or instruction.name.startswith(_LEAVES):
                return False
            effects = self._effects_at(instruction)
            if register in effects.reads or self._keeps_parts(instruction, register, effects):
                return False
            if instruction.name == "s_endpgm" or self._kills(register, effects, same_lanes=same_lanes):
                continue
            same_lanes = same_lanes and not effects.writes & EXEC_PAIR
            waiting += [(following, same_lanes) for following in _following(instruction)]
        return True

    @staticmethod
    def _kills(register: int, effects: Effects, *, same_lanes: bool) -> bool:
        """A vector register is overwritten in active lanes only: those of the first write, or all, must be active."""
        if register not in effects.writes:
            return False
        return register < FIRST_VGPR or same_lanes or effects.unit is Unit.MATRIX

    @staticmethod
    def _keeps_parts(instruction: Instruction, register: int, effects: Effects) -> bool:
        """Say whether an instruction leaves a part of what a register held, which is to read it."""
        if register not in effects.writes or register < FIRST_VGPR:
            return False
        parts = instruction.sdwa is not None and instruction.sdwa.unused is Unused.PRESERVE
        old = instruction.dpp is not None
        return parts or old or any(part in instruction.name for part in _PARTIAL) or instruction.op_sel >> 3 != 0

    # -- what is skipped -----------------------------------------------------------------------------------------

    def _skips_nothing(self, branch: Instruction) -> bool:
        """Say whether everything up to a branch's target does nothing while EXEC is zero."""
        place, scalars = branch.next_address, set[int]()
        if branch.branch_target < place:
            return False
        while place < branch.branch_target:
            instruction = self._at(place)
            if instruction is None or not self._is_masked(instruction):
                return False
            effects = self._effects_at(instruction)
            scalars |= {register for register in effects.writes if register < FIRST_VGPR}
            place = instruction.next_address
        return place == branch.branch_target and all(self._dead_from(each, place) for each in scalars)

    def _dead_from(self, register: int, place: int) -> bool:
        before = self._listing.instructions[bisect_left(self._addresses, place) - 1]
        return before.next_address == place and self._dead(register, before)

    def _is_masked(self, instruction: Instruction) -> bool:
        """Say whether an instruction changes nothing but scalar registers, EXEC aside, while EXEC is zero."""
        if instruction.name in _QUIET:
            return True
        effects = self._effects_at(instruction)
        if instruction.name.startswith(_EFFECTS) or effects.unit is Unit.MATRIX or effects.writes & EXEC_PAIR:
            return False
        return "readfirstlane" not in instruction.name and effects.unit is not Unit.SMEM

    # -- what has the same value ---------------------------------------------------------------------------------

    def _is_same_value(self, mutant: Mutant) -> bool:
        """Say whether the two registers were last given the same constant or register, in this basic block."""
        old, new = mutant.instruction.sources[mutant.index], _changed(mutant).sources[mutant.index]
        pairs = zip(sorted(registers_of(old)), sorted(registers_of(new)), strict=True)
        return all(
            self._given(one, mutant.instruction) == self._given(other, mutant.instruction) for one, other in pairs
        )

    def _given(self, register: int, before: Instruction) -> object:
        """Return the constant that a move gave to a register earlier in the block; itself where that is unknown."""
        number = bisect_left(self._addresses, before.address)
        for instruction in reversed(self._listing.instructions[:number]):
            effects = self._effects_at(instruction)
            if register in effects.writes:
                moved = instruction.name in {"v_mov_b32", "s_mov_b32"} and not (instruction.sdwa or instruction.dpp)
                source = instruction.sources[0] if moved else None
                return source if source is not None and not registers_of(source) else register
            if effects.writes & EXEC_PAIR or instruction.address in self._listing.targets:
                return register
            if instruction.name.startswith(("s_cbranch", "s_branch")):
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


def _changed(mutant: Mutant) -> Instruction:
    return decode(mutant.after + bytes(16 - len(mutant.after)), mutant.offset)


def _following(instruction: Instruction) -> tuple[int, ...]:
    if instruction.name == "s_branch":
        return (instruction.branch_target,)
    if instruction.encoding is Encoding.SOPP and instruction.name.startswith("s_cbranch"):
        return (instruction.branch_target, instruction.next_address)
    return (instruction.next_address,)
