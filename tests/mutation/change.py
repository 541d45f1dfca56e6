"""One change of a kernel's code, as two programs that are executed side by side meet it."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.emulator.analysis.effects import effects_of
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import Instruction
from tests.mutation.equivalence import Prover
from tests.mutation.operators import Mutant


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one program has at a place, and the other one has there instead.

    Attributes:
        place: address of the first instruction that differs.
        original: what the first program executes there.
        changed: what the second one does.
        comes_again: whether a path leads from behind it to it again.
        keeps: registers that the first program overwrites there, the second one does not, and somebody may read.
    """

    place: int
    original: tuple[Instruction, ...]
    changed: tuple[Instruction, ...]
    comes_again: bool
    keeps: frozenset[int]

    @property
    def behind(self) -> int:
        """Where both programs go on."""
        return self.place + sum(each.size for each in self.original)

    @property
    def reads_more(self) -> frozenset[int]:
        """Registers that the second program reads there, and the first one does not."""
        read, reads = (
            frozenset[int]().union(*(effects_of(each).reads for each in program))
            for program in (self.original, self.changed)
        )
        return reads - read


def change_of(mutant: Mutant, prover: Prover) -> Change:
    """Return what a mutant is at its place."""
    behind = mutant.offset + len(mutant.before)
    original, changed = (decoded(code, mutant.offset) for code in (mutant.before, mutant.after))
    written, writes = (
        frozenset[int]().union(*(effects_of(each).writes for each in program)) for program in (original, changed)
    )
    return Change(
        place=mutant.offset,
        original=original,
        changed=changed,
        comes_again=mutant.offset in prover.reached_from(behind),
        keeps=frozenset(each for each in written - writes if not prover.dead_at([each], behind)),
    )


def decoded(code: bytes, address: int) -> tuple[Instruction, ...]:
    """Return all instructions of a piece of code."""
    made, place = list[Instruction](), 0
    while place < len(code):
        made.append(decode(code[place:] + bytes(16), address + place))
        place += made[-1].size
    return tuple(made)
