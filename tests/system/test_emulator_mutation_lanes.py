"""What is proved of mutants that leave fewer lanes active, on code as the GEMM has it, and what must not be.

Each proof has the same code beside it with one thing changed, of which nothing may be claimed.
"""

from __future__ import annotations

import pytest
import z3

from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Instruction
from tests.mutation.assumed import Assumed
from tests.mutation.bound_rules import Bound
from tests.mutation.bounds import Arguments
from tests.mutation.change import change_of
from tests.mutation.equivalence import Prover, following
from tests.mutation.fact_kinds import Made, Result, made_key
from tests.mutation.idle import Leads
from tests.mutation.lockstep import Lockstep
from tests.mutation.operators import Listing, Mutant, Operator, list_kernel, mutants
from tests.mutation.ways import Ways

NARROW, WIDEN = "6a2080be", "7e00fe87"  # s_and_saveexec_b64 s[0:1], vcc; s_or_b64 exec, exec, s[0:1]
ALL_ACTIVE = "7e0180be"  # s_mov_b64 s[0:1], exec
ZERO, AND_12 = "8002007e", "8c000026"  # v_mov_b32 v0, 0; v_and_b32 v0, 12, v0
STORE, STORE_V5 = "008070dc02007f00", "008070dc02057f00"  # global_store_dword v[2:3], v0 (v5), off
BARRIER, NOP, END = "00008abf", "000080bf", "000081bf"
MEET = "000084bf"  # s_cbranch_scc0 to the next instruction: behind two of them only what dataflow knows is known
WORK_ITEMS, SIZE, WORKGROUP = 256, 0x28, 2


def branch(name: str, over: int) -> str:
    """Return a branch over so many dwords, back if it is negative."""
    codes = {"s_branch": 0x82, "s_cbranch_scc1": 0x85, "s_cbranch_execz": 0x88, "s_cbranch_execnz": 0x89}
    return (over & 0xFFFF).to_bytes(2, "little").hex() + f"{codes[name]:02x}bf"


def listing_of(*code: str) -> Listing:
    return list_kernel(bytes.fromhex("".join(code)))


def changed(number: int, operator: Operator, *code: str) -> Mutant:
    listing = listing_of(*code)
    place = listing.instructions[number].address
    return next(each for each in mutants(listing) if (each.offset, each.operator) == (place, operator))


def is_same(number: int, operator: Operator, *code: str, workgroup: int | None = None) -> bool:
    listing = listing_of(*code)
    arguments = Arguments(mode=Mode(), work_items=WORK_ITEMS, pointer=0, sizes=frozenset({SIZE}), workgroup=workgroup)
    return Lockstep(listing, Prover(listing, preloads=False), arguments).is_same(changed(number, operator, *code))


# -- terms where a truth holds ---------------------------------------------------------------------------------------


def test_a_term_is_the_same_where_the_truth_holds_and_simpler() -> None:
    a, b = z3.Bools("a b")
    x, y = z3.BitVecs("x y", 32)
    truth = z3.simplify(z3.And(a, z3.Not(b)))
    for term in (z3.If(a, x, y), z3.If(b, x + 1, z3.If(a, x, y)), z3.If(truth, x, y) ^ z3.If(z3.Or(a, b), x, y)):
        found = Assumed().where(truth, z3.simplify(term))
        assert not {str(a), str(b)} & {str(each) for each in z3.z3util.get_vars(found)}
        solver = z3.Solver()
        solver.add(truth, found != term)
        assert solver.check() == z3.unsat


def test_what_a_truth_does_not_decide_stays() -> None:
    a, b = z3.Bools("a b")
    x, y = z3.BitVecs("x y", 32)
    term = z3.If(a, x, y)
    assert Assumed().where(z3.Or(a, b), term).eq(term)
    assert Assumed().where(z3.Not(z3.And(a, b)), term).eq(term)


# -- how far a branch's target may be taken for what is behind it ------------------------------------------------------


def test_a_branch_to_what_does_nothing_without_lanes_may_always_be_taken() -> None:
    listing = listing_of(branch("s_cbranch_execnz", 2), AND_12, END, STORE_V5, branch("s_branch", -5))
    lead = Prover(listing, preloads=False).idle.leads(listing.instructions[0])
    assert lead is not None
    assert lead.place == listing.instructions[3].address
    other = listing_of(branch("s_cbranch_execnz", 2), AND_12, END, BARRIER, branch("s_branch", -4))
    assert Prover(other, preloads=False).idle.leads(other.instructions[0]) is None


