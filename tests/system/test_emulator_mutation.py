"""Machine code with one instruction changed: what a check notices of it, in a sample that is always the same.

The whole campaign is ``python -m tests.mutation``; docs/mutants.md has its results.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import Operand, RegisterFile
from tests.mutation.campaign import Reasons, Result, run
from tests.mutation.edges import Edges
from tests.mutation.equivalence import Prover, Reason
from tests.mutation.gemm_trials import Layouts, between_trial
from tests.mutation.judge import NUMBERS
from tests.mutation.operators import NOTHING, Listing, Mutant, Operator, list_kernel, mutants
from tests.mutation.subjects import Subject, gemm_subjects
from tests.mutation.table import score, table
from tests.mutation.unseen import Unseen

pytestmark = pytest.mark.needs_llvm

SAMPLE, CONTROLS, ZEROS, STRIDE = 16, 2, 3, 16
EDGES = ((33, 96), (100, 29))
LEAST = 0.8
"""Share of the sample that must be noticed or proved equivalent; the campaign's own figure is in docs/mutants.md."""
TRIALS = ("ragged-33x65x256-nt", "exact-64x5x128", "exact-64x30x128", "exact-64x98x128", "exact-64x113x128",
          "exact-40x72x256-special", "exact-50x66x0")  # fmt: skip
"""Small launches, of those of a whole campaign."""


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    whole = next(gemm_subjects(tmp_path_factory.mktemp("mutation")))
    trials = tuple(trial for trial in whole.trials if trial.name in TRIALS)
    assert len(trials) == len(TRIALS)
    return replace(whole, trials=trials)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("code")


@pytest.fixture(scope="module")
def every(subject: Subject) -> tuple[Mutant, ...]:
    return tuple(mutants(subject.listing()))


@pytest.fixture(scope="module")
def results(subject: Subject, cache: Path) -> tuple[Result, ...]:
    return run(subject, cache=cache, results=cache / "results.jsonl", sample=SAMPLE)


def test_mutants_of_the_gemm_are_noticed(results: tuple[Result, ...]) -> None:
    survivors = "\n".join(each.said for each in results if each.survived)
    assert len(results) == SAMPLE
    assert score(results) >= LEAST, f"survivors:\n{survivors}\n" + "\n".join(table(results, thorough=False))


def test_no_mutant_with_wrong_numbers_is_proved_equivalent(
    subject: Subject, every: tuple[Mutant, ...], results: tuple[Result, ...]
) -> None:
    wrong = {result.key for result in results if NUMBERS in result.noticed}
    reasons = Reasons(subject)
    asked = [mutant for mutant in every if mutant.key in wrong][:CONTROLS]
    assert len(asked) == CONTROLS
    assert not [str(mutant) for mutant in asked if reasons.reason(mutant)]


def test_only_results_on_which_nothing_depends_are_unseen(
    subject: Subject, every: tuple[Mutant, ...], results: tuple[Result, ...], cache: Path
) -> None:
    few = replace(subject, edges=lambda: (trial for trial in subject.edges() if trial.out.shape in EDGES))
    wrong = {result.key for result in results if NUMBERS in result.noticed}
    zeros = [each for each in every if each.operator is Operator.REMOVE and is_zero(each)][:ZEROS]
    seen = [each for each in every if each.key in wrong]
    found = Unseen(few, cache).among([*seen, *zeros])
    assert set(found) & set(zeros), "some of them are for rows that are not stored"
    assert not set(found) & set(seen)
    edges = Edges(few, cache)
    assert not [str(mutant) for mutant in found if edges.noticed(mutant)]
    assert any(NUMBERS in edges.noticed(mutant) for mutant in seen), "the sample has some that tiles at an edge show"


def test_a_sum_that_begins_at_the_smallest_number_is_noticed(
    subject: Subject, every: tuple[Mutant, ...], cache: Path
) -> None:
    few = replace(subject, edges=lambda: iter([between_trial(Layouts(a=0, b=0), (0, 1))]))
    starts = [each for each in every if each.operator is Operator.CONSTANT and is_zero(each)]
    edges, some = Edges(few, cache), starts[::STRIDE]
    noticed = [mutant for mutant in some if NUMBERS in edges.noticed(mutant)]
    assert len(noticed) >= len(some) // 3, "the sums of each step, and those of all steps"


def is_zero(mutant: Mutant) -> bool:
    instruction = mutant.instruction
    return instruction.name == "v_mov_b32" and instruction.sources[0] == Operand(file=RegisterFile.CONSTANT, index=128)


def words(*instructions: int) -> Listing:
    return list_kernel(b"".join(word.to_bytes(4, "little") for word in instructions))


