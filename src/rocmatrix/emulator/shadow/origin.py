"""Where undefined bits come from, and the reports of where they mattered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.reports import Fault, FaultKind

if TYPE_CHECKING:
    from rocmatrix.emulator.wave import Wave

MOST_FINDINGS = 100
"""Findings of one launch that are kept; each is of another instruction."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What nobody wrote.

    Attributes:
        what: a register, or bytes of some memory.
        loaded: the instruction that loaded it from memory.
    """

    what: str
    loaded: Instruction | None = None

    def __str__(self) -> str:
        """Return it as the end of a sentence."""
        loaded = f", loaded at {self.loaded}" if self.loaded else ""
        return f"{self.what}, which nothing wrote{loaded}"


@dataclass(kw_only=True)
class Findings:
    """What one launch did with undefined bits: the first time for each instruction."""

    found: dict[int, Fault] = field(default_factory=dict)

    @property
    def all(self) -> tuple[Fault, ...]:
        """The reports, in the order in which they were made."""
        return tuple(self.found.values())

    def report(
        self, wave: Wave, subject: str, origin: Origin | None, *, lane: int | None = None, address: int | None = None
    ) -> None:
        """Keep a report of the instruction that a wave is executing.

        Args:
            wave: which wave.
            subject: what depends on undefined bits.
            origin: where they come from.
            lane: the first lane that has them, where lanes differ.
            address: the memory address that is accessed.
        """
        instruction = wave.instruction
        place = instruction.address if instruction else -1
        if place in self.found or len(self.found) >= MOST_FINDINGS:
            return
        self.found[place] = Fault(
            kind=FaultKind.UNWRITTEN,
            kernel=wave.kernel,
            instruction=instruction,
            wave=wave.identity,
            lane=lane,
            address=address,
            detail=f"{subject} depends on {origin or 'bits that nothing wrote'}",
        )
