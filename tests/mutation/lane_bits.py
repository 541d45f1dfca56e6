"""The bit of one lane in a mask of 64, as a truth: through operations on masks, down to what masks were made of.

Z3 decides truths at once, and shifts of 64 bits by an unknown lane with effort.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

HALF = 32
_ALL = (1 << HALF) - 1
_COMBINED: dict[int, Callable[..., z3.BoolRef]] = {
    z3.Z3_OP_BOR: z3.Or,
    z3.Z3_OP_BAND: z3.And,
    z3.Z3_OP_BNOT: z3.Not,
}


class LaneBits:
    """Finds the bit of a lane."""

    def __init__(self, lane: z3.BitVecRef) -> None:
        """Take the lane's number, a term of as many bits as a mask has."""
        self._lane = lane
        self._truths: dict[int, tuple[z3.BitVecRef, z3.BoolRef]] = {}
        self._found: dict[tuple[int, int], tuple[z3.BitVecRef, z3.BitVecRef, z3.BoolRef]] = {}
        """By the numbers of both halves, which are kept so that no other term gets these numbers."""

    def note(self, mask: z3.BitVecRef, truth: z3.BoolRef) -> None:
        """Keep what a mask's bit of the lane is."""
        self._truths[mask.get_id()] = mask, truth

    def of(self, word: z3.BitVecRef) -> z3.BoolRef:
        """Return the lane's bit of a mask."""
        halves = z3.simplify(z3.Extract(2 * HALF - 1, HALF, word)), z3.simplify(z3.Extract(HALF - 1, 0, word))
        return self._of_halves(*halves)

    def _of_halves(self, high: z3.BitVecRef, low: z3.BitVecRef) -> z3.BoolRef:
        key = high.get_id(), low.get_id()
        if key not in self._found:
            self._found[key] = high, low, z3.simplify(self._made(high, low))
        return self._found[key][2]

    def _made(self, high: z3.BitVecRef, low: z3.BitVecRef) -> z3.BoolRef:
        """Return the bit; operations take the upper and the lower half apart, so that any pairs of operands will do."""
        if z3.is_bv_value(high) and z3.is_bv_value(low) and high.as_long() == low.as_long() in (0, _ALL):
            return z3.BoolVal(high.as_long() != 0)
        whole = _whole(high, low)
        if whole is not None and whole.get_id() in self._truths:
            return self._truths[whole.get_id()][1]
        combined = _COMBINED.get(high.decl().kind())
        if combined is not None and high.decl().kind() == low.decl().kind() and high.num_args() == low.num_args():
            pairs = zip(high.children(), low.children(), strict=True)
            return combined(*(self._of_halves(*pair) for pair in pairs))
        word = z3.Concat(high, low) if whole is None else whole
        return z3.Extract(0, 0, z3.LShR(word, self._lane)) == 1


def _whole(high: z3.BitVecRef, low: z3.BitVecRef) -> z3.BitVecRef | None:
    """Return the mask that two words are the halves of, if they are of one."""
    if high.decl().kind() != z3.Z3_OP_EXTRACT or low.decl().kind() != z3.Z3_OP_EXTRACT:
        return None
    one, other = high.arg(0), low.arg(0)
    parts = high.params() == [2 * HALF - 1, HALF] and low.params() == [HALF - 1, 0]
    return one if parts and one.eq(other) and one.size() == 2 * HALF else None