def test_what_was_proved_of_code_does_not_hold_once_it_is_changed() -> None:
    listing = listing_of(branch("s_cbranch_execz", 2), STORE, AND_12, END)
    leads = Leads(listing.instructions, Prover(listing, preloads=False).idle)
    assert leads.without(frozenset()) == {0: 4}
    assert leads.without(frozenset({4})) == {}, "the store is what does nothing"
    assert leads.without(frozenset({0})) == {}, "the branch itself"
    assert leads.without(frozenset({12})) == {0: 4}, "behind it"


@pytest.mark.parametrize(("met", "same"), [(NOP, True), (branch("s_cbranch_execz", 5), False)], ids=["once", "twice"])
def test_a_copy_is_none_where_it_was_changed(met: str, *, same: bool) -> None:
    """The last WIDEN adds nothing where all lanes are active, and all where a branch without lanes leads to it."""
    start = (branch("s_cbranch_scc1", 6), NARROW, met, WIDEN, STORE, branch("s_branch", 4), ALL_ACTIVE)
    assert is_same(7, Operator.REMOVE, *start, WIDEN, STORE, END) is same


def test_branches_that_may_always_be_taken_make_no_more_paths() -> None:
    """A bit that differs is cut off behind more of them than there may be branches on one path."""
    once = (branch("s_cbranch_execnz", 1), branch("s_branch", 3), STORE_V5, branch("s_branch", 0))
    same = (AND_12, *once * 8, AND_12, STORE, END)
    assert is_same(0, Operator.CONSTANT, *same)
    assert not is_same(0, Operator.CONSTANT, AND_12, *once * 8, "8d000026", STORE, END), "v_and_b32 v0, 13, v0"


def test_a_change_that_is_met_again_is_a_change_again() -> None:
    again = (ZERO, AND_12, branch("s_cbranch_scc1", -3), STORE, END)
    listing = listing_of(*again)
    source = next(each for each in mutants(listing) if each.offset == 4 and each.operator is Operator.SOURCE)
    change = change_of(source, Prover(listing, preloads=False))
    assert change.comes_again
    assert change.reads_more, "what is dead in the original is read by the other program"
    once = listing_of(ZERO, AND_12, STORE, END)
    assert not change_of(source, Prover(once, preloads=False)).comes_again


def test_scalars_that_are_written_for_no_lane_are_not_known_to_who_reads_them() -> None:
    """Where no lane is active s5 keeps what it was: a mutant that reads it instead of s4 does not always find 5."""
    over = (branch("s_cbranch_execz", 3), "850085be", STORE)  # s_mov_b32 s5, 5
    far = listing_of(*over, "0402007e", STORE, END)  # v_mov_b32 v0, s4
    leads = Leads(far.instructions, Prover(far, preloads=False).idle)
    assert leads.without(frozenset({16})) == {0: 4}
    assert leads.without(frozenset({16}), frozenset({5})) == {}


def test_ways_do_not_begin_where_nothing_leads() -> None:
    """Behind branches that may always be taken there is one way only, however many jump to its places."""
    once = (branch("s_cbranch_execnz", 1), branch("s_branch", 3), STORE_V5, branch("s_branch", 0))
    listing = listing_of(AND_12, *once, END)
    leads = Leads(listing.instructions, Prover(listing, preloads=False).idle).without(frozenset())
    last = listing.instructions[-1].address

    def following_of(instruction: Instruction) -> tuple[int, ...]:
        return (leads[instruction.address],) if instruction.address in leads else following(instruction)

    (one,), *others = Ways(listing.instructions, (0,), following_of).to(last)
    assert len(one) == len(listing.instructions) - 2
    assert not others
    assert next(iter(Ways(listing.instructions, (0,), following).to(last))) == [[]]


def test_a_branch_to_what_follows_says_nothing() -> None:
    """Behind it SCC may be 1, so that s4 need not be 0: s_and_b32 s4, s5, s6; s_cbranch_scc0; v_mov_b32 v0, s4."""
    assert not is_same(3, Operator.REMOVE, ZERO, "05060486", MEET, "0402007e", STORE, END)


# -- columns that lie to the right of others ---------------------------------------------------------------------------

