"""The rule of tolerance that every executor applies."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.check.comparison import LARGEST, compare

WANT = np.array([[1.0, -2.0], [0.0, np.nan]])


def test_a_result_within_tolerance_passes_with_its_errors() -> None:
    made = compare(np.array([[1.25, -2.0], [0.125, np.nan]], np.float32), WANT, rtol=0.125, atol=0.125)
    assert (made.passed, made.max_abs_error, made.max_rel_error) == (True, 0.25, 0.25)
    assert made.detail == "all of 4 elements within tolerance"


@pytest.mark.parametrize(
    ("value", "largest"), [(1.2501, 0.2501), (np.nan, LARGEST), (np.inf, LARGEST), (-np.inf, LARGEST)]
)
def test_an_element_beyond_it_fails_and_is_named(value: float, largest: float) -> None:
    made = compare(np.array([[value, -2.0], [0.0, np.nan]]), WANT, rtol=0.125, atol=0.125)
    assert not made.passed
    assert made.max_abs_error == pytest.approx(largest)
    assert made.detail.startswith("75 % of 4 elements within tolerance; at [0, 0] it is ")


def test_a_number_where_the_reference_is_nan_fails() -> None:
    made = compare(np.array([[1.0, -2.0], [0.0, 5.0]]), WANT, rtol=1.0, atol=1e9)
    assert not made.passed
    assert "at [1, 1] it is 5 instead of nan" in made.detail


def test_an_infinite_reference_asks_for_the_same_infinity() -> None:
    want = np.array([np.inf, -np.inf])
    assert compare(np.array([np.inf, -np.inf], np.float32), want, rtol=0.0, atol=0.0).passed
    for wrong in ([np.inf, 1.0], [-np.inf, -np.inf], [np.inf, np.nan]):
        made = compare(np.array(wrong), want, rtol=0.5, atol=0.5)
        assert (made.passed, made.share) == (False, 0.5), "half of infinity is no tolerance"


def test_another_shape_fails_though_it_could_be_broadcast() -> None:
    made = compare(np.zeros((1, 2)), np.zeros((2, 2)), rtol=1.0, atol=1.0)
    assert (made.passed, made.max_abs_error) == (False, LARGEST)
    assert "(1, 2)" in made.detail
    assert not compare(np.zeros((2, 1)), np.zeros((1, 2)), rtol=1.0, atol=1.0).passed


def test_eight_bit_floats_and_nothing_at_all() -> None:
    got = np.array([0.5, 240.0]).astype(ml_dtypes.float8_e4m3fnuz)
    assert compare(got, np.array([0.5, 240.0]), rtol=0.0, atol=0.0).passed
    assert compare(np.zeros((0, 3), np.float32), np.zeros((0, 3)), rtol=0.0, atol=0.0).passed


def _is_right(got: float, want: float, tolerance: float) -> bool:
    if np.isnan(want):
        return bool(np.isnan(got))
    return got == want if np.isinf(want) else bool(np.isfinite(got)) and abs(got - want) <= tolerance


NUMBERS = st.floats(width=32) | st.just(float("nan"))


@given(
    st.lists(st.tuples(NUMBERS, st.floats(-1e6, 1e6) | st.just(float("nan"))), min_size=1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_verdict_is_the_rule_element_by_element(pairs: list[tuple[float, float]], rtol: float, atol: float) -> None:
    got, want = (np.array(values, np.float64) for values in zip(*pairs, strict=True))
    right = [_is_right(g, w, atol + rtol * abs(w)) for g, w in zip(got, want, strict=True)]
    made = compare(got, want, rtol=rtol, atol=atol)
    assert made.passed == all(right)
    assert np.isfinite([made.max_abs_error, made.max_rel_error]).all()
