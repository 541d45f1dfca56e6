"""Simplified terms, the same one for the same term.

Z3's simplifier sorts operands by the numbers that terms were given when they were made, so that it may come to another
form when it is asked the same again. Two programs that do the same would then have terms that are large, equal, and too
hard to prove equal.
"""

from __future__ import annotations

import z3

_MOST = 200_000
"""Terms that are kept."""
_known: dict[int, tuple[z3.ExprRef, z3.ExprRef]] = {}
"""By a term's number, which no other term gets while it is kept: the term, and what it is simplified to."""


def simplified(term: z3.ExprRef) -> z3.ExprRef:
    """Return an equal term, as simple as Z3 makes it: always the same for the same one while both are in use."""
    key = term.get_id()
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = term, z3.simplify(term)
    return _known[key][1]