LOAD, WAIT = "000702c028000000", "7fc08cbf"  # s_load_dword s28, s[0:1], 0x28; s_waitcnt lgkmcnt(0)
ROUNDED = "1cff03817f000000", "039f0490", "0499048f", "03040381", "03870390"  # s3: tiles along s28
DIVISION = (
    "023085be", "033084be", "040c027e", "80048781", "02030688", "069f0690", "0147027e", "ff02020afeff7f4f",
    "010f027e", "0105107e", "07080792", "08070796", "08070881", "05080796", "07040892", "05088581", "07810981",
    "05048881", "050409bf", "09070785", "08050585", "07810881", "050409bf", "08070485", "04060488", "04069081",
)  # fmt: skip
"""As LLVM has it in the GEMM: s16 = s2 / s3, by a reciprocal and two corrections."""
COLUMN = "10871d8e", "ff000826cc000000", "1d080828"  # s_lshl_b32 s29, s16, 7; v4 = v0 & 0xcc; v4 = s29 | v4
ANY_BITS = "ff000826ff000000"  # v_and_b32 v4, 0xff, v0
IN_16, IN_32 = ("90083c28", "1c3c3c6a", "813c827d"), ("a0083c28", "1c3c3c6a", "813c827d")
"""v30 = 16 (32) | v4; v30 = s28 - v30; vcc = 1 < v30"""
WHERE, JOINED = "6a2084be", "7e04fe87"  # s_and_saveexec_b64 s[4:5], vcc; s_or_b64 exec, exec, s[4:5]


def quotient(workgroup: int | None) -> Bound | None:
    listing = listing_of(LOAD, WAIT, *ROUNDED, *DIVISION, END)
    arguments = Arguments(mode=Mode(), work_items=WORK_ITEMS, pointer=0, sizes=frozenset({SIZE}), workgroup=workgroup)
    return Prover(listing, preloads=False).bounds(arguments)[listing.instructions[-1].address].get(16)


def test_a_quotient_of_the_workgroups_number_is_hardly_larger() -> None:
    bound = quotient(WORKGROUP)
    assert bound is not None
    assert bound.largest <= (1 << 24) - 1, "128 times that is a positive int32"
    assert quotient(None) is None, "nothing is known of a number that may be any"


@pytest.mark.parametrize(
    ("workgroup", "column", "same"),
    [(WORKGROUP, COLUMN, True), (None, COLUMN, False), (WORKGROUP, (COLUMN[0], ANY_BITS, COLUMN[2]), False)],
    ids=["they are stored by fewer lanes", "they may be negative", "they may lie to the left"],
)
def test_lanes_that_store_no_column_further_to_the_right_need_not_be_joined(
    workgroup: int | None, column: tuple[str, ...], *, same: bool
) -> None:
    start = (LOAD, WAIT, *ROUNDED, *DIVISION, *column, MEET, MEET, *IN_16, WHERE, STORE)
    code = (*start, JOINED, *IN_32, WHERE, STORE, END)
    assert is_same(len(start), Operator.REMOVE, *code, workgroup=workgroup) is same


# -- what results were made of ---------------------------------------------------------------------------------------

V4, V4_OTHERWISE = "ff000826cc000000", "ff000826cf000000"  # v_and_b32 v4, 0xcc (0xcf), v0
DIFFERENCE = "1c080a6a"  # v_sub_u32 v5, s28, v4


@pytest.mark.parametrize(("between", "same"), [(NOP, True), (V4_OTHERWISE, False)], ids=["as it was", "made again"])
def test_a_difference_is_known_until_what_it_was_made_of_is_made_again(between: str, *, same: bool) -> None:
    code = (LOAD, WAIT, V4, DIFFERENCE, between, MEET, MEET, DIFFERENCE, STORE_V5, END)
    assert is_same(7, Operator.REMOVE, *code) is same


def test_results_and_what_they_are_made_of_end_where_these_are_made_again() -> None:
    listing = listing_of(LOAD, WAIT, V4, DIFFERENCE, NOP, branch("s_cbranch_scc1", -5), END)  # to V4
    load, _, v4, difference, behind, *_ = (each.address for each in listing.instructions)
    facts = Prover(listing, preloads=False).facts
    made = Made(place=difference, operands=(Result(load), Result(v4)))
    assert facts[behind][made_key(difference)] == made
    assert made_key(difference) not in facts[difference]
    reloaded = listing_of(LOAD, WAIT, V4, DIFFERENCE, NOP, branch("s_cbranch_scc1", -9), V4_OTHERWISE, END)  # to LOAD
    assert made_key(difference) not in Prover(reloaded, preloads=False).facts[listing.instructions[1].address]


def test_what_reads_more_than_its_operands_is_not_said_to_be_made_of_them() -> None:
    code = (LOAD, WAIT, "1c801c85", MEET, MEET, "1c801c85", V4, "1c08022a", STORE, END)  # s_cselect_b32 s28, s28, 0
    listing = listing_of(*code)
    assert not any(
        isinstance(fact, Made) and fact.place == listing.instructions[2].address
        for state in Prover(listing, preloads=False).facts.values()
        for fact in state.values()
    )
