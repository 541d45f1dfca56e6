"""Whether all that a kernel stores in LDS is float32, none of it a signalling NaN, so that what it loads there is none.

This presupposes that it loads nothing that no wave has stored: the detector of what was never written asks that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_VGPR, effects_of, registers_of
from rocmatrix.emulator.instruction import EXEC, Instruction, Operand
from tests.mutation.bounds import Bounds
from tests.mutation.equivalence import Prover, following
from tests.mutation.fact_kinds import Known, State
from tests.mutation.terms import SELECTS

_STORES = re.compile(r"ds_write2?(st64)?_b(32|64|96|128)")
_LOADS = re.compile(r"ds_read2?(st64)?_b(32|64|96|128)")
_PICKS = ("v_readlane_b32", "v_readfirstlane_b32")
_MOVES = ("v_mov_b32", "s_mov_b32")
_WORD = 4
Quiet = frozenset[int]
"""Registers that hold no signalling NaN, by the numbers of ``analysis.effects``; VGPRs in all lanes."""


def lds_is_quiet(
    instructions: Mapping[int, Instruction], prover: Prover, bounds: Mapping[int, Bounds], *, ieee: bool
) -> bool:
    """Say whether no word in LDS is ever a signalling NaN, for a kernel's instructions by address."""
    return LdsFloats(instructions, prover.entries, following, prover.facts, bounds, ieee=ieee).are_quiet


class LdsFloats:
    """What is known of the floats of a kernel, beside its facts.

    Attributes:
        are_quiet: whether no word in LDS is ever a signalling NaN, whoever stored it.
    """

    def __init__(
        self,
        instructions: Mapping[int, Instruction],
        entries: tuple[int, ...],
        leads_to: Callable[[Instruction], tuple[int, ...]],
        facts: Mapping[int, State],
        bounds: Mapping[int, Bounds],
        *,
        ieee: bool,
    ) -> None:
        """Look at all code that can be reached.

        Args:
            instructions: of the kernel, by address.
            entries: where waves may begin.
            leads_to: returns where an instruction leads.
            facts: before each instruction that can be reached.
            bounds: before each of them.
            ieee: of the MODE register, which no instruction may change.
        """
        self._facts, self._bounds, self._ieee = facts, bounds, ieee
        self._quiet: dict[int, Quiet] = {entry: frozenset() for entry in entries if entry in instructions}
        waiting = [*self._quiet]
        while waiting:
            instruction = instructions[waiting.pop()]
            state = self._behind(instruction)
            for place in leads_to(instruction):
                known = self._quiet.get(place)
                merged = state if known is None else known & state
                if place in instructions and merged != known:
                    self._quiet[place] = merged
                    waiting.append(place)
        reached = [instructions[place] for place in self._quiet]
        of_lds = [each for each in reached if _touches_lds(each)]
        self.are_quiet = bool(facts) and all(map(self._is_of_floats, of_lds))
        self.are_quiet &= not any(each.name.startswith("s_setreg") for each in reached)

    def _at(self, place: int) -> Quiet:
        known = {register for register, fact in self._facts.get(place, {}).items() if fact is Known.QUIET}
        return self._quiet[place] | known

    def _behind(self, instruction: Instruction) -> Quiet:
        """Return what is quiet behind an instruction."""
        before, writes = self._at(instruction.address), effects_of(instruction).writes
        whole = self._facts.get(instruction.address, {}).get(EXEC) is Known.ALL_LANES
        made = frozenset[int]()
        if len(instruction.destinations) == 1 and self._is_quiet(instruction, before):
            made = registers_of(instruction.destinations[0]) - EXEC_PAIR
        kept = (register for register in made if register < FIRST_VGPR or whole or register in before)
        return (before - writes) | frozenset(kept)

    def _is_quiet(self, instruction: Instruction, before: Quiet) -> bool:
        """Say whether the result of an instruction is quiet in the lanes that it writes."""
        if instruction.sdwa or instruction.clamp or instruction.omod:
            return False
        if instruction.dpp:  # lanes may keep what they had
            keeps = registers_of(instruction.destinations[0]) <= before
            return keeps and instruction.name == "v_add_f32"
        if instruction.name in SELECTS:
            return self._ieee
        moves = instruction.name in (*_PICKS, *_MOVES)
        return moves and bool(registers_of(instruction.sources[0])) and registers_of(instruction.sources[0]) <= before

    def _is_of_floats(self, instruction: Instruction) -> bool:
        """Say whether an access of LDS is of whole words at whole words, and what it stores quiet."""
        address, *stored = instruction.sources
        if not self._is_aligned(instruction, address):
            return False
        if _LOADS.fullmatch(instruction.name):
            return True
        before = self._at(instruction.address)
        data = [registers_of(each) for each in stored]
        return bool(_STORES.fullmatch(instruction.name)) and all(each and each <= before for each in data)

    def _is_aligned(self, instruction: Instruction, address: Operand) -> bool:
        bounds, fields = self._bounds.get(instruction.address, {}), instruction.memory
        known = [bounds.get(register) for register in registers_of(address)]
        if not known or fields is None or fields.gds:
            return False
        scaled = "2" in instruction.name.split("_")[1]  # offsets count elements
        return all(each is not None and each.bits % _WORD == 0 for each in known) and (
            scaled or fields.offset % _WORD == 0
        )


def _touches_lds(instruction: Instruction) -> bool:
    """Say whether an instruction may load from LDS or store there, other than by moving values between lanes."""
    name, fields = instruction.name, instruction.memory
    if name.startswith("flat_") or "load_lds" in name or (fields is not None and fields.lds):
        return True
    return name.startswith("ds_") and not name.startswith(("ds_bpermute", "ds_permute", "ds_swizzle"))
