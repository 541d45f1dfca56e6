"""How large registers are known to be, and the larger one of several numbers: as far as proofs may go with either.

Each proof has the same code beside it with one thing changed, of which nothing may be claimed.
"""

from __future__ import annotations

import pytest

from rocmatrix.emulator.descriptor import Mode
from tests.mutation.bound_rules import Bound
from tests.mutation.bounds import LARGEST_SIZE, Arguments, Bounds, find_bounds
from tests.mutation.equivalence import Prover, following
from tests.mutation.lockstep import Lockstep
from tests.mutation.operators import Listing, Operator, list_kernel, mutants

SIZE = 0x28
LOAD, WAIT = "000102c028000000", "7fc08cbf"  # s_load_dword s4, s[0:1], 0x28; s_waitcnt lgkmcnt(0)
OTHER_POINTER = "800080be"  # s_mov_b32 s0, 0
SIGN, SHIFTED = "049f0590", "0599058f"  # s_ashr_i32 s5, s4, 31; s_lshr_b32 s5, s5, 25
MOVE = "0502007e"  # v_mov_b32 v0, s5
STORE, STORE_V4, END = "008070dc02007f00", "008070dc02047f00", "000081bf"  # global_store_dword v[2:3], v0 (v4), off
ZERO, ONE_MORE, AGAIN = "800084be", "04810481", "feff84bf"  # s_mov_b32 s4, 0; s_add_i32 s4, s4, 1; s_cbranch_scc0 -2
MAX_V5, MAX_V4, MIN_V4 = "050b0a16", "040b0816", "040b0814"  # v_max_f32 v5, v5, v5; v_max_f32 (v_min_f32) v4, v4, v5
WORK_ITEMS, FIRST_VGPR = 256, 256


def listing_of(*code: str) -> Listing:
    return list_kernel(bytes.fromhex("".join(code)))


def is_same(
    number: int, operator: Operator, *code: str, sizes: tuple[int, ...] = (SIZE,), index: int = 0, nan: bool = False
) -> bool:
    """Say whether the change of one instruction, by its place in the code, is proved to change nothing."""
    listing = listing_of(*code)
    place = listing.instructions[number].address
    kind = (place, operator, index)
    (mutant,) = (each for each in mutants(listing) if (each.offset, each.operator, each.index) == kind)
    arguments = Arguments(mode=Mode(), work_items=WORK_ITEMS, pointer=0, sizes=frozenset(sizes))
    return Lockstep(listing, Prover(listing, preloads=False), arguments).is_same(mutant, whichever_nan=nan)


def bounds_at_end(*code: str) -> Bounds:
    listing = listing_of(*code)
    instructions = {each.address: each for each in listing.instructions}
    arguments = Arguments(mode=Mode(), work_items=WORK_ITEMS, pointer=0, sizes=frozenset((SIZE,)))
    return find_bounds(instructions, (0,), following, {}, arguments)[listing.instructions[-1].address]


def test_a_size_has_no_sign() -> None:
    code = (LOAD, WAIT, SIGN, SHIFTED, MOVE, STORE, END)
    assert is_same(3, Operator.REMOVE, *code)
    assert not is_same(3, Operator.REMOVE, *code, sizes=(SIZE + 4,)), "another argument may be negative"
    assert not is_same(2, Operator.REMOVE, *code), "what is in its place is not known"


def test_what_is_loaded_from_elsewhere_is_no_size() -> None:
    assert bounds_at_end(LOAD, WAIT, END)[4] == Bound(LARGEST_SIZE, 0x7FFFFFFF)
    assert 4 not in bounds_at_end(OTHER_POINTER, LOAD, WAIT, END)


def test_the_first_lane_of_a_whole_wave_is_a_multiple_of_its_size() -> None:
    listing = listing_of("0005087e", END)  # v_readfirstlane_b32 s4, v0
    arguments = Arguments(mode=Mode(), work_items=WORK_ITEMS)
    assert Prover(listing, preloads=False).bounds(arguments)[4][4] == Bound(192, 192)
    fewer = listing_of("6a20eabe", "0005087e", END)  # s_and_saveexec_b64 vcc, vcc before it
    assert Prover(fewer, preloads=False).bounds(arguments)[8][4] == Bound(255, 255)


def test_addresses_have_48_bits() -> None:
    assert bounds_at_end(END)[1] == Bound(0xFFFF, 0xFFFF)
    assert 1 not in bounds_at_end("040081be", END), "s_mov_b32 s1, s4"


def test_what_a_loop_counts_up_ends_the_search_and_is_not_bounded() -> None:
    assert 4 not in bounds_at_end(ZERO, ONE_MORE, AGAIN, END)


