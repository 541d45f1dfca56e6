"""--only takes shell patterns over unit ids."""

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.selectors import select
from tests.unit.plan.samples import MATRIX, plan_of

PLAN = plan_of(MATRIX)


def test_no_pattern_means_all_units() -> None:
    assert select(PLAN, []) == PLAN.units


def test_a_pattern_selects_by_unit_id() -> None:
    assert [unit.rocm for unit in select(PLAN, ["*rocm72*"])] == ["7.2"]


def test_units_keep_the_order_of_the_plan_and_come_once() -> None:
    assert select(PLAN, ["*rocm72*", "gemm.*"]) == PLAN.units


def test_a_pattern_that_matches_nothing_lists_the_ids() -> None:
    with pytest.raises(InputError, match="'gem' matches no unit") as caught:
        select(PLAN, ["gemm.*", "gem"])
    assert all(unit.id in str(caught.value) for unit in PLAN.units)


def test_patterns_tell_upper_from_lower_case() -> None:
    with pytest.raises(InputError):
        select(PLAN, ["GEMM.*"])
