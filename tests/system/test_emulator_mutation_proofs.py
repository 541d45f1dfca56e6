"""Two programs executed side by side over unknown values: what is proved to be the same, and what must not be."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.descriptor import Mode
from tests.mutation.bounds import Arguments
from tests.mutation.equivalence import Prover
from tests.mutation.lockstep import Lockstep
from tests.mutation.operators import Mutant, Operator, list_kernel, mutants

TIMES_4 = "82000024"  # v_lshlrev_b32 v0, 2, v0
AND_12 = "8c000026"  # v_and_b32 v0, 12, v0
ADD = "00030002"  # v_add_f32 v0, v0, v1
QUIET = "00010016"  # v_max_f32 v0, v0, v0
FIVE, SIX = "850084be", "860084be"  # s_mov_b32 s4, 5 (6)
COPY = "0402007e"  # v_mov_b32 v0, s4
MOVE = "04030a7e"  # v_mov_b32 v5, v4
SHIFT = "fa02007e051101ff"  # v_mov_b32_dpp v0, v5 row_shr:1 bound_ctrl:0
FIRST = "0005087e"  # v_readfirstlane_b32 s4, v0
STORE = "008070dc02007f00"  # global_store_dword v[2:3], v0, off
ALL_LANES = "c101febe"  # s_mov_b64 exec, -1
BARRIER, WAIT, INVALIDATE = "00008abf", "700f8cbf", "0080a4e000000000"  # s_barrier; s_waitcnt vmcnt(0); buffer_inv sc1
END = "000081bf"  # s_endpgm


def is_same(number: int, operator: Operator, *code: str) -> bool:
    """Say whether the change of one instruction, by its place in the code, is proved to change nothing."""
    listing = list_kernel(bytes.fromhex("".join(code)))
    place = listing.instructions[number].address
    (mutant,) = (each for each in mutants(listing) if each.offset == place and is_of(each, operator))
    return Lockstep(listing, Prover(listing, preloads=False), Arguments(mode=Mode(), work_items=256)).is_same(mutant)


def is_of(mutant: Mutant, operator: Operator) -> bool:
    return mutant.operator is operator and mutant.index == 0


@pytest.mark.parametrize(
    ("number", "operator", "code"),
    [
        (1, Operator.CONSTANT, (TIMES_4, AND_12, STORE, END)),
        (1, Operator.REMOVE, (ADD, QUIET, STORE, END)),
        (1, Operator.REMOVE, (FIVE, FIVE, COPY, STORE, END)),
        (1, Operator.SOURCE, (MOVE, SHIFT, STORE, END)),
    ],
    ids=["bits that are zero", "arithmetic gives no signalling NaN", "it holds that already", "a copy in other lanes"],
)
def test_what_changes_nothing_is_proved(number: int, operator: Operator, code: tuple[str, ...]) -> None:
    assert is_same(number, operator, *code)


@pytest.mark.parametrize(
    ("number", "operator", "code"),
    [
        (0, Operator.CONSTANT, (AND_12, STORE, END)),
        (1, Operator.REMOVE, (COPY, QUIET, STORE, END)),
        (1, Operator.REMOVE, (FIVE, SIX, COPY, STORE, END)),
        (0, Operator.SOURCE, (SHIFT, STORE, END)),
        (1, Operator.REMOVE, (FIVE, FIRST, COPY, STORE, END)),
        (1, Operator.OFFSET, (COPY, STORE, END)),
        (1, Operator.REMOVE, (COPY, STORE, END)),
        (1, Operator.REMOVE, (ADD, COPY, ALL_LANES, STORE, END)),
        (0, Operator.REMOVE, (BARRIER, STORE, END)),
        (0, Operator.REMOVE, (WAIT, STORE, END)),
        (0, Operator.REMOVE, (INVALIDATE, STORE, END)),
    ],
    ids=["unknown bits", "a signalling NaN from outside", "another constant", "another register in other lanes",
         "a lane's value", "another address", "no store", "lanes that wake up", "a barrier", "a wait", "a cache"],
)  # fmt: skip
def test_what_changes_something_is_not(number: int, operator: Operator, code: tuple[str, ...]) -> None:
    assert not is_same(number, operator, *code)
