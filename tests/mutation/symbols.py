"""Symbols of what terms do not say: registers at the beginning, what depends on other lanes, what memory holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import z3

from tests.mutation.assumed import Assumed
from tests.mutation.lane_bits import LaneBits
from tests.mutation.terms import Facts

LANES = 64
"""Lanes of a wave, and bits of a mask of them."""


@dataclass(frozen=True)
class Event:
    """What others may see of an instruction: an access, a condition. Equal events have equal words where it happens.

    Attributes:
        what: the kind of it.
        happens: where it does.
        words: what it is about, there.
        plain: the same words before they were simplified by what holds there, if they were.
    """

    what: str
    happens: z3.BoolRef
    words: tuple[z3.BitVecRef, ...]
    plain: tuple[z3.BitVecRef, ...] = ()


@dataclass(frozen=True)
class Opaque:
    """A symbol, and what it is made of."""

    what: str
    operands: tuple[z3.ExprRef, ...]
    symbols: tuple[z3.ExprRef, ...]


class Symbols:
    """What several machines share: facts, symbols of what is opaque, the registers at the beginning."""

    def __init__(self, *, lds_is_quiet: bool = False) -> None:
        """Start with nothing, but whether no word in LDS is a signalling NaN of float32."""
        self.facts = Facts(lds_is_quiet=lds_is_quiet)
        self.lane = z3.BitVec("lane", LANES)
        self.facts.all.append(z3.ULT(self.lane, LANES))
        self.bits = LaneBits(self.lane)
        self.assumed = Assumed()
        self._known: dict[tuple[object, ...], Opaque] = {}
        self._number = 0

    def fresh(self, name: str, bits: int) -> z3.BitVecRef:
        """Return a symbol that nothing else is."""
        self._number += 1
        return z3.BitVec(f"{name}!{self._number}", bits)

    def opaque(
        self,
        what: str,
        operands: tuple[z3.ExprRef, ...],
        bits: Sequence[int],
        is_same: Callable[[Opaque], bool] | None = None,
        hints: Sequence[Opaque] = (),
    ) -> tuple[Opaque, bool]:
        """Return the symbols for these operands, and whether they are new; ``is_same`` is asked about ``hints``."""
        key = (what, *(operand.get_id() for operand in operands))
        if key in self._known:
            return self._known[key], False
        for hint in hints:
            if hint.what == what and len(hint.operands) == len(operands) and is_same is not None and is_same(hint):
                self._known[key] = Opaque(what, operands, hint.symbols)
                return self._known[key], False
        made = Opaque(what, operands, tuple(self.fresh(what, size) for size in bits))
        self._known[key] = made
        return made, True
