"""Which cases run when not all can: a spread over what they differ in, cheap ones first, the same choice every time."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocmatrix.cases import ArgumentDescription, CaseDescription

DEFAULT_BUDGET = 10e9
"""Floating-point operations of the cases that run in about half a minute on two cores, translated to C."""
EXACT_BUDGET = 20e6
"""Floating-point operations of the cases whose matrix instructions are executed in exact arithmetic."""
VARIED_BUDGET = 10e6
"""Floating-point operations of the cases that run again in other orders and with other approximations, twice each."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What runs and what does not, both in the order of the cases."""

    chosen: tuple[CaseDescription, ...]
    left_out: tuple[str, ...]


def choose(cases: tuple[CaseDescription, ...], budget: float | None, *, least: float) -> Choice:
    """Choose cases whose costs together stay within a budget.

    One case is always chosen. Each next one is that which adds most that no chosen case has yet (operator, layouts,
    dtypes, kind of size, first word of the name) for its cost; of equal ones the cheapest, then the first.

    Args:
        cases: all of them.
        budget: floating-point operations; ``None`` for all cases.
        least: what a case costs however small it is, in floating-point operations.
    """
    if budget is None:
        return Choice(chosen=cases, left_out=())
    costs = {case.name: max(case.cost, least) for case in cases}
    rest = list(cases)
    covered: set[tuple[str, ...]] = set()
    names: set[str] = set()
    while rest:
        rest = [case for case in rest if not names or costs[case.name] <= budget]
        if not rest:
            break
        best = max(rest, key=lambda case: (_gain(case, covered) / costs[case.name], -costs[case.name]))
        rest.remove(best)
        names.add(best.name)
        covered.update(_features(best))
        budget -= costs[best.name]
    return Choice(
        chosen=tuple(case for case in cases if case.name in names),
        left_out=tuple(case.name for case in cases if case.name not in names),
    )


def exact_cases(cases: Sequence[CaseDescription], seed: int, *, least: float) -> frozenset[str]:
    """Return which cases are executed in exact matrix arithmetic: drawn by the seed, as many as fit a budget.

    Args:
        cases: those that run.
        seed: of the choice.
        least: what a case costs however small it is, in floating-point operations.
    """
    return _drawn(cases, random.Random(seed), EXACT_BUDGET, least)  # noqa: S311 - a reproducible choice, no secret


def varied_cases(cases: Sequence[CaseDescription], seed: int, *, least: float) -> frozenset[str]:
    """Return which cases run again in other orders and with other approximations; arguments as in ``exact_cases``."""
    generator = random.Random(f"varied {seed}")  # noqa: S311 - as above
    return _drawn(cases, generator, VARIED_BUDGET, least)


def _drawn(cases: Sequence[CaseDescription], generator: random.Random, budget: float, least: float) -> frozenset[str]:
    drawn = list(cases)
    generator.shuffle(drawn)
    names = set()
    for case in drawn:
        cost = max(case.cost, least)
        if cost <= budget:
            budget -= cost
            names.add(case.name)
    return frozenset(names)


def _gain(case: CaseDescription, covered: set[tuple[str, ...]]) -> int:
    return len(set(_features(case)) - covered)


def _features(case: CaseDescription) -> Iterator[tuple[str, ...]]:
    yield ("operator", case.op)
    yield ("word", case.name.split("-")[0])
    yield ("layouts", *(argument.layout for argument in case.arguments))
    yield ("dtypes", *(argument.dtype for argument in case.arguments))
    for argument in case.arguments:
        yield from _kinds_of_sizes(argument)


def _kinds_of_sizes(argument: ArgumentDescription) -> Iterator[tuple[str, ...]]:
    """Kernels treat these differently: one, less than a wave, ragged, whole tiles of 64 or 128."""
    for axis, size in enumerate(argument.shape):
        kind = "one" if size == 1 else "whole" if size % 64 == 0 else "small" if size < 64 else "ragged"  # noqa: PLR2004
        yield ("size", argument.name, str(axis), kind)
