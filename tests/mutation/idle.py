"""Code that does nothing where no lane is active, and branches that may therefore always lead to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_VGPR, Unit, effects_of, registers_of, union
from rocmatrix.emulator.instruction import Instruction
from tests.mutation.copies import Copies
from tests.mutation.operators import Listing

SCHEDULING = ("s_setprio", "s_sleep")
QUIET = ("s_nop", "s_waitcnt", *SCHEDULING)
EFFECTS = ("s_barrier", "s_endpgm", "s_trap", "s_sendmsg", "s_setreg", "s_set_gpr_idx", "buffer_wbl2", "buffer_inv",
           "s_dcache", "s_icache", "s_setpc", "s_swappc", "s_call", "s_branch", "s_cbranch")  # fmt: skip


class _DeadAt(Protocol):
    def __call__(self, registers: Iterable[int], place: int) -> bool:
        """Say whether no path from a place reads what some registers hold there."""


@dataclass(frozen=True, kw_only=True)
class Idle:
    """What shows that code does nothing where no lane is active.

    Attributes:
        places: of its instructions, and of those of copies.
        scalars: registers that it writes then, and nobody reads.
    """

    places: frozenset[int]
    scalars: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Lead:
    """Where a branch on EXEC may as well always lead.

    Attributes:
        place: the code for active lanes.
        shown_by: that it does nothing without them, up to where the branch leads then or to a copy of it.
    """

    place: int
    shown_by: Idle


class IdleCode:
    """Follows one kernel's code where no lane is active."""

    def __init__(self, listing: Listing, dead_at: _DeadAt) -> None:
        """Take the code, and what knows which registers are dead at a place."""
        self._instructions = {each.address: each for each in listing.instructions}
        self._dead_at = dead_at
        self._copies = Copies(listing)

    def leads(self, branch: Instruction) -> Lead | None:
        """Return where a branch may as well always lead; ``None`` where that is not proved."""
        if branch.name not in ("s_cbranch_execz", "s_cbranch_execnz"):
            return None
        place, without = branch.next_address, branch.branch_target
        if branch.name == "s_cbranch_execnz":
            place, without = without, place
        idle = self.of(place, without)
        return None if idle is None or branch.address in idle.places else Lead(place=place, shown_by=idle)

    def of(self, place: int, target: int) -> Idle | None:
        """Return what shows that code does nothing where no lane is active, up to some place or to a copy of it.

        Without active lanes there is one path, wherever it leads. Scalar registers that are written on it must be dead
        at the target. ``None`` where it does something.
        """
        scalars, zeros, seen = set[int](), set[int](EXEC_PAIR), set[int]()
        copied = self._copies.compared(place, target)
        while copied is None:
            instruction = self._instructions.get(place)
            if instruction is None or place in seen or not _is_masked(instruction, zeros):
                return None
            seen.add(place)
            scalars |= {register for register in effects_of(instruction).writes - EXEC_PAIR if register < FIRST_VGPR}
            taken = instruction.name in ("s_cbranch_execz", "s_branch")
            place = instruction.branch_target if taken else instruction.next_address
            copied = self._copies.compared(place, target)
        return Idle(places=copied | seen, scalars=frozenset(scalars)) if self._dead_at(scalars, target) else None


class Leads:
    """All such branches of a kernel."""

    def __init__(self, instructions: Iterable[Instruction], idle: IdleCode) -> None:
        """Take the code, and what proves this of it."""
        found = ((each.address, idle.leads(each)) for each in instructions)
        self._all = {address: lead for address, lead in found if lead is not None}

    def without(self, changed: frozenset[int], read: frozenset[int] = frozenset()) -> Mapping[int, int]:
        """Return address of a branch -> where it leads, but for what a change calls in question.

        Args:
            changed: places of the code that is another one.
            read: registers that are read there, and by the original perhaps not.
        """
        return {
            address: lead.place
            for address, lead in self._all.items()
            if address not in changed and not lead.shown_by.places & changed and not lead.shown_by.scalars & read
        }


def _is_masked(instruction: Instruction, zeros: set[int]) -> bool:
    """Say whether an instruction changes nothing but scalar registers while EXEC is zero, and leaves it zero.

    ``zeros`` are registers that are zero then; it is brought up to date.
    """
    if instruction.name in (*QUIET, "s_cbranch_execz", "s_cbranch_execnz", "s_branch"):
        return True
    effects = effects_of(instruction)
    scalars = {each for each in effects.writes if each < FIRST_VGPR}
    stays_zero = _gives_zero(instruction, zeros)
    zeros -= scalars - EXEC_PAIR
    if stays_zero:
        zeros |= union(instruction.destinations)
    if effects.writes & EXEC_PAIR:
        return stays_zero
    if instruction.name.startswith(EFFECTS) or effects.unit is Unit.MATRIX:
        return False
    wherever = ("readfirstlane", "writelane")  # whatever EXEC is
    return not any(part in instruction.name for part in wherever) and effects.unit is not Unit.SMEM


def _gives_zero(instruction: Instruction, zeros: set[int]) -> bool:
    """Say whether EXEC and what an instruction writes are zero behind it, if it is about masks at all."""
    if instruction.name in ("s_and_saveexec_b64", "s_andn2_saveexec_b64"):
        return True  # the old EXEC, and less than that
    if instruction.name in ("s_or_b64", "s_xor_b64", "s_mov_b64"):
        return all(registers_of(operand) and registers_of(operand) <= zeros for operand in instruction.sources)
    if instruction.name in ("s_and_b64", "s_andn2_b64"):
        first, *others = instruction.sources
        operands = [first] if instruction.name == "s_andn2_b64" else [first, *others]
        return any(registers_of(operand) and registers_of(operand) <= zeros for operand in operands)
    return False
