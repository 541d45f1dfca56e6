"""What a kernel loads from LDS is no signalling NaN where it stores none: proved, and beside it what must not be."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.descriptor import Mode
from tests.mutation.bounds import Arguments
from tests.mutation.equivalence import Prover
from tests.mutation.lds_floats import lds_is_quiet
from tests.mutation.lockstep import Lockstep
from tests.mutation.operators import Operator, list_kernel, mutants

PLACES, ODD_PLACES = "8c000226", "8d000226"  # v_and_b32 v1, 12 (13), v0
QUIET, FIRST = "04090816", "04050c7e"  # v_max_f32 v4, v4, v4; v_readfirstlane_b32 s6, v4
MOVE, ONE_LANE = "0602087e", "8101febe"  # v_mov_b32 v4, s6; s_mov_b64 exec, 1
PUT, PUT_HALF, PUT_V6 = "00001ad801040000", "00003ed801040000", "00001ad801060000"  # ds_write_b32 (b16) v1, v4 (v6)
GET, ADD = "00006cd801000005", "000000d801060000"  # ds_read_b32 v5, v1; ds_add_u32 v1, v6
WAIT, AGAIN = "7fc08cbf", "050b0a16"  # s_waitcnt lgkmcnt(0); v_max_f32 v5, v5, v5
SET_MODE = "010000b9"  # s_setreg_b32 hwreg(HW_REG_MODE), s0
STORE, END = "008070dc02057f00", "000081bf"  # global_store_dword v[2:3], v5, off
GOES_ON = (WAIT, GET, WAIT, AGAIN, STORE, END)


def may_go(*code: str, ieee: bool = True) -> bool:
    """Say whether the maximum behind the load is proved to change nothing."""
    listing = list_kernel(bytes.fromhex("".join((*code, *GOES_ON))))
    place = listing.instructions[-3].address
    (mutant,) = (each for each in mutants(listing) if (each.offset, each.operator) == (place, Operator.REMOVE))
    arguments = Arguments(mode=Mode(ieee=ieee), work_items=256)
    return Lockstep(listing, Prover(listing, preloads=False), arguments).is_same(mutant)


def test_what_comes_out_of_lds_is_as_quiet_as_what_went_in() -> None:
    assert may_go(PLACES, QUIET, PUT)
    assert may_go(PLACES, QUIET, FIRST, MOVE, PUT)


@pytest.mark.parametrize(
    "code",
    [(PLACES, PUT), (PLACES, QUIET, PUT, PUT_V6), (PLACES, QUIET, PUT_HALF), (ODD_PLACES, QUIET, PUT), (QUIET, PUT),
     (PLACES, QUIET, PUT, ADD), (PLACES, ONE_LANE, QUIET, PUT), (PLACES, FIRST, MOVE, PUT)],
    ids=["any bits", "any bits elsewhere", "a half", "an odd place", "any place", "an atomic", "other lanes",
         "a lane's bits"],
)  # fmt: skip
def test_other_bits_may_be_a_signalling_nan(code: tuple[str, ...]) -> None:
    assert not may_go(*code)


def is_known(*code: str, ieee: bool = True) -> bool:
    listing = list_kernel(bytes.fromhex("".join((*code, *GOES_ON))))
    prover = Prover(listing, preloads=False)
    bounds = prover.bounds(Arguments(mode=Mode(ieee=ieee), work_items=256))
    return lds_is_quiet({each.address: each for each in listing.instructions}, prover, bounds, ieee=ieee)


def test_maxima_are_quiet_in_ieee_mode_alone() -> None:
    assert is_known(PLACES, QUIET, PUT)
    assert not is_known(PLACES, QUIET, PUT, ieee=False)
    assert not is_known(PLACES, QUIET, SET_MODE, PUT)
