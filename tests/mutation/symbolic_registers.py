"""Registers of a program that is executed over terms, masks of lanes, and symbols of what depends on other lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import z3

from rocmatrix.emulator.algebra import Kind
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import EXEC, SCC, RegisterFile
from tests.mutation.simplified import simplified
from tests.mutation.symbols import LANES, Event, Opaque, Symbols
from tests.mutation.terms import Term, is_quiet

Place = tuple[RegisterFile, int]
"""One 32-bit register."""
SCC_PLACE: Place = (RegisterFile.SGPR, SCC)
_ONE, _ZERO = z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)


class SymbolicRegisters:
    """One program's state; of two that are held against each other the second gets the first one's symbols as hints.

    Attributes:
        registers: terms of those that were read or written.
        events: of the current instruction.
        opaque: symbols of the current instruction.
        hints: those of the other program's instruction at the same place.
        generation: which of the machines that begin with nothing known it, or the one it is a copy of, is.
        accesses: to memory, so far.
    """

    def __init__(
        self,
        symbols: Symbols,
        mode: Mode,
        equal: Callable[[z3.ExprRef, z3.ExprRef], bool],
        *,
        generation: int = 0,
    ) -> None:
        """Start with unknown registers.

        Args:
            symbols: shared with the other program.
            mode: of the code; constant.
            equal: proves that two terms are equal.
            generation: registers of another generation are other symbols.
        """
        self._symbols = symbols
        self._mode = mode
        self._equal = equal
        self.registers: dict[Place, z3.BitVecRef] = {}
        self.events: list[Event] = []
        self.opaque: list[Opaque] = []
        self.hints: list[Opaque] = []
        self.generation = generation
        self.accesses = 0

    def copy(self) -> Self:
        """Return a program that goes on from the same state on its own."""
        made = type(self)(self._symbols, self._mode, self._equal, generation=self.generation)
        made.registers, made.accesses = dict(self.registers), self.accesses
        return made

    def word(self, place: Place) -> z3.BitVecRef:
        """Return a register."""
        if place not in self.registers:
            self.registers[place] = z3.BitVec(f"{self.generation} {place[0].value}{place[1]}", 32)
        return self.registers[place]

    def lane_bit(self, index: int) -> z3.BoolRef:
        """Return the lane's bit of two SGPRs."""
        return self._bit(self._pair(index))

    def _pair(self, index: int) -> z3.BitVecRef:
        high, low = self.word((RegisterFile.SGPR, index + 1)), self.word((RegisterFile.SGPR, index))
        return simplified(z3.Concat(high, low))

    def _set_pair(self, index: int, word: z3.BitVecRef) -> None:
        self.registers[RegisterFile.SGPR, index] = simplified(z3.Extract(31, 0, word))
        self.registers[RegisterFile.SGPR, index + 1] = simplified(z3.Extract(63, 32, word))

    def _bit(self, word: z3.BitVecRef) -> z3.BoolRef:
        return self._symbols.bits.of(word)

    def _active(self) -> z3.BoolRef:
        return self._bit(self._pair(EXEC))

    def _mask(self, truth: z3.BoolRef) -> z3.BitVecRef:
        """Return a scalar that has the lane's truth as its bit; of the others nothing is known."""
        (word,) = self._opaque("mask", (simplified(truth),), [LANES])
        self._symbols.facts.all.append(z3.Extract(0, 0, z3.LShR(word, self._symbols.lane)) == z3.If(truth, _ONE, _ZERO))
        self._symbols.bits.note(word, simplified(truth))
        return word

    def _opaque(self, what: str, operands: tuple[z3.ExprRef, ...], bits: Sequence[int]) -> tuple[z3.BitVecRef, ...]:
        def is_same(hint: Opaque) -> bool:
            return all(self._equal(*pair) for pair in zip(hint.operands, operands, strict=True))

        found, _ = self._symbols.opaque(what, operands, bits, is_same, self.hints)
        self.opaque.append(found)
        return found.symbols

    def _moved(self, what: str, word: z3.BitVecRef, lanes: z3.BitVecRef) -> z3.BitVecRef:
        """Return another lane's value: no signalling NaN if that is proved of every lane's."""
        (symbol,) = self._opaque(what, (word, lanes), [word.size()])
        uniform = self._symbols.facts.uniform_bits(word) if what == "pick" else 0
        if uniform:
            self._symbols.facts.all.append((symbol ^ word) & uniform == 0)
        if word.size() == 32 and self._equal(is_quiet(word, 32), z3.BoolVal(val=True)):  # a float32, perhaps
            self._symbols.facts.all.append(is_quiet(symbol, 32))
        return symbol

    def _term(self, kind: Kind, word: z3.ExprRef) -> Term:
        return Term(kind, word, self._symbols.facts)
