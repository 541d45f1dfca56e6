"""What Z3 is asked about two terms."""

from __future__ import annotations

import z3

from tests.mutation.symbols import Symbols

EFFORT, _MORE_EFFORT = 400_000, 4_000_000
"""Z3's own measure of work (``rlimit``) for one question: the same on every machine, unlike seconds."""
_FAILURES = 30
"""Questions that more effort did not answer, after which no more is made: a proof that fails is to come to an end."""


class Questions:
    """Questions of one proof.

    Attributes:
        where: what holds on the path that is followed.
    """

    def __init__(self, symbols: Symbols) -> None:
        """Take the symbols, of which facts may become known later."""
        self._facts = symbols.facts.all
        self._given = 0
        self._failures = 0
        self._failed: tuple[z3.ExprRef, z3.ExprRef] | None = None
        self._solver = z3.Solver()
        self._solver.set("rlimit", EFFORT)
        self.where: list[z3.BoolRef] = []

    def are_equal(self, one: z3.ExprRef, other: z3.ExprRef, where: z3.BoolRef | None = None) -> bool:
        """Say whether two terms are proved to be equal on this path, at least where a condition holds."""
        if one.eq(other):
            return True
        if one.sort() != other.sort():
            return False
        self._solver.add(*self._facts[self._given :])
        self._given = len(self._facts)
        self._solver.push()
        self._solver.add(*self.where, *([] if where is None else [where]), one != other)
        answer = self._solver.check()
        self._solver.pop()
        return bool(answer == z3.unsat)

    def hold(self, truth: z3.BoolRef) -> bool:
        """Say whether something is proved to hold on this path, with more effort."""
        return self.must_be_equal(truth, z3.BoolVal(val=True))

    def must_be_equal(self, one: z3.ExprRef, other: z3.ExprRef, where: z3.BoolRef | None = None) -> bool:
        """Say the same as ``are_equal``, with more effort as long as that has not failed too often."""
        if self._failed is not None and one.eq(self._failed[0]) and other.eq(self._failed[1]):
            return False  # the other half of a mask
        self._solver.set("rlimit", _MORE_EFFORT if self._failures < _FAILURES else EFFORT)
        try:
            equal = self.are_equal(one, other, where)
        finally:
            self._solver.set("rlimit", EFFORT)
        if not equal:
            self._failures, self._failed = self._failures + 1, (one, other)
        return equal

    def are_always_equal(self, one: z3.ExprRef, other: z3.ExprRef) -> bool:
        """Say whether two terms are proved to be equal on all paths from where the proof begins."""
        where, self.where = self.where, []
        try:
            return self.are_equal(one, other)
        finally:
            self.where = where
