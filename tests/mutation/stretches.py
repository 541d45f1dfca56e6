"""The code that a mask governs: what may be executed by more lanes than are meant, if nobody uses what they get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_AGPR, FIRST_VGPR, Unit, effects_of
from rocmatrix.emulator.instruction import Instruction
from tests.mutation.copies import Copies
from tests.mutation.equivalence import following
from tests.mutation.operators import Listing, Mutant, Operator

_MASKS = ("s_and_saveexec_b64", "s_andn2_saveexec_b64")
_QUIET = ("s_nop", "s_waitcnt", "s_branch", "s_cbranch_execz", "s_cbranch_execnz")
_LONGEST = 24
"""Instructions of a stretch."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """What is executed behind a mask, up to the next one on any path.

    Attributes:
        inside: instructions by their offset: loads, vector arithmetic, branches on EXEC.
        ends: instructions that write EXEC next, by their offset.
        idle_end: which of them is met where no lane is active.
    """

    inside: Mapping[int, Instruction]
    ends: Mapping[int, Instruction]
    idle_end: int


def stretch_of(listing: Listing, mutant: Mutant) -> Stretch | None:
    """Return what a mask governs; ``None`` if the mutant changes no mask, or if more than registers changes there.

    Args:
        listing: the kernel.
        mutant: narrows lanes otherwise than the original, or not at all.
    """
    if mutant.instruction.name not in _MASKS or mutant.operator not in (Operator.REMOVE, Operator.SOURCE):
        return None
    instructions = {each.address: each for each in listing.instructions}
    inside, ends = dict[int, Instruction](), dict[int, Instruction]()
    waiting = [mutant.instruction.next_address]
    while waiting:
        place = waiting.pop()
        if place in inside or place in ends:
            continue
        instruction = instructions.get(place)
        if instruction is None or len(inside) > _LONGEST:
            return None
        if _only_masks(instruction):
            ends[place] = instruction
        elif _only_loads(instruction):
            inside[place] = instruction
            waiting += following(instruction)
        else:
            return None
    idle_end = _idle_end(inside, mutant.instruction.next_address)
    if mutant.offset in ends or idle_end is None:
        return None
    return Stretch(inside=inside, ends=ends, idle_end=idle_end)


def goes_on_alike(listing: Listing, one: int, other: int) -> bool:
    """Say whether the same instructions are executed from two places."""
    return Copies(listing).are_same(one, other)


def loads(instruction: Instruction) -> bool:
    """Say whether an instruction loads from global memory to registers."""
    return instruction.name.startswith("global_load_")


def _only_masks(instruction: Instruction) -> bool:
    effects = effects_of(instruction)
    return effects.unit is Unit.SALU and effects.writes >= EXEC_PAIR


def _only_loads(instruction: Instruction) -> bool:
    """Say whether an instruction writes vector registers in active lanes and depends on no other lane, or branches."""
    if instruction.name in _QUIET:
        return True
    effects = effects_of(instruction)
    if not all(FIRST_VGPR <= register < FIRST_AGPR for register in effects.writes) or instruction.dpp is not None:
        return False
    if loads(instruction):
        return instruction.memory is not None and not instruction.memory.lds
    return effects.unit is Unit.VALU and not any(part in instruction.name for part in ("lane", "perm", "swap", "cmpx"))


def _idle_end(inside: Mapping[int, Instruction], place: int) -> int | None:
    """Return where a wave without active lanes leaves a stretch; ``None`` if it does not."""
    for _ in range(_LONGEST):
        instruction = inside.get(place)
        if instruction is None:
            return place
        taken = instruction.name in ("s_branch", "s_cbranch_execz")
        place = instruction.branch_target if taken else instruction.next_address
    return None
