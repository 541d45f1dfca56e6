"""A budget chooses a spread of cases, the same one every time, and names what it leaves out."""

from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.cases import ArgumentDescription, CaseDescription, Layout
from rocmatrix.check.budget import EXACT_BUDGET, VARIED_BUDGET, choose, exact_cases, varied_cases


def case(
    name: str, cost: float, *, op: str = "f", layout: Layout = Layout.CONTIGUOUS, shape: tuple[int, ...] = (4,)
) -> CaseDescription:
    argument = ArgumentDescription(name="x", dtype="float32", shape=shape, layout=layout)
    return CaseDescription(name=name, op=op, arguments=(argument,), rtol=0.0, atol=0.0, cost=cost, seed=0)


CASES = (
    case("big-nn", 1000.0),
    case("plain-nn", 10.0),
    case("plain-nt", 20.0, layout=Layout.TRANSPOSED),
    case("plain-again", 10.0),
    case("other", 30.0, op="g", shape=(1,)),
)


def names(budget: float | None, least: float = 1.0) -> list[str]:
    return [chosen.name for chosen in choose(CASES, budget, least=least).chosen]


def test_without_a_budget_all_cases_run() -> None:
    assert names(None) == [each.name for each in CASES]
    assert choose(CASES, None, least=1.0).left_out == ()


def test_what_adds_something_new_comes_before_more_of_the_same() -> None:
    assert names(60.0) == ["plain-nn", "plain-nt", "other"]
    assert names(70.0) == ["plain-nn", "plain-nt", "plain-again", "other"]
    assert choose(CASES, 60.0, least=1.0).left_out == ("big-nn", "plain-again")


def test_one_case_always_runs_and_small_ones_are_not_free() -> None:
    assert names(0.0) == ["plain-nn"]
    assert names(60.0, least=30.0) == ["plain-nn", "other"]


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=12), st.floats(0, 1e10))
def test_the_budget_holds_and_every_case_is_chosen_or_named(costs: list[float], budget: float) -> None:
    cases = tuple(case(f"c-{number}", cost) for number, cost in enumerate(costs))
    choice = choose(cases, budget, least=5.0)
    assert sorted([each.name for each in choice.chosen] + list(choice.left_out)) == sorted(each.name for each in cases)
    assert len(choice.chosen) == 1 or sum(max(each.cost, 5.0) for each in choice.chosen) <= budget * (1 + 1e-9)
    assert choose(cases, budget, least=5.0) == choice


def test_the_seed_draws_the_cases_in_exact_arithmetic_within_their_budget() -> None:
    cases = (*(case(f"c{number}", EXACT_BUDGET / 4) for number in range(9)), case("large", 2 * EXACT_BUDGET))
    drawn = [exact_cases(cases, seed, least=1.0) for seed in range(5)]
    assert drawn == [exact_cases(cases, seed, least=1.0) for seed in range(5)]
    assert all(len(names) == 4 for names in drawn)
    assert len(set(drawn)) > 1
    assert len(exact_cases(cases, 0, least=EXACT_BUDGET)) == 1


def test_the_seed_draws_the_cases_that_run_again_whatever_is_exact() -> None:
    cases = tuple(case(f"c{number}", VARIED_BUDGET / 4) for number in range(9))
    drawn = [varied_cases(cases, seed, least=1.0) for seed in range(5)]
    assert all(len(names) == 4 for names in drawn)
    assert len(set(drawn)) > 1
    assert drawn != [exact_cases(cases, seed, least=1.0) for seed in range(5)]
