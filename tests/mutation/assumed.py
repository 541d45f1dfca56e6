"""Terms where a truth holds: what a lane's registers are while it is active.

Results count in active lanes only. Where the same lanes stay active, a term loses by this all that it would be in other
lanes, and two programs that differ there only come to the same term, which nobody has to prove equal.
"""

from __future__ import annotations

import z3

from tests.mutation.simplified import simplified

_TRUE, _FALSE = z3.BoolVal(val=True), z3.BoolVal(val=False)


class Assumed:
    """Simplifies terms by truths."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._pairs: dict[int, tuple[z3.BoolRef, list[tuple[z3.BoolRef, z3.BoolRef]]]] = {}
        """By the truth's number, with the truth itself, so that no other term gets this number."""

    def where(self, truth: z3.BoolRef, term: z3.ExprRef) -> z3.ExprRef:
        """Return a term that is the same wherever a truth holds."""
        if z3.is_true(truth) or z3.is_false(truth):
            return term
        return simplified(z3.substitute(term, *self._given(truth)))

    def _given(self, truth: z3.BoolRef) -> list[tuple[z3.BoolRef, z3.BoolRef]]:
        """Return what a truth makes true or false, in the forms that Z3's simplifier leaves."""
        key = truth.get_id()
        if key not in self._pairs:
            found: list[tuple[z3.BoolRef, z3.BoolRef]] = []
            _collect(truth, holds=True, found=found)
            self._pairs[key] = truth, found
        return self._pairs[key][1]


def _collect(truth: z3.BoolRef, *, holds: bool, found: list[tuple[z3.BoolRef, z3.BoolRef]]) -> None:
    """Add a truth that holds or does not, and the parts of it of which that is true as well."""
    if z3.is_not(truth):
        _collect(truth.arg(0), holds=not holds, found=found)
        return
    found.append((truth, _TRUE if holds else _FALSE))
    if (holds and z3.is_and(truth)) or (not holds and z3.is_or(truth)):
        for part in truth.children():
            _collect(part, holds=holds, found=found)
