"""What orders accesses: counters and barriers within a workgroup, releases and acquisitions between them."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.instruction import OFF, Encoding, Instruction, MemoryBits
from rocmatrix.emulator.races.clocks import Counter, GroupClocks
from rocmatrix.emulator.races.issue import Cache, Issue, Scope, issue_of
from rocmatrix.emulator.races.scopes import Scopes, joined
from rocmatrix.emulator.wait_counts import Wait, wait_of
from tests.unit.emulator.machine import make, v

_FLAG = 0x1000


def _memory(name: str, encoding: Encoding, **bits: bool) -> Instruction:
    return make(name, encoding, [], [v(0, 2), OFF, v(2)], memory=MemoryBits(**bits))


@pytest.mark.parametrize(
    ("instruction", "issue"),
    [
        (_memory("global_load_dword", Encoding.GLOBAL), Issue(vm=True)),
        (_memory("global_load_dword", Encoding.GLOBAL, sc0=True), Issue(vm=True, scope=Scope.WORKGROUP)),
        (_memory("global_store_dword", Encoding.GLOBAL, sc1=True), Issue(vm=True, scope=Scope.AGENT)),
        (_memory("flat_load_dword", Encoding.FLAT, sc0=True, sc1=True), Issue(vm=True, lgkm=True, scope=Scope.SYSTEM)),
        (_memory("global_atomic_add", Encoding.GLOBAL), Issue(vm=True, scope=Scope.AGENT, atomic=True)),
        (
            _memory("global_atomic_add", Encoding.GLOBAL, sc0=True),
            Issue(vm=True, scope=Scope.AGENT, atomic=True, returns=True),
        ),
        (_memory("global_load_lds_dword", Encoding.GLOBAL, lds=True), Issue(vm=True, to_lds=True)),
        (_memory("buffer_wbl2", Encoding.MUBUF, sc1=True), Issue(vm=True, cache=Cache.WRITE_BACK)),
        (_memory("buffer_wbl2", Encoding.MUBUF, sc0=True), Issue(vm=True)),
        (_memory("buffer_inv", Encoding.MUBUF, sc1=True), Issue(cache=Cache.INVALIDATE)),
        (_memory("ds_write_b32", Encoding.DS), Issue(lgkm=True)),
        (_memory("ds_add_u32", Encoding.DS), Issue(lgkm=True, atomic=True)),
        (_memory("s_load_dword", Encoding.SMEM), Issue()),
        (make("s_nop", Encoding.SOPP, [], []), None),
    ],
    ids=lambda value: str(value) if isinstance(value, Instruction) else "",
)
def test_the_scope_of_an_instruction_follows_from_its_bits(instruction: Instruction, issue: Issue | None) -> None:
    assert issue_of(instruction) == issue


def test_waits_are_read_from_both_parts_of_their_field() -> None:
    assert wait_of(make("s_waitcnt", Encoding.SOPP, [], [], immediate=0x0070)) == Wait(vm=0, lgkm=0)
    assert wait_of(make("s_waitcnt", Encoding.SOPP, [], [], immediate=0xCF7F)) == Wait(vm=63, lgkm=15)
    assert wait_of(make("s_waitcnt", Encoding.SOPP, [], [], immediate=0x4371)) == Wait(vm=17, lgkm=3)
    assert wait_of(make("s_nop", Encoding.SOPP, [], [])) is None


def _group(first: int = 0) -> GroupClocks:
    group = GroupClocks(first, 2, 64)
    for counter in (Counter.VM_ISSUED, Counter.LGKM_ISSUED):
        group.counters[:, counter] = 10
    return group


def test_a_barrier_orders_what_is_complete_in_lds_and_what_was_issued_to_memory() -> None:
    group = _group()
    group.counters[0, Counter.LGKM_DONE], group.counters[0, Counter.VM_DONE] = 7, 4
    group.barrier([1])
    assert group.lds_clock[1].tolist() == [7, 0, 4, 1], "LDS instructions of both waves, then their loads to LDS"
    assert group.clock[1].tolist() == [10, 10]
    assert group.clock[0].tolist() == [10, 0], "a wave that has ended learns nothing"


def _release(scopes: Scopes, group: GroupClocks, *, waits: bool = True, replaces: bool = True) -> None:
    """Write back, wait, and set a flag."""
    group.counters[0, Counter.VM_ISSUED] += 1
    scopes.write_back(group, 0)
    if waits:
        group.counters[0, Counter.VM_DONE] = group.counters[0, Counter.VM_ISSUED]
    scopes.publish(group, 0, [_FLAG], replaces=replaces)


def _acquire(scopes: Scopes, group: GroupClocks, *, waits: bool = True) -> None:
    group.counters[0, Counter.VM_ISSUED] += 1
    scopes.observe(group, 0, [_FLAG])
    if waits:
        group.counters[0, Counter.VM_DONE] = group.counters[0, Counter.VM_ISSUED]
    scopes.acquire(group, 0)


def _seen(scopes: Scopes, group: GroupClocks, wave: int, other: int) -> int:
    acquired = scopes.view(group, wave).acquired
    return 0 if acquired is None else int(acquired[other])


def test_a_release_and_an_acquire_order_what_was_issued_before_the_write_back() -> None:
    scopes, giver, taker = Scopes(4), _group(), _group(2)
    _release(scopes, giver)
    _acquire(scopes, taker)
    assert _seen(scopes, taker, 0, 0) == 11
    assert _seen(scopes, taker, 1, 0) == 0
    scopes.barrier(taker, [0, 1])
    assert _seen(scopes, taker, 1, 0) == 11, "a barrier passes it on"


@pytest.mark.parametrize("waits", [(False, True), (True, False)], ids=["the release", "the acquire"])
def test_without_a_wait_nothing_is_ordered(waits: tuple[bool, bool]) -> None:
    scopes, giver, taker = Scopes(4), _group(), _group(2)
    _release(scopes, giver, waits=waits[0])
    _acquire(scopes, taker, waits=waits[1])
    assert _seen(scopes, taker, 0, 0) == 0


def test_a_store_ends_what_others_released_and_a_read_modify_write_goes_on_with_it() -> None:
    for replaces, seen in ((True, 0), (False, 11)):
        scopes, giver, other, taker = Scopes(6), _group(), _group(2), _group(4)
        _release(scopes, giver)
        scopes.publish(other, 0, [_FLAG], replaces=replaces)
        _acquire(scopes, taker)
        assert _seen(scopes, taker, 0, 0) == seen


def test_what_one_wave_found_another_may_rely_on_behind_a_barrier() -> None:
    scopes, giver, taker = Scopes(4), _group(), _group(2)
    _release(scopes, giver)
    taker.counters[0, Counter.VM_ISSUED] += 1
    scopes.observe(taker, 0, [_FLAG])
    taker.counters[0, Counter.VM_DONE] = taker.counters[0, Counter.VM_ISSUED]
    scopes.barrier(taker, [0, 1])
    scopes.acquire(taker, 1)
    assert _seen(scopes, taker, 1, 0) == 11


def test_what_was_acquired_is_passed_on() -> None:
    scopes, first, second, third = Scopes(6), _group(), _group(2), _group(4)
    _release(scopes, first)
    _acquire(scopes, second)
    scopes.publish(second, 0, [_FLAG], replaces=True)
    _acquire(scopes, third)
    assert _seen(scopes, third, 0, 0) == 11


def test_knowledge_is_joined_without_changing_its_parts() -> None:
    one, other = {1: 5, 2: 3}, {2: 4}
    assert joined(one, other) == {1: 5, 2: 4}
    assert (one, other) == ({1: 5, 2: 3}, {2: 4})
    assert joined() == {}
