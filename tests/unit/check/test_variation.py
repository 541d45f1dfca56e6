"""Results in other orders and at the ends of 1 ulp: silent where the bits are the same, told or wrong where not."""

from collections.abc import Callable

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.check.comparison import Comparison, compare
from rocmatrix.check.variation import Variation, variations
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Approximation, Numerics

WANT = np.array([1.0, 2.0])
FIRST = WANT.astype(np.float32)


def vary(result: Callable[[Approximation, int], Array]) -> tuple[list[Variation], list[tuple[Approximation, int]]]:
    """Vary a case with a tolerance of 0.1 whose result is a function of approximation and seed."""
    runs = []

    def repeat(numerics: Numerics, seed: int) -> Array:
        runs.append((numerics.approximation, seed))
        return result(numerics.approximation, seed)

    def judge(got: Array) -> Comparison:
        return compare(got, WANT, rtol=0.0, atol=0.1)

    return list(variations(FIRST, DEFAULT_NUMERICS, 7, repeat=repeat, judge=judge)), runs


def test_the_same_bits_in_both_repetitions_are_nothing_to_tell() -> None:
    assert vary(lambda end, seed: FIRST) == ([], [(Approximation.LOW, 8), (Approximation.HIGH, 9)])  # noqa: ARG005


def test_a_result_that_depends_on_the_order_within_tolerance_is_told() -> None:
    found, runs = vary(lambda end, seed: FIRST + np.float32(seed == 9) * np.array([0, 0.01], np.float32))  # noqa: ARG005
    assert found == [Variation(remark="1 of 2 elements depend on the order of workgroups and waves (seed 9)")]
    assert runs[2:] == [(Approximation.NEAREST, 9)], "the same order with the nearest approximations says which it was"


def test_a_result_that_another_order_takes_out_of_tolerance_is_wrong() -> None:
    found, _ = vary(lambda end, seed: FIRST + np.float32(seed == 8))  # noqa: ARG005
    assert [variation.wrong for variation in found] == [True]
    assert "(seed 8): 0 % of 2 elements within tolerance; at [0] it is 2 instead of 1" in found[0].remark


def test_what_holds_with_the_nearest_approximations_only_is_told() -> None:
    found, _ = vary(lambda end, seed: FIRST + np.float32(end is Approximation.HIGH))  # noqa: ARG005
    assert [variation.wrong for variation in found] == [False]
    assert found[0].remark.startswith("it holds with the nearest approximations; at the high end of 1 ulp 0 % of 2")


def test_other_approximations_within_tolerance_are_nothing_to_tell() -> None:
    assert vary(lambda end, seed: FIRST + np.float32(0.01) * np.float32(end is Approximation.LOW))[0] == []  # noqa: ARG005
