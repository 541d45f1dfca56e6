"""A case that passed, run again as a device may also run it: other orders, late loads, either end of 1 ulp.

Workgroups and waves run in any order, loads arrive as late as waits allow (``delivery``), and ``v_rcp``, ``v_rsq``,
``v_sqrt``, ``v_exp`` and ``v_log`` give one of two results (``numerics.Approximation``). So each repetition has an
order of its own, loads that arrive late, in all waves or in half of them, and one end. Where the bits differ, launches
in that order that leave out one thing after the other say which it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.check.comparison import Comparison
from rocmatrix.emulator.delivery import Delivery
from rocmatrix.emulator.host.dtypes import as_bytes
from rocmatrix.emulator.numerics import Approximation, Numerics

Repeat = Callable[[Numerics, int, Delivery], Array]
"""Runs the case with these numerics, this seed of the orders and this arrival of loads, and returns its result."""
_REPETITIONS = ((Approximation.LOW, Delivery.LATE), (Approximation.HIGH, Delivery.MIXED))


@dataclass(frozen=True, kw_only=True)
class Variation:
    """What a repetition showed.

    Attributes:
        remark: for people.
        wrong: it is a result that a device may give, and out of tolerance.
    """

    remark: str
    wrong: bool = False


def variations(
    first: Array, numerics: Numerics, seed: int, *, repeat: Repeat, judge: Callable[[Array], Comparison]
) -> Iterator[Variation]:
    """Run a case again, twice, and yield what is to be said of it.

    Args:
        first: its result.
        numerics: that it ran with.
        seed: of its orders.
        repeat: runs it again.
        judge: compares a result with the reference.
    """
    for order, (end, delivery) in enumerate(_REPETITIONS, start=seed + 1):
        got = repeat(replace(numerics, approximation=end), order, delivery)
        if _same(first, got):
            continue
        ordered = repeat(numerics, order, Delivery.EARLY)
        if not _same(first, ordered):
            found = judge(ordered)
            what = f"{_differing(first, ordered)} depend on the order of workgroups and waves (seed {order})"
            yield Variation(remark=what if found.passed else f"{what}: {found.detail}", wrong=not found.passed)
        late = repeat(numerics, order, delivery)
        if not _same(ordered, late):
            what = f"{_differing(ordered, late)} depend on when loads arrive, so that a wait is missing or too weak"
            yield Variation(remark=f"{what} (loads {delivery}, seed {order})", wrong=True)
            continue
        found = judge(got)
        if not found.passed and not _same(ordered, got):
            yield Variation(
                remark=f"it holds with the nearest approximations; at the {end} end of 1 ulp {found.detail}"
            )


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and np.array_equal(as_bytes(one), as_bytes(other))


def _differing(one: Array, other: Array) -> str:
    if one.shape != other.shape:
        return "shapes of the result"
    return f"{np.count_nonzero(as_bytes(one) != as_bytes(other))} of {one.size} elements"