@pytest.mark.parametrize(
    ("instruction", "largest", "bits"),
    [
        ("8c000026", 12, 12),  # v_and_b32 v0, 12, v0
        ("82000024", 1020, 1020),  # v_lshlrev_b32 v0, 2, v0
        ("82000020", 63, 63),  # v_lshrrev_b32 v0, 2, v0
        ("82000022", 63, 63),  # v_ashrrev_i32 v0, 2, v0
        ("90000028", 255, 255),  # v_or_b32 v0, 16, v0
        ("90000068", 271, 511),  # v_add_u32 v0, 16, v0
    ],
)
def test_results_are_as_large_as_operands_make_them(instruction: str, largest: int, bits: int) -> None:
    listing = listing_of(instruction, END)
    assert FIRST_VGPR in bounds_at_end(END), "v0 is a work item's number"
    prover = Prover(listing, preloads=False)
    assert prover.bounds(Arguments(mode=Mode(), work_items=WORK_ITEMS))[4][FIRST_VGPR] == Bound(largest, bits)


def columns(bits: str) -> tuple[str, ...]:
    """Return stores of two columns of what a lane holds, each where it is left of a limit, its mask saved and restored.

    Args:
        bits: of v0 that the first column may have, a literal.
    """
    first = (f"ff002026{bits}", "8b200028", "0000c4d009000200")  # v16 = v0 & bits; v0 = v16 | 11; s[0:1] = s9 > v0
    store = ("6a008286", "022080be", "020088bf", "2c8070dc12077f00", "7e00fe87")  # where vcc too: through s[0:1]
    second = ("90200028", "0000c4d009000200", "6a008286", "022080be", "020088bf", "408070dc12087f00", END)  # | 16
    return (*first, *store, *second)


def test_lanes_that_are_lost_where_nothing_further_is_stored_may_be() -> None:
    assert is_same(4, Operator.DESTINATION, *columns("e4000000"))
    assert not is_same(4, Operator.DESTINATION, *columns("ff000000")), "a column may be left of the one before it"


def test_which_of_several_nan_is_the_largest_is_said_apart() -> None:
    code = (MAX_V5, MAX_V4, STORE_V4, END)
    assert not is_same(0, Operator.SOURCE, *code, index=1)
    assert is_same(0, Operator.SOURCE, *code, index=1, nan=True)
    assert not is_same(0, Operator.SOURCE, MAX_V5, MIN_V4, STORE_V4, END, index=1, nan=True)
    assert not is_same(1, Operator.SOURCE, *code, index=1, nan=True), "v5 is not among them then"


FIRST, WAVE, HALF_A_WAVE = "0005087e", "04ff0486c0000000", "04ff0486e0000000"
"""v_readfirstlane_b32 s4, v0; s_and_b32 s4, s4, 0xc0 (0xe0)."""
LANE, FEW, COPY_V1, STORE_V5 = "010001d2007f1100", "010001d2003f1100", "01030a7e", "008070dc02057f00"
"""v_and_or_b32 v1, v0, 63 (31), s4; v_mov_b32 v5, v1; global_store_dword v[2:3], v5, off."""
NEXT = "81000068"  # v_add_u32 v0, 1, v0


def test_a_work_item_is_its_wave_and_its_lane() -> None:
    assert is_same(3, Operator.SOURCE, FIRST, WAVE, LANE, COPY_V1, STORE_V5, END)
    assert not is_same(3, Operator.SOURCE, FIRST, HALF_A_WAVE, FEW, COPY_V1, STORE_V5, END), "bit 5 is the lane's"
    assert not is_same(3, Operator.SOURCE, FIRST, WAVE, FEW, COPY_V1, STORE_V5, END), "bit 5 is missing"
    assert not is_same(4, Operator.SOURCE, NEXT, FIRST, WAVE, LANE, COPY_V1, STORE_V5, END), "of another number"


LIMIT, REST = "ff008abefeffff7f", "ff008bbe00700200"  # s_mov_b32 s10, 0x7ffffffe; s_mov_b32 s11, 0x27000
FOURFOLD, COPIED = "82020e24", "01030e7e"  # v_lshlrev_b32 v7, 2, v1; v_mov_b32 v7, v1
LOAD_V2, STORE_V2 = "001050e007020280", "001070e007020280"  # buffer_load (store)_dword v2, v7, s[8:11], 0 offen
ARRIVED = "700f8cbf"  # s_waitcnt vmcnt(0)


def test_a_buffer_may_be_longer_by_a_byte_at_which_no_word_begins() -> None:
    behind = (LOAD_V2, ARRIVED, STORE_V2, END)
    assert is_same(0, Operator.CONSTANT, LIMIT, REST, FOURFOLD, *behind)
    assert not is_same(0, Operator.CONSTANT, LIMIT, REST, COPIED, *behind), "any byte may be the first"


def test_an_operand_that_is_negated_has_a_sign() -> None:
    """Behind v_and_b32 v2, 0x7fffffff, v2: v_cndmask_b32 v1, v2, v2, s[0:1], and with -v2."""
    arguments = Arguments(mode=Mode(), work_items=WORK_ITEMS)
    for operands, known in (("02050200", True), ("02050220", False)):
        listing = listing_of("ff040426ffffff7f", "010000d1" + operands, END)
        bounds = Prover(listing, preloads=False).bounds(arguments)[16]
        assert (FIRST_VGPR + 1 in bounds) is known
