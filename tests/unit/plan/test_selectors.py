"""--only takes shell patterns over unit ids."""

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.selectors import narrow, select
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


def test_a_narrowed_plan_has_what_its_units_are_about_and_nothing_else() -> None:
    narrowed = narrow(PLAN, select(PLAN, ["*rocm72*"]))
    assert [unit.rocm for unit in narrowed.units] == ["7.2"]
    assert [cell.id for cell in narrowed.cells] == list(narrowed.units[0].serves)
    assert [spec.rocm for spec in narrowed.toolchains] == ["7.2"]
    assert narrowed.kernels == PLAN.kernels
    assert narrow(PLAN, ()).kernels == ()
