"""Which toolchain builds for which ROCm: chosen, printed, and never fallen back from in silence."""

from dataclasses import replace

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.planner import make_plan
from tests.unit.plan.samples import MATRIX, STABLE, plan_of


def test_each_rocm_has_the_toolchain_that_the_matrix_names() -> None:
    mine = 'toolchains: {"7.1": {recipe: almalinux, args: {ROCM_VERSION: "7.1.1"}}, "7.2": ./tools/my_image}'
    matrix = MATRIX[: MATRIX.index("toolchains")] + mine
    specs = plan_of(matrix).toolchains
    assert [(spec.id, spec.recipe, spec.args, spec.chosen_by) for spec in specs] == [
        ("almalinux-rocm7.1", "almalinux", {"ROCM_VERSION": "7.1.1"}, "matrix.yaml:7"),
        ("my_image-rocm7.2", "./tools/my_image", {}, "matrix.yaml:7"),
    ]


def test_the_command_line_keeps_the_arguments_of_the_same_recipe_only() -> None:
    args = 'toolchains: {"7.1": {recipe: hipcc, args: {A: "1"}}, "7.2": {recipe: therock, args: {B: "2"}}}'
    plan = plan_of(MATRIX[: MATRIX.index("toolchains")] + args, toolchain="hipcc")
    assert [spec.args for spec in plan.toolchains] == [{"A": "1"}, {}]


def test_two_for_one_variant_are_an_error() -> None:
    """Names have no dots: 7.14 and 71.4 would both be rocm714, if ROCm 71.4 existed."""
    known = load_compat()
    odd = replace(known.pairs[-1], torch="2.13", rocm=("7.14", "71.4"))
    matrix = parse_matrix(MATRIX.replace('["7.1", "7.2"]', '["7.14", "71.4"]').encode(), "matrix.yaml")
    matrix = replace(matrix, torch=("2.13",), toolchains=())
    manifest = parse_manifest(STABLE.replace("{name}", "gemm").encode(), "build.toml")
    with pytest.raises(InputError, match=r"matrix\.yaml: torch 2\.10 x ROCm 7\.14 and .* two toolchains"):
        make_plan(matrix, {"gemm": manifest}, replace(known, pairs=(odd,)), toolchain="llvm")


def test_the_command_line_overrides_and_says_so() -> None:
    plan = plan_of(MATRIX, toolchain="hipcc")
    assert [(spec.id, spec.chosen_by) for spec in plan.toolchains] == [
        ("hipcc-rocm7.1", "--toolchain"),
        ("hipcc-rocm7.2", "--toolchain"),
    ]
    assert [unit.toolchain for unit in plan.units] == ["hipcc-rocm7.1", "hipcc-rocm7.2"]


def test_an_unknown_one_on_the_command_line_is_an_error() -> None:
    with pytest.raises(InputError, match="--toolchain: the toolchain 'lvm' is not known\n  Did you mean llvm"):
        plan_of(MATRIX, toolchain="lvm")


def test_a_folder_is_one_recipe_however_the_command_line_spells_it() -> None:
    args = 'toolchains: {"7.1": {recipe: ./tools/mine, args: {A: "1"}}, "7.2": llvm}'
    plan = plan_of(MATRIX[: MATRIX.index("toolchains")] + args, toolchain="./tools//./mine/")
    assert [(spec.recipe, spec.args) for spec in plan.toolchains] == [
        ("./tools/mine", {"A": "1"}),
        ("./tools/mine", {}),
    ]


@pytest.mark.parametrize("text", [".", "./", "./.", "./../mine", "./a b", "./$(id)"])
def test_a_folder_that_cannot_be_a_recipe_is_refused_on_the_command_line(text: str) -> None:
    with pytest.raises(InputError, match=r"--toolchain: the toolchain .* is not known"):
        plan_of(MATRIX, toolchain=text)


def test_a_rocm_without_one_is_an_error() -> None:
    with pytest.raises(InputError, match=r'no toolchain for ROCm 7\.2\n  Add "7\.2": llvm'):
        plan_of(MATRIX.replace(', "7.2": llvm', ""))


def test_one_for_a_rocm_that_no_cell_has_is_an_error() -> None:
    with pytest.raises(InputError, match=r"a toolchain for ROCm 6\.4, which no cell has"):
        plan_of(MATRIX.replace("toolchains: {", 'toolchains: {"6.4": llvm, '))
