"""What is under way: counters, orders, limits, and what two paths make of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.emulator.analysis.effects import effects_of
from rocmatrix.emulator.analysis.scoreboard import Event, Scoreboard, event_of
from rocmatrix.emulator.instruction import Encoding, MemoryBits, Operand
from rocmatrix.emulator.wait_counts import MAX_LGKMCNT, MAX_VMCNT
from tests.unit.emulator.machine import make, s, v

FOREVER = MAX_VMCNT, MAX_LGKMCNT


def _event(name: str, encoding: Encoding, address: int, result: Operand | None, *sources: Operand) -> Event:
    instruction = make(name, encoding, [result] if result else [], list(sources), memory=MemoryBits())
    placed = replace(instruction, address=address)
    event = event_of(placed, effects_of(placed))
    assert event is not None
    return event


def load(address: int) -> Event:
    return _event("global_load_dword", Encoding.GLOBAL, address, v(1), v(2), s(0, 2))


def store(address: int) -> Event:
    return _event("global_store_dword", Encoding.GLOBAL, address, None, v(2), s(0, 2), v(3))


def lds_read(address: int) -> Event:
    return _event("ds_read_b32", Encoding.DS, address, v(1), v(2))


def lds_write(address: int) -> Event:
    return _event("ds_write_b32", Encoding.DS, address, None, v(2), v(3))


def scalar_load(address: int) -> Event:
    return _event("s_load_dword", Encoding.SMEM, address, s(4), s(0, 2))


def flat_load(address: int) -> Event:
    return _event("flat_load_dword", Encoding.FLAT, address, v(1), v(2, 2))


def started(*events: Event) -> Scoreboard:
    scoreboard = Scoreboard()
    for event in events:
        scoreboard.start(event)
    return scoreboard


@given(count=st.integers(1, 40), left=st.integers(0, MAX_VMCNT))
def test_memory_completes_in_order(count: int, left: int) -> None:
    scoreboard = started(*(load(address) for address in range(count)))
    scoreboard.wait(left, MAX_LGKMCNT)
    still = range(max(count - left, 0), count) if left < MAX_VMCNT else range(count)
    assert sorted(scoreboard.pending) == list(still)


def test_a_store_counts_but_nobody_asks_for_it() -> None:
    scoreboard = started(load(0), store(1), store(2))
    assert list(scoreboard.pending) == [0]
    scoreboard.wait(2, MAX_LGKMCNT)
    assert not scoreboard.pending


@pytest.mark.parametrize("left", [1, 2, 14])
def test_scalar_loads_complete_only_at_zero(left: int) -> None:
    scoreboard = started(scalar_load(0), scalar_load(1))
    scoreboard.wait(0, left)
    assert sorted(scoreboard.pending) == [0, 1]
    scoreboard.wait(MAX_VMCNT, 0)
    assert not scoreboard.pending


def test_lds_keeps_its_order_beside_scalar_loads_that_do_not_count_for_it() -> None:
    scoreboard = started(lds_read(0), scalar_load(1), lds_read(2))
    scoreboard.wait(MAX_VMCNT, 2)
    assert 0 in scoreboard
    scoreboard.wait(MAX_VMCNT, 1)
    assert 0 not in scoreboard
    assert 2 in scoreboard


@pytest.mark.parametrize("waits", [((0, MAX_LGKMCNT), (MAX_VMCNT, 0)), ((MAX_VMCNT, 0), (0, MAX_LGKMCNT)), ((0, 0),)])
def test_flat_needs_both_counters_at_zero(waits: tuple[tuple[int, int], ...]) -> None:
    scoreboard = started(flat_load(0))
    for wait in waits[:-1]:
        scoreboard.wait(*wait)
        assert 0 in scoreboard
    scoreboard.wait(*waits[-1])
    assert 0 not in scoreboard


def test_a_flat_access_does_not_push_others_out() -> None:
    scoreboard = started(load(0), flat_load(1))
    scoreboard.wait(1, MAX_LGKMCNT)
    assert 0 in scoreboard


def test_the_largest_values_of_the_counters_wait_for_nothing() -> None:
    scoreboard = started(*(load(address) for address in range(100)), *(lds_read(100 + n) for n in range(40)))
    scoreboard.wait(*FOREVER)
    assert len(scoreboard.pending) == 140
    scoreboard.wait(MAX_VMCNT - 1, MAX_LGKMCNT - 1)
    assert len(scoreboard.pending) == MAX_VMCNT - 1 + MAX_LGKMCNT - 1


@given(first=st.integers(0, 70), second=st.integers(0, 70))
def test_of_two_paths_the_one_with_fewer_accesses_behind_counts(first: int, second: int) -> None:
    one = started(load(0), *(store(1 + n) for n in range(first)))
    other = started(load(0), *(store(1 + n) for n in range(second)))
    changed = one.merge(other)
    assert changed == (min(second, MAX_VMCNT) < min(first, MAX_VMCNT))
    assert not one.merge(other)
    fewest = min(first, second)
    for left in (fewest + 1, fewest):
        one.wait(left, MAX_LGKMCNT)
        assert (0 in one) == (left > fewest or left >= MAX_VMCNT)


def test_a_loops_next_access_replaces_the_one_before() -> None:
    scoreboard = started(load(0), store(1), load(0))
    scoreboard.wait(1, MAX_LGKMCNT)
    assert 0 in scoreboard


def test_a_barrier_exposes_accesses_to_lds_until_they_are_complete() -> None:
    events = {0: lds_write(0), 1: load(1)}
    scoreboard = started(*events.values())
    scoreboard.pass_barrier(7, events)
    assert scoreboard.behind == {0: 7}
    scoreboard.wait(MAX_VMCNT, 0)
    assert scoreboard.behind == {}
