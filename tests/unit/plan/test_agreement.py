"""Whether a plan is the one that matrix.yaml asks for: what is said where a promise vanished or something was added."""

from dataclasses import replace

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.agreement import override_of, require_plan_of
from rocmatrix.plan.audit_choice import AuditChoice
from rocmatrix.plan.model import CellId, Plan, UnitId
from tests.unit.conftest import UNIT


def differences(found: Plan, wanted: Plan) -> str:
    with pytest.raises(InputError) as refused:
        require_plan_of(found, wanted, where="dist/plan.json", matrix="matrix.yaml")
    assert refused.value.where == "dist/plan.json"
    assert "rocmatrix plan" in (refused.value.fix or "")
    return refused.value.what.removeprefix("this is not the plan of matrix.yaml as it is now: ")


def test_a_plan_without_some_promise_is_refused_by_its_name(plan: Plan) -> None:
    assert differences(replace(plan, cells=plan.cells[1:]), plan) == f"it lacks the cell '{plan.cells[0].id}'"
    said = differences(replace(plan, cells=(), units=(), kernels=(), toolchains=()), plan)
    assert said.startswith("it lacks the kernel 'gemm', it lacks the cell ")
    assert said.endswith(" more")


def test_what_a_plan_has_besides_or_changed_is_refused(plan: Plan) -> None:
    cell, unit = plan.cells[0], plan.units[0]
    more = replace(unit, id=UnitId("../evil\x1b[2J"))
    assert differences(replace(plan, units=(*plan.units, more)), plan) == r"it has the unit '../evil\x1b[2J' besides"
    assert differences(replace(plan, cells=(replace(cell, archs=()), *plan.cells[1:])), plan) == (
        f"its cell '{cell.id}' is another"
    )
    for changed in (replace(unit, variant="../../evil"), replace(unit, serves=(CellId("x"),))):
        assert differences(replace(plan, units=(changed,)), plan) == f"its unit '{UNIT}' is another"
    kernel = replace(plan.kernels[0], repo_id="mallory/gemm")
    assert differences(replace(plan, kernels=(kernel,)), plan) == "its kernel 'gemm' is another"
    spec = replace(plan.toolchains[0], args={"ROCM_VERSION": "0"})
    assert differences(replace(plan, toolchains=(spec,)), plan) == f"its toolchain '{spec.id}' is another"
    twice = replace(plan, units=(unit, unit))
    assert differences(twice, plan) == "its units are in another order, or one is there twice"


def test_waivers_of_now_lines_of_matrix_yaml_and_warnings_make_no_other_plan(plan: Plan) -> None:
    kernel = replace(plan.kernels[0], audit=AuditChoice(max_file_size=1))
    spec = replace(plan.toolchains[0], chosen_by="matrix.yaml:70")
    found = replace(plan, kernels=(kernel,), toolchains=(spec,), warnings=("gfx90a is old",))
    require_plan_of(found, plan, where="dist/plan.json", matrix="matrix.yaml")


def test_a_toolchain_of_the_command_line_is_known_from_the_plan(plan: Plan) -> None:
    assert override_of(plan) is None
    spec = replace(plan.toolchains[0], recipe="hipcc", chosen_by="--toolchain")
    assert override_of(replace(plan, toolchains=(spec,))) == "hipcc"
