"""Code of which no proof may be claimed, though one was before: a reader of the proofs found each of them."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.descriptor import Mode
from tests.mutation.bounds import Arguments
from tests.mutation.equivalence import Prover, Reason
from tests.mutation.lockstep import Lockstep
from tests.mutation.operators import Listing, Mutant, Operator, list_kernel, mutants

ARGUMENTS = Arguments(mode=Mode(), work_items=256, pointer=0)
END, STORE = "000081bf", "008070dc02007f00"  # s_endpgm; global_store_dword v[2:3], v0, off
ZERO_V2, ZERO_V3, READ_V2 = "8002047e", "8002067e", "00050668"  # v_mov_b32 v2, 0; v3; v_add_u32 v3, v0, v2
STORE_V3 = "008070dc02037f00"
NARROW, WIDEN, ALL_LANES = "6a2080be", "7e00fe87", "c101febe"  # saveexec s[0:1], vcc; s_or_b64 exec; all lanes
LANE_1 = "02008ad204000100"  # v_writelane_b32 v2, s4, 0
FIVE, COPY, ZERO = "850084be", "0402007e", "8002007e"  # s_mov_b32 s4, 5; v_mov_b32 v0, s4; v_mov_b32 v0, 0
SKIP = "010088bf"  # s_cbranch_execz over one dword
OVER_TWO = "020084bf"  # s_cbranch_scc0
CALL = "041e9ebe"  # s_swappc_b64 s[30:31], s[4:5]


def listing_of(*code: str) -> Listing:
    return list_kernel(bytes.fromhex("".join(code)))


def mutant_of(listing: Listing, number: int, operator: Operator, index: int = 0) -> Mutant:
    place = listing.instructions[number].address
    kind = (place, operator, index)
    return next(each for each in mutants(listing) if (each.offset, each.operator, each.index) == kind)


def reason(number: int, *code: str, operator: Operator = Operator.REMOVE, index: int = 0) -> Reason | None:
    listing = listing_of(*code)
    return Prover(listing, preloads=False).reason(mutant_of(listing, number, operator, index))


def is_same(number: int, *code: str) -> bool:
    listing = listing_of(*code)
    lockstep = Lockstep(listing, Prover(listing, preloads=False), ARGUMENTS)
    return lockstep.is_same(mutant_of(listing, number, Operator.REMOVE))


def test_two_moves_of_one_constant_are_the_same_only_where_no_branch_leads_in_behind_them() -> None:
    code = (ZERO_V2, ZERO_V3, READ_V2, STORE_V3, END)
    assert reason(2, *code, operator=Operator.SOURCE, index=1) is Reason.SAME_VALUE
    assert reason(3, OVER_TWO, *code, operator=Operator.SOURCE, index=1) is None
    assert reason(3, NARROW, *code, operator=Operator.SOURCE, index=1) is None, "in active lanes alone"


def test_a_branch_does_not_lead_past_what_only_the_removed_instruction_overwrites() -> None:
    assert not is_same(5, NARROW, "030088bf", FIVE, STORE, WIDEN, FIVE, COPY, STORE, END)


def test_a_lane_is_written_without_active_lanes_too() -> None:
    assert reason(0, "020088bf", LANE_1, READ_V2, STORE_V3, END) is None
    assert reason(0, SKIP, ZERO_V2, READ_V2, STORE_V3, END) is Reason.SKIP


def test_active_lanes_do_not_overwrite_what_is_written_to_another_lane() -> None:
    assert reason(1, NARROW, LANE_1, ZERO_V2, ALL_LANES, READ_V2, STORE_V3, END) is None


def test_nothing_is_known_behind_a_call() -> None:
    assert not is_same(2, ZERO, CALL, ZERO, STORE, END)
    assert is_same(1, ZERO, ZERO, STORE, END)


@pytest.mark.parametrize("code", ["000004d800010000", "000018d800010200"])
def test_atomics_of_lds_are_not_dead(code: str) -> None:
    """ds_rsub_u32 and ds_mskor_b32 without a result."""
    assert reason(0, code, END) is not Reason.DEAD
