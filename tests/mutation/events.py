"""What others may see of two programs, held against each other."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from tests.mutation.questions import Questions
from tests.mutation.symbols import Event


def are_same_events(one: Sequence[Event], other: Sequence[Event], questions: Questions) -> bool:
    """Say whether two programs are proved to do the same at an instruction, where it happens."""
    if len(one) != len(other):
        one, other = (
            [event for event in events if not questions.are_equal(event.happens, z3.BoolVal(val=False))]
            for events in (one, other)
        )
    return len(one) == len(other) and all(
        _are_same(event, same, questions) for event, same in zip(one, other, strict=True)
    )


def _are_same(one: Event, other: Event, questions: Questions) -> bool:
    if one.what != other.what or len(one.words) != len(other.words):
        return False
    if not questions.must_be_equal(one.happens, other.happens):
        return False
    if one.plain and all(left.eq(right) for left, right in zip(one.plain, other.plain, strict=True)):
        return True
    pairs = zip(one.words, other.words, strict=True)
    return all(questions.must_be_equal(left, right, one.happens) for left, right in pairs)