WAIT, NOP_0, NOP_3, BARRIER, END = 0xBF8C0F71, 0xBF800000, 0xBF800003, 0xBF8A0000, 0xBF810000
ADD = 0x68040500  # v_add_u32 v2, v0, v2
BRANCH = 0xBF840001  # s_cbranch_scc0, over one instruction


def made(listing: Listing, operator: Operator) -> list[Mutant]:
    return [mutant for mutant in mutants(listing) if mutant.operator is operator]


def test_a_wait_is_made_weaker_by_one_for_each_counter_that_it_waits_for() -> None:
    (mutant,) = made(words(WAIT, END), Operator.WEAKER_WAIT)
    assert decode(mutant.after + bytes(12), 0).immediate == 0x0F72, "vmcnt(1) becomes vmcnt(2)"


def test_a_nop_loses_a_wait_state_and_one_of_a_single_state_changes_places() -> None:
    (shorter,) = made(words(ADD, NOP_3, END), Operator.SHORTER_NOP)
    assert int.from_bytes(shorter.after, "little") == NOP_3 - 1
    (moved,) = made(words(ADD, NOP_0, END), Operator.SHORTER_NOP)
    assert (moved.before, moved.after) == (moved.after[4:] + moved.after[:4], NOTHING + moved.before[:4])


def test_everything_but_nops_is_removed_once_and_branches_are_inverted() -> None:
    listing = words(BRANCH, BARRIER, ADD, NOP_3, END)
    assert [mutant.offset for mutant in made(listing, Operator.REMOVE)] == [0, 4, 8, 16]
    (inverted,) = made(listing, Operator.INVERTED_BRANCH)
    assert decode(inverted.after + bytes(12), 0).name == "s_cbranch_scc1"


def test_registers_change_by_the_least_and_nothing_else_does() -> None:
    listing = words(ADD, END)
    (original,) = [each for each in listing.instructions if each.name != "s_endpgm"]
    for operator, field in ((Operator.SOURCE, "sources"), (Operator.DESTINATION, "destinations")):
        for mutant in made(listing, operator):
            changed = decode(mutant.after + bytes(12), 0)
            pairs = zip(getattr(original, field), getattr(changed, field), strict=True)
            assert sum(abs(one.index - other.index) for one, other in pairs) == 1
            assert changed.name == original.name


# -- what is proved of survivors -------------------------------------------------------------------------------------

SET_V2, READ_V2, SKIP, SLEEP = 0x7E040280, 0x68060500, 0xBF880001, 0xBF8E0001
"""v_mov_b32 v2, 0; v_add_u32 v3, v0, v2; s_cbranch_execz over one instruction; s_sleep 1."""
ALL_LANES = 0xBEFE01C1  # s_mov_b64 exec, -1


def removed(number: int, *instructions: int) -> Reason | None:
    listing = words(*instructions)
    return Prover(listing).reason(made(listing, Operator.REMOVE)[number])


def test_a_result_that_is_overwritten_before_it_is_read_is_dead() -> None:
    assert removed(0, SET_V2, SET_V2, READ_V2, END) is Reason.DEAD
    assert removed(1, SET_V2, SET_V2, READ_V2, END) is None
    assert removed(2, SET_V2, SET_V2, READ_V2, END) is Reason.DEAD, "nobody reads v3"


def test_a_result_that_other_lanes_may_read_is_not_dead() -> None:
    assert removed(0, SET_V2, ALL_LANES, SET_V2, READ_V2, END) is None


def test_a_branch_around_what_does_nothing_without_lanes_may_go() -> None:
    assert removed(0, SKIP, SET_V2, READ_V2, END) is Reason.SKIP
    assert removed(0, SKIP, ALL_LANES, READ_V2, END) is None, "it would give the lanes back"
    assert removed(0, SKIP, BARRIER, READ_V2, END) is None


def test_only_priority_and_sleep_are_mere_scheduling() -> None:
    assert removed(0, SLEEP, END) is Reason.SCHEDULING
    assert removed(0, BARRIER, END) is None
    assert removed(0, WAIT, END) is None


def test_a_branch_over_nothing_but_wait_states_may_go() -> None:
    over_two, over_three = 0xBF820002, 0xBF820003
    assert removed(0, over_two, NOP_0, NOP_3, READ_V2, END) is Reason.FALLS_THROUGH
    assert removed(0, over_two, NOP_0, SET_V2, READ_V2, END) is None
    assert removed(0, over_three, NOP_0, NOP_3, SET_V2, READ_V2, END) is None
    assert removed(1, NOP_0, SET_V2, 0xBF82FFFD, END) is None, "backwards"


def test_code_that_no_path_leads_to_is_told() -> None:
    assert removed(1, 0xBF820001, SET_V2, READ_V2, END) is Reason.UNREACHABLE, "behind s_branch, which goes over it"
