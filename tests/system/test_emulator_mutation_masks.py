"""What is proved of mutants around masks, branches and copies of code, and what must not be.

Machine code is written as it lies in memory, an instruction each.
"""

from __future__ import annotations

import pytest

from rocmatrix.emulator.descriptor import Mode
from tests.mutation.bounds import Arguments
from tests.mutation.copies import Copies
from tests.mutation.equivalence import Prover
from tests.mutation.fact_kinds import Compared, Lanes, Result
from tests.mutation.lockstep import Lockstep
from tests.mutation.operators import Listing, Mutant, Operator, list_kernel, mutants

ABOVE_0, ABOVE_1, ABOVE_MINUS_1 = "8000827d", "8100827d", "c100827d"  # v_cmp_lt_i32 vcc, 0 (1, -1), v0
NARROW, NARROW_MORE = "6a2080be", "6a2082be"  # s_and_saveexec_b64 s[0:1] (s[2:3]), vcc
REST = "7e008088"  # s_xor_b64 s[0:1], exec, s[0:1]
WIDEN, WIDEN_LESS = "7e00fe87", "7e02fe87"  # s_or_b64 exec, exec, s[0:1] (s[2:3])
ELSE = "002380be"  # s_andn2_saveexec_b64 s[0:1], s[0:1]
ZERO = "8002007e"  # v_mov_b32 v0, 0
AND_12, AND_13 = "8c000026", "8d000026"  # v_and_b32 v0, 12 (13), v0
STORE = "008070dc02007f00"  # global_store_dword v[2:3], v0, off
BARRIER, END = "00008abf", "000081bf"
AGAIN = "ffff85bf"  # s_cbranch_scc1 to itself
MEET = "000084bf"  # s_cbranch_scc0 to the next instruction, where two ways meet


def execz(over: int) -> str:
    """Return s_cbranch_execz over so many dwords."""
    return f"{over:02x}0088bf"


def jump(over: int) -> str:
    """Return s_branch over so many dwords, back if it is negative."""
    return (over & 0xFFFF).to_bytes(2, "little").hex() + "82bf"


def listing_of(*code: str) -> Listing:
    return list_kernel(bytes.fromhex("".join(code)))


def lockstep_of(listing: Listing) -> Lockstep:
    return Lockstep(listing, Prover(listing, preloads=False), Arguments(mode=Mode(), work_items=256))


def place_of(number: int, *code: str) -> int:
    return listing_of(*code).instructions[number].address


def changed(number: int, operator: Operator, *code: str) -> Mutant:
    place = place_of(number, *code)
    return next(each for each in mutants(listing_of(*code)) if (each.offset, each.operator) == (place, operator))


def is_same(number: int, operator: Operator, *code: str) -> bool:
    return lockstep_of(listing_of(*code)).is_same(changed(number, operator, *code))


def is_idle(number: int, *code: str) -> bool:
    return lockstep_of(listing_of(*code)).is_idle(place_of(number, *code))


# -- branches around what does nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "same"), [(AND_12, True), (BARRIER, False)], ids=["a copy", "other code"])
def test_a_skipped_branch_may_come_to_a_copy_of_its_target(last: str, *, same: bool) -> None:
    listing = listing_of(execz(3), ZERO, AND_12, jump(1), last, END)
    assert (Prover(listing).idle.leads(listing.instructions[0]) is not None) is same


@pytest.mark.parametrize(("far", "same"), [(ZERO, True), (BARRIER, False)], ids=["nothing", "a barrier"])
def test_what_is_skipped_may_lie_elsewhere(far: str, *, same: bool) -> None:
    listing = listing_of(execz(2), jump(3), ZERO, AND_12, END, far, jump(-5))
    assert (Prover(listing).idle.leads(listing.instructions[0]) is not None) is same


def test_copies_are_compared_on_all_paths() -> None:
    same = listing_of(AND_12, execz(3), ZERO, END, AND_12, "ffff89bf", END)  # execnz goes on where execz does not jump
    assert Copies(listing_of(AND_12, jump(1), AND_12, END)).are_same(0, 8)
    assert not Copies(same).are_same(0, 16)
    assert not Copies(listing_of(AND_13, jump(1), AND_12, END)).are_same(0, 8)


# -- what masks say of each other ------------------------------------------------------------------------------------


def after_none_is_above_0(condition: str) -> tuple[str, ...]:
    """Return code that comes to ``condition`` where no lane is above 0, and stores behind it."""
    return (ABOVE_0, NARROW, execz(2), AND_12, jump(6), WIDEN, condition, NARROW, execz(2), STORE, END)


CONDITION, BRANCH, LAST_STORE = 6, 8, 9
OTHERS = pytest.mark.parametrize(("condition", "proved"), [(ABOVE_1, True), (ABOVE_MINUS_1, False)], ids=["1", "-1"])


@OTHERS
def test_where_no_lane_is_above_0_none_is_above_1(condition: str, *, proved: bool) -> None:
    assert is_idle(BRANCH, *after_none_is_above_0(condition)) is proved


@OTHERS
def test_a_store_without_lanes_may_go(condition: str, *, proved: bool) -> None:
    assert is_same(LAST_STORE, Operator.REMOVE, *after_none_is_above_0(condition)) is proved


@OTHERS
def test_a_mask_that_is_empty_already_may_stay(condition: str, *, proved: bool) -> None:
    assert is_same(CONDITION, Operator.REMOVE, *after_none_is_above_0(condition)) is proved


@pytest.mark.parametrize("other", [ELSE, AND_13], ids=["else", "the others"])
def test_lanes_of_else_do_not_depend_on_how_many_of_the_others_are_active(other: str) -> None:
    code = (ABOVE_0, NARROW, REST, ABOVE_1, NARROW_MORE, MEET, WIDEN_LESS, other, STORE, END)
    assert is_same(6, Operator.REMOVE, *code) is (other is ELSE)


# -- what dataflow knows ---------------------------------------------------------------------------------------------


def test_a_comparison_of_all_lanes_is_known_until_its_operand_is_made_again() -> None:
    listing = listing_of(AND_12, ABOVE_1, ZERO, AND_12, END)
    facts = Prover(listing, preloads=False).facts
    assert facts[8][106] == Compared(name="v_cmp_lt_i32", constant=1, result=Result(0))
    again = listing_of(AND_12, ABOVE_1, jump(-3))
    assert 106 not in Prover(again, preloads=False).facts[4]


def test_a_comparison_of_some_lanes_is_not() -> None:
    listing = listing_of(AND_12, ABOVE_0, NARROW, ABOVE_1, AND_12, END)
    facts = Prover(listing, preloads=False).facts
    assert isinstance(facts[12][126], Lanes)
    assert 106 not in facts[16]


@pytest.mark.parametrize(("again", "same"), [(ABOVE_0, True), (ABOVE_1, False)], ids=["it", "another one"])
def test_a_comparison_may_go_whose_mask_is_known_where_ways_meet(again: str, *, same: bool) -> None:
    assert is_same(4, Operator.REMOVE, AND_13, ABOVE_0, MEET, MEET, again, NARROW, STORE, END) is same


# -- constants that differ ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "same"), [(AND_12, True), (AND_13, False)], ids=["are cut off", "are seen"])
def test_constants_that_differ_are_followed_through_loops(last: str, *, same: bool) -> None:
    assert is_same(0, Operator.CONSTANT, ZERO, AGAIN, last, STORE, END) is same
