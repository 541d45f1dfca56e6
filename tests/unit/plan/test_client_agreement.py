"""The real client, given the variants of a plan, loads for every served cell exactly the planned unit."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.model import CellState, Plan
from rocmatrix.plan.planner import make_plan
from tests.unit.plan.client import client_choice
from tests.unit.plan.samples import MATRIX, NOARCH, PER_TORCH, STABLE, plan_of

ROOT = Path(__file__).parents[3]


def assert_client_agrees(plan: Plan, order: list[int] | None = None) -> None:
    for cell in plan.cells:
        units = [unit for unit in plan.units if unit.kernel == cell.kernel]
        variants = [unit.variant for unit in units]
        shuffled = [variants[n % len(variants)] for n in order or ()]
        chosen = client_choice([*shuffled, *variants], torch=cell.torch, hip=f"{cell.rocm}.12345")
        if cell.state is CellState.SERVED:
            assert cell.unit is not None
            assert chosen == plan.unit(cell.unit).variant, cell.id
            assert cell.id in plan.unit(cell.unit).serves


def own_plan() -> Plan:
    matrix = parse_matrix((ROOT / "matrix.yaml").read_bytes(), "matrix.yaml")
    manifests = {
        entry.path: parse_manifest((ROOT / entry.path / "build.toml").read_bytes(), f"{entry.path}/build.toml")
        for entry in matrix.kernels
    }
    return make_plan(matrix, manifests, load_compat())


def test_every_cell_of_this_repository_resolves_as_planned() -> None:
    plan = own_plan()
    assert sum(cell.state is CellState.SERVED for cell in plan.cells) == 14
    assert_client_agrees(plan)


def test_this_repository_needs_one_unit_for_each_rocm() -> None:
    assert [unit.variant for unit in own_plan().units] == [
        "torch-stable-abi210-rocm70-x86_64-linux",
        "torch-stable-abi210-rocm71-x86_64-linux",
        "torch-stable-abi210-rocm72-x86_64-linux",
        "torch-stable-abi210-rocm714-x86_64-linux",
    ]


@pytest.mark.parametrize("project", [STABLE, PER_TORCH, NOARCH])
@settings(max_examples=40, deadline=None)
@given(order=st.lists(st.integers(0, 20), max_size=6))
def test_the_client_agrees_whatever_order_the_hub_lists_variants_in(project: str, order: list[int]) -> None:
    assert_client_agrees(plan_of(MATRIX, {"gemm": project}), order)


def test_a_per_torch_unit_beside_a_stable_one_would_never_be_loaded() -> None:
    """Why ``abi: auto`` plans none: the client prefers the stable ABI."""
    stable, per_torch = "torch-stable-abi210-rocm72-x86_64-linux", "torch213-cxx11-rocm72-x86_64-linux"
    assert client_choice([per_torch, stable], torch="2.13", hip="7.2.0") == stable


def test_a_stable_unit_does_not_serve_another_rocm_minor() -> None:
    """Why there is one unit for each ROCm: the client compares ROCm variants as strings."""
    stable = "torch-stable-abi210-rocm72-x86_64-linux"
    assert client_choice([stable], torch="2.13", hip="7.14.60850") is None
    assert client_choice([stable], torch="2.13", hip="7.1.25424") is None
    assert client_choice([stable], torch="2.9", hip="7.2.0") is None
