"""Results in other orders, with late loads, at the ends of 1 ulp: told or wrong where the bits are not the same."""

from collections.abc import Callable

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.check.comparison import Comparison, compare
from rocmatrix.check.variation import Variation, variations
from rocmatrix.emulator.delivery import Delivery
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Approximation, Numerics

WANT = np.array([1.0, 2.0])
FIRST = WANT.astype(np.float32)


Run = tuple[Approximation, int, Delivery]
EARLY, LATE, MIXED = Delivery


def vary(result: Callable[[Approximation, int, Delivery], Array]) -> tuple[list[Variation], list[Run]]:
    """Vary a case with a tolerance of 0.1 whose result is a function of approximation, seed and delivery."""
    runs = []

    def repeat(numerics: Numerics, seed: int, delivery: Delivery) -> Array:
        runs.append((numerics.approximation, seed, delivery))
        return result(numerics.approximation, seed, delivery)

    def judge(got: Array) -> Comparison:
        return compare(got, WANT, rtol=0.0, atol=0.1)

    return list(variations(FIRST, DEFAULT_NUMERICS, 7, repeat=repeat, judge=judge)), runs


def test_the_same_bits_in_both_repetitions_are_nothing_to_tell() -> None:
    found, runs = vary(lambda _end, _seed, _delivery: FIRST)
    assert (found, runs) == ([], [(Approximation.LOW, 8, LATE), (Approximation.HIGH, 9, MIXED)])


def test_a_result_that_depends_on_the_order_within_tolerance_is_told() -> None:
    found, runs = vary(lambda _end, seed, _delivery: FIRST + np.float32(seed == 9) * np.array([0, 0.01], np.float32))
    assert found == [Variation(remark="1 of 2 elements depend on the order of workgroups and waves (seed 9)")]
    nearest = Approximation.NEAREST
    assert runs[2:] == [(nearest, 9, EARLY), (nearest, 9, MIXED)], "the same order without the rest says which it was"


def test_a_result_that_another_order_takes_out_of_tolerance_is_wrong() -> None:
    found, _ = vary(lambda _end, seed, _delivery: FIRST + np.float32(seed == 8))
    assert [variation.wrong for variation in found] == [True]
    assert "(seed 8): 0 % of 2 elements within tolerance; at [0] it is 2 instead of 1" in found[0].remark


def test_what_holds_with_the_nearest_approximations_only_is_told() -> None:
    found, _ = vary(lambda end, _seed, _delivery: FIRST + np.float32(end is Approximation.HIGH))
    assert [variation.wrong for variation in found] == [False]
    assert found[0].remark.startswith("it holds with the nearest approximations; at the high end of 1 ulp 0 % of 2")


def test_other_approximations_within_tolerance_are_nothing_to_tell() -> None:
    found, _ = vary(lambda end, _seed, _delivery: FIRST + np.float32(0.01) * np.float32(end is Approximation.LOW))
    assert found == []


def test_a_result_that_depends_on_when_loads_arrive_is_wrong_whatever_the_tolerance() -> None:
    found, _ = vary(lambda _end, _seed, delivery: FIRST + np.float32(0.01) * np.float32(delivery is MIXED))
    assert found == [
        Variation(
            remark="2 of 2 elements depend on when loads arrive, so that a wait is missing or too weak "
            "(loads mixed, seed 9)",
            wrong=True,
        )
    ]
