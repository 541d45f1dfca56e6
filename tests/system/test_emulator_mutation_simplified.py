"""Simplified terms: the same form for the same term, whatever was simplified in between."""

from __future__ import annotations

import z3

from tests.mutation.simplified import simplified


def test_a_term_has_one_form_that_is_equal_to_it() -> None:
    a, b, c = z3.BitVecs("a b c", 32)
    term = z3.If(z3.And(b > c, a > b), a + 0, b * 1)
    first = simplified(term)
    simplified(z3.And(a > b, b > c))
    assert simplified(z3.If(z3.And(b > c, a > b), a + 0, b * 1)).eq(first), "the same term, made again"
    solver = z3.Solver()
    solver.add(first != term)
    assert solver.check() == z3.unsat
    assert not simplified(z3.If(z3.And(b > c, a > b), a + 1, b * 1)).eq(first)
