"""Rows for GitHub Actions: every unit once, few enough jobs, small enough, safe ids."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.document import to_json
from rocmatrix.errors import InputError
from rocmatrix.plan.github import LARGEST_OUTPUT, github_matrix
from rocmatrix.plan.model import Abi, ToolchainId, Unit, UnitId
from tests.unit.plan.samples import MATRIX, NOARCH, PER_TORCH, plan_of


def units(*counts: int) -> list[Unit]:
    """Return units of several toolchains, as many of each as the counts say."""
    return [
        Unit(
            id=UnitId(f"gemm.torch2{n:02}-cxx11-rocm7{toolchain}-x86_64-linux"),
            kernel="gemm",
            variant=f"torch2{n:02}-cxx11-rocm7{toolchain}-x86_64-linux",
            abi=Abi.PER_TORCH,
            torch=f"2.{n}",
            rocm=f"7.{toolchain}",
            toolchain=ToolchainId(f"llvm-rocm7.{toolchain}"),
            archs=("gfx942",),
            serves=(),
        )
        for toolchain, count in enumerate(counts)
        for n in range(count)
    ]


@given(counts=st.lists(st.integers(1, 40), max_size=12), max_jobs=st.integers(1, 64))
def test_every_unit_is_in_exactly_one_of_at_most_max_jobs_rows(counts: list[int], max_jobs: int) -> None:
    planned = units(*counts)
    rows = github_matrix(planned, max_jobs=max_jobs).include
    assert len(rows) <= max_jobs
    assert sorted(unit for row in rows for unit in row.units) == sorted(unit.id for unit in planned)
    assert all(row.units for row in rows)
    assert len({row.id for row in rows}) == len(rows)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", row.id) for row in rows)


@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_a_row_has_one_toolchain_where_there_are_jobs_enough(counts: list[int]) -> None:
    assert all("," not in row.toolchain for row in github_matrix(units(*counts), max_jobs=12).include)


def test_300_units_just_work() -> None:
    rows = github_matrix(units(100, 100, 100), max_jobs=64).include
    assert len(rows) == 64
    assert {len(row.units) for row in rows} == {4, 5}


def test_few_units_get_a_job_each() -> None:
    plan = plan_of(MATRIX, {"gemm": PER_TORCH})
    assert [row.units for row in github_matrix(plan.units, max_jobs=64).include] == [
        (unit.id,) for unit in sorted(plan.units, key=lambda u: u.rocm or "")
    ]


def test_more_toolchains_than_jobs_share_rows() -> None:
    (row,) = github_matrix(units(1, 2), max_jobs=1).include
    assert row.toolchain == "llvm-rocm7.0,llvm-rocm7.1"
    assert len(row.units) == 3


def test_noarch_units_have_a_row_without_toolchain() -> None:
    plan = plan_of(MATRIX, {"gemm": NOARCH})
    (row,) = github_matrix(plan.units, max_jobs=64, runner=("self-hosted", "linux")).include
    assert (row.toolchain, row.runner, row.units) == ("noarch", ("self-hosted", "linux"), ("gemm.torch-rocm",))


def test_a_workflow_can_tell_an_empty_matrix() -> None:
    assert to_json(github_matrix((), max_jobs=64)) == b'{\n  "empty": true,\n  "units": 0,\n  "include": []\n}\n'
    assert not github_matrix(units(1), max_jobs=64).empty


def test_more_than_a_job_may_output_is_an_error() -> None:
    with pytest.raises(InputError, match=f"GitHub takes {LARGEST_OUTPUT}"):
        github_matrix(units(30_000), max_jobs=64)


@pytest.mark.parametrize("max_jobs", [0, -1, 257])
def test_a_number_of_jobs_that_github_does_not_allow_is_an_error(max_jobs: int) -> None:
    with pytest.raises(InputError, match="--max-jobs"):
        github_matrix(units(1), max_jobs=max_jobs)
