"""Serving rules: which unit keeps which promise, and what is said where none does."""

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.model import Abi, CellState, Evidence, ReasonCode
from rocmatrix.plan.planner import make_plan
from tests.unit.plan.samples import GENERAL, MATRIX, NOARCH, PER_TORCH, SECTION, STABLE, cell_of, plan_of

WIDE = MATRIX.replace('["2.12", "2.13"]', '["2.9", "2.10", "2.13"]').replace('["7.1", "7.2"]', '["6.4", "7.1", "7.2"]')
WIDE = WIDE.replace("toolchains: {", 'toolchains: {"6.4": llvm, ')


def test_a_stable_unit_serves_every_torch_from_its_level_on_of_its_own_rocm() -> None:
    plan = plan_of(MATRIX)
    assert [(unit.id, unit.serves) for unit in plan.units] == [
        ("gemm.torch-stable-abi210-rocm71-x86_64-linux", ("gemm.torch2.12-rocm7.1", "gemm.torch2.13-rocm7.1")),
        ("gemm.torch-stable-abi210-rocm72-x86_64-linux", ("gemm.torch2.12-rocm7.2", "gemm.torch2.13-rocm7.2")),
    ]
    assert cell_of(plan, "gemm.torch2.13-rocm7.2").reason == (
        "stable ABI 2.10: one unit serves torch 2.10 and later on ROCm 7.2"
    )


def test_without_a_level_each_cell_gets_a_unit_of_its_own() -> None:
    plan = plan_of(MATRIX, {"gemm": PER_TORCH})
    assert [unit.variant for unit in plan.units] == [
        "torch212-cxx11-rocm71-x86_64-linux",
        "torch212-cxx11-rocm72-x86_64-linux",
        "torch213-cxx11-rocm71-x86_64-linux",
        "torch213-cxx11-rocm72-x86_64-linux",
    ]
    assert all(len(unit.serves) == 1 for unit in plan.units)


def test_abi_per_torch_overrides_the_level_of_build_toml() -> None:
    plan = plan_of(MATRIX + "abi: per-torch\n")
    assert {unit.abi for unit in plan.units} == {Abi.PER_TORCH}


def test_a_kernel_may_override_the_abi_of_the_matrix() -> None:
    matrix = MATRIX.replace("kernels: [gemm]", "kernels: [{path: gemm, abi: auto}]") + "abi: per-torch\n"
    assert {unit.abi for unit in plan_of(matrix).units} == {Abi.STABLE}


def test_abi_stable_needs_a_level() -> None:
    with pytest.raises(InputError, match=r"matrix\.yaml:3: abi: stable for gemm, whose build\.toml has no"):
        plan_of(MATRIX + "abi: stable\n", {"gemm": PER_TORCH})


def test_one_noarch_unit_serves_every_cell_and_needs_no_toolchain() -> None:
    plan = plan_of(MATRIX, {"gemm": NOARCH})
    (unit,) = plan.units
    assert (unit.variant, unit.abi, unit.toolchain, unit.archs) == ("torch-rocm", Abi.NOARCH, None, ())
    assert len(unit.serves) == 4
    assert plan.toolchains == ()


def test_a_pair_that_never_existed_is_refused_with_what_does_exist() -> None:
    cell = cell_of(plan_of(WIDE, {"gemm": PER_TORCH}), "gemm.torch2.10-rocm7.2")
    assert (cell.state, cell.reason_code, cell.unit) == (CellState.REFUSED, ReasonCode.PAIR_UNKNOWN, None)
    assert "torch 2.10 exists for ROCm 7.0 and 7.1" in cell.reason
    assert "ROCm 7.2 has torch 2.11" in cell.reason


def test_a_torch_below_the_level_is_refused() -> None:
    matrix = MATRIX.replace('["2.12", "2.13"]', '["2.9", "2.13"]').replace('["7.1", "7.2"]', '["6.4", "7.2"]')
    with pytest.raises(InputError, match=r"torch: 2\.9 is left without.*\n.*older than 2\.10"):
        plan_of(matrix.replace("toolchains: {", 'toolchains: {"6.4": llvm, ').replace('"7.1": llvm, ', ""))


def test_below_the_level_one_kernel_of_two_is_refused_and_the_other_served() -> None:
    matrix = WIDE.replace("kernels: [gemm]", "kernels: [gemm, other]")
    plan = plan_of(matrix, {"gemm": STABLE, "other": PER_TORCH})
    assert cell_of(plan, "gemm.torch2.9-rocm6.4").reason_code is ReasonCode.BELOW_ABI_LEVEL
    assert cell_of(plan, "other.torch2.9-rocm6.4").unit == "other.torch29-cxx11-rocm64-x86_64-linux"


def test_bounds_of_build_toml_are_kept_both_ends_included() -> None:
    project = STABLE.replace("stable-abi", 'minver = "2.12"\nmaxver = "2.13"\nstable-abi')
    matrix = MATRIX.replace('["2.12", "2.13"]', '["2.11", "2.12", "2.13", "2.14"]').replace("[gemm]", "[gemm, other]")
    plan = plan_of(matrix, {"gemm": project, "other": STABLE})
    states = {
        cell.torch: (cell.state, cell.reason_code)
        for cell in plan.cells
        if cell.id.startswith("gemm") and cell.rocm == "7.2"
    }
    outside = (CellState.REFUSED, ReasonCode.OUTSIDE_TORCH_BOUNDS)
    inside = (CellState.SERVED, None)
    assert states == {"2.11": outside, "2.12": inside, "2.13": inside, "2.14": outside}


def test_archs_are_those_that_matrix_and_every_section_have() -> None:
    project = STABLE + SECTION.replace("{id}", "second").replace('["gfx942", "gfx950"]', '["gfx942", "gfx1100"]')
    matrix = MATRIX.replace("[gfx942]", "[gfx942, gfx950]").replace("[gemm]", "[gemm, other]")
    plan = plan_of(matrix, {"gemm": project, "other": STABLE})
    assert {unit.kernel: unit.archs for unit in plan.units} == {"gemm": ("gfx942",), "other": ("gfx942", "gfx950")}
    assert any("gfx950 left out" in warning for warning in plan.warnings)


def test_a_kernel_without_rocm_archs_gets_those_of_the_matrix() -> None:
    project = STABLE.replace('rocm-archs = ["gfx942", "gfx950"]\n', "")
    plan = plan_of(MATRIX.replace("[gfx942]", "[gfx950, gfx942]"), {"gemm": project})
    assert plan.units[0].archs == ("gfx942", "gfx950")


def test_an_arch_that_the_rocm_cannot_target_is_left_out_and_said() -> None:
    matrix = WIDE.replace("[gfx942]", "[gfx942, gfx950]")
    plan = plan_of(matrix, {"gemm": PER_TORCH})
    old, new = cell_of(plan, "gemm.torch2.9-rocm6.4"), cell_of(plan, "gemm.torch2.13-rocm7.2")
    assert (old.archs, new.archs) == (("gfx942",), ("gfx942", "gfx950"))
    assert "without gfx950 (needs ROCm 7.0 or later)" in old.reason


def test_a_rocm_that_can_target_no_promised_arch_refuses_the_cell() -> None:
    matrix = WIDE.replace("kernels: [gemm]", "kernels: [gemm, {path: other, archs: [gfx950]}]")
    plan = plan_of(matrix, {"gemm": PER_TORCH, "other": PER_TORCH})
    cell = cell_of(plan, "other.torch2.9-rocm6.4")
    assert cell.reason_code is ReasonCode.ARCH_UNSUPPORTED
    assert cell.reason == "ROCm 6.4 cannot target gfx950 (needs ROCm 7.0 or later)"


def test_an_arch_that_build_toml_does_not_list_refuses_the_cell() -> None:
    matrix = MATRIX.replace("kernels: [gemm]", "kernels: [gemm, {path: other, archs: [gfx1100]}]")
    with pytest.raises(InputError, match="kernels: other is left without") as caught:
        plan_of(matrix, {"gemm": STABLE, "other": STABLE})
    assert "other/build.toml lists none of gfx1100; it lists gfx942 and gfx950" in str(caught.value)


def test_evidence_is_that_of_the_pair() -> None:
    plan = plan_of(MATRIX.replace('["2.12", "2.13"]', '["2.13", "2.14"]'))
    assert cell_of(plan, "gemm.torch2.13-rocm7.2").evidence is Evidence.VERIFIED
    assert cell_of(plan, "gemm.torch2.14-rocm7.2").evidence is Evidence.UNVERIFIED


def test_an_include_adds_a_combination() -> None:
    matrix = MATRIX + 'include: [{torch: "2.14", rocm: "7.14"}]\n'
    plan = plan_of(matrix.replace('"7.2": llvm', '"7.2": llvm, "7.14": llvm'))
    assert cell_of(plan, "gemm.torch2.14-rocm7.14").unit == "gemm.torch-stable-abi210-rocm714-x86_64-linux"


def test_an_include_may_promise_other_archs_and_its_unit_has_them() -> None:
    plan = plan_of(MATRIX + 'include: [{torch: "2.12", rocm: "7.2", archs: [gfx942, gfx950]}]\n')
    assert cell_of(plan, "gemm.torch2.12-rocm7.2").archs == ("gfx942", "gfx950")
    assert cell_of(plan, "gemm.torch2.13-rocm7.2").archs == ("gfx942",)
    assert [unit.archs for unit in plan.units] == [("gfx942",), ("gfx942", "gfx950")]


def test_an_included_combination_that_must_be_refused_is_an_error() -> None:
    with pytest.raises(InputError, match=r"matrix\.yaml:8: gemm\.torch2\.10-rocm7\.2 is included but cannot be"):
        plan_of(MATRIX + 'include: [{torch: "2.10", rocm: "7.2"}]\n')


def test_an_include_may_be_for_one_kernel() -> None:
    matrix = MATRIX.replace("[gemm]", "[gemm, other]") + 'include: [{torch: "2.11", rocm: "7.2", kernel: other}]\n'
    plan = plan_of(matrix, {"gemm": STABLE, "other": STABLE})
    assert [cell.id for cell in plan.cells if cell.torch == "2.11"] == ["other.torch2.11-rocm7.2"]


def test_an_exclude_says_who_and_why() -> None:
    plan = plan_of(MATRIX + 'exclude: [{torch: "2.12", rocm: "7.2", reason: "crashes in  the field"}]\n')
    cell = cell_of(plan, "gemm.torch2.12-rocm7.2")
    assert (cell.state, cell.reason_code, cell.unit) == (CellState.EXCLUDED, ReasonCode.EXCLUDED, None)
    assert cell.reason == "excluded by matrix.yaml:8: crashes in the field"
    assert plan.units[1].serves == ("gemm.torch2.13-rocm7.2",)


def test_an_exclude_may_take_one_arch() -> None:
    matrix = MATRIX.replace("[gfx942]", "[gfx942, gfx950]") + 'exclude: [{rocm: "7.1", archs: [gfx950]}]\n'
    plan = plan_of(matrix)
    assert [unit.archs for unit in plan.units] == [("gfx942",), ("gfx942", "gfx950")]


def test_an_include_brings_an_excluded_cell_back() -> None:
    rules = 'exclude: [{torch: "2.12"}]\ninclude: [{torch: "2.12", rocm: "7.2"}]\n'
    plan = plan_of(MATRIX + rules)
    assert cell_of(plan, "gemm.torch2.12-rocm7.2").state is CellState.SERVED
    assert cell_of(plan, "gemm.torch2.12-rocm7.1").state is CellState.EXCLUDED


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ('exclude: [{torch: "2.11"}]', r"matrix\.yaml:8: this exclude matches no cell"),
        ("exclude: [{archs: [gfx950]}]", r"matrix\.yaml:8: this exclude matches no cell"),
        ('exclude:\n  - {torch: "2.12"}\n  - {torch: "2.12", rocm: "7.2"}', r"10: .*\n  matrix\.yaml:9 already took"),
        (
            'exclude:\n  - {rocm: "7.1"}\n  - {rocm: "7.2", torch: "2.12"}\n  - {torch: "2.13"}\n  - {torch: "2.12"}',
            r"12: .*\n  matrix\.yaml:9 and matrix\.yaml:10 already took what it names",
        ),
        (
            'exclude:\n  - {rocm: "7.1"}\n  - {rocm: "7.1", archs: [gfx950]}',
            r"10: .*\n  The product has torch 2\.12 and 2\.13 x ROCm 7\.1 and 7\.2, gfx942\.",
        ),
        (
            'include: [{torch: "2.11", rocm: "7.2", archs: [gfx950]}]\nexclude: [{torch: "2.11", archs: [gfx942]}]',
            r"9: .*\n  The product has",
        ),
        (
            'include: [{torch: "2.11", rocm: "7.2"}]\nexclude: [{torch: "2.11"}]',
            r"9: .*\n  matrix\.yaml:8 includes what it names",
        ),
        ('include: [{torch: "2.12", rocm: "7.2"}]', "already in the product"),
        ('include:\n  - {torch: "2.11", rocm: "7.2"}\n  - {torch: "2.11", rocm: "7.2"}', "10: .*included twice"),
        ("exclude: [{kernel: gem}]", "there is no kernel 'gem'\n  Did you mean gemm"),
        ('include: [{torch: "2.11", rocm: "7.2", archs: [gfx924]}]', "8: .*'gfx924'\n  Did you mean gfx942"),
    ],
)
def test_an_entry_that_does_nothing_is_an_error(rules: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan_of(f"{MATRIX}{rules}\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["2.12", "2.13"]', '["2.12", "2.99"]', r"torch: 2\.99 is left without any cell(.|\n)*not known at all"),
        ('["7.1", "7.2"]', '["7.2", "10.0"]', r"(.|\n)*calls itself 7\.15 in torch\.version\.hip, so write 7\.15"),
        ('["7.1", "7.2"]', '["7.1", "7.2", "7.14", "7.3"]', r"rocm: 7\.3 is left without any cell"),
        ("[gfx942]", "[gfx942, gfx1100]", "archs: no cell that is served has gfx1100"),
        ("[gfx942]", "[gfx940]", "gfx940'\n  AMD withdrew it; gfx942 took its place"),
    ],
)
def test_an_axis_value_left_without_a_cell_is_an_error(old: str, new: str, message: str) -> None:
    matrix = MATRIX.replace(old, new)
    if old.startswith('["7'):
        matrix = matrix[: matrix.index("toolchains")]
    with pytest.raises(InputError, match=message):
        plan_of(matrix, toolchain="llvm")


def test_a_kernel_without_rocm_is_an_error() -> None:
    with pytest.raises(InputError, match=r"does not have rocm among its backends; it has cuda"):
        plan_of(MATRIX, {"gemm": STABLE.replace('["rocm"]', '["cuda"]')})


def test_a_tvm_ffi_project_is_an_error() -> None:
    with pytest.raises(InputError, match=r"tvm-ffi.*does not build"):
        plan_of(MATRIX, {"gemm": GENERAL + '[tvm-ffi]\nsrc = ["a.cc"]\n'})


def test_two_kernels_of_one_name_are_an_error() -> None:
    with pytest.raises(InputError, match="are both the kernel gemm"):
        plan_of(MATRIX.replace("[gemm]", "[a/gemm, b/gemm]"), {"a/gemm": STABLE, "b/gemm": STABLE})


def test_a_kernel_without_a_repository_is_an_error_unless_the_matrix_names_one() -> None:
    project = STABLE.replace('[general.hub]\nrepo-id = "someone/{name}"\n', "")
    with pytest.raises(InputError, match="no repository on the Hub"):
        plan_of(MATRIX, {"gemm": project})
    plan = plan_of(MATRIX.replace("[gemm]", "[{path: gemm, repo-id: me/gemm}]"), {"gemm": project})
    assert plan.kernel("gemm").repo_id == "me/gemm"


def test_withdrawn_archs_in_build_toml_are_warned_about_and_stop_nothing() -> None:
    plan = plan_of(MATRIX, {"gemm": STABLE.replace('["gfx942", "gfx950"]', '["gfx940", "gfx941", "gfx942"]')})
    assert plan.units[0].archs == ("gfx942",)
    assert plan.warnings == ("gemm/build.toml: gfx940 and gfx941: withdrawn by AMD, replaced by gfx942",)


def test_archs_of_a_noarch_kernel_are_those_that_it_lists() -> None:
    matrix = MATRIX.replace("[gfx942]", "[gfx942, gfx950]").replace("[gemm]", "[gemm, other]")
    project = NOARCH + 'rocm_archs = ["gfx941", "gfx942"]\n'
    plan = plan_of(matrix, {"gemm": project, "other": STABLE})
    assert cell_of(plan, "gemm.torch2.13-rocm7.2").archs == ("gfx942",)
    assert any("gfx941: withdrawn" in warning for warning in plan.warnings)


def test_a_plan_names_places_the_same_on_every_machine() -> None:
    text = MATRIX + 'exclude: [{torch: "2.12", rocm: "7.2"}]\n'
    manifest = parse_manifest(
        STABLE.replace("{name}", "gemm").replace("edition = 5\n", "").encode(), "/a/gemm/build.toml"
    )
    plans = [
        make_plan(parse_matrix(text.encode(), f"{folder}/matrix.yaml"), {"gemm": manifest}, load_compat())
        for folder in ("/home/somebody", "../elsewhere")
    ]
    assert plans[0] == plans[1]
    assert plans[0].toolchains[0].chosen_by == "matrix.yaml:7"
    assert plans[0].warnings == ("gemm/build.toml: no general.edition, read as edition 4; add edition = 5",)


def test_an_arch_nobody_knows_in_build_toml_is_warned_about() -> None:
    plan = plan_of(MATRIX, {"gemm": STABLE.replace('"gfx950"', '"gfx99999"')})
    assert plan.warnings == ("gemm/build.toml: ROCm is not known to target 'gfx99999'",)


def test_rocm_10_is_planned_under_the_name_that_it_gives_itself() -> None:
    matrix = MATRIX.replace('["7.1", "7.2"]', '["7.2", "7.15"]')
    plan = plan_of(matrix.replace('{"7.1": llvm, "7.2": llvm}', '{"7.2": llvm, "7.15": llvm}'))
    cell = cell_of(plan, "gemm.torch2.13-rocm7.15")
    assert (cell.state, cell.evidence.value) == (CellState.SERVED, "unverified")
    assert cell.unit == "gemm.torch-stable-abi210-rocm715-x86_64-linux"


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("torch2.31-rocm7.2", "Did you mean torch2.13-rocm7.2? "),
        ("torch2.13-rocm7.3", "Did you mean torch2.13-rocm7."),
        ("torch9.99-rocm0.0", ""),
    ],
)
def test_an_image_for_a_cell_that_is_not_promised_is_an_error(key: str, fix: str) -> None:
    with pytest.raises(InputError, match=rf"matrix\.yaml:8: check\.images: no cell has {key}") as caught:
        plan_of(f"{MATRIX}check: {{images: {{torch2.12-rocm7.1: a, {key}: b}}}}\n")
    assert (caught.value.fix or "").startswith(fix)
    assert (caught.value.fix or "").endswith(
        "Remove it, or write one of torch2.12-rocm7.1, torch2.12-rocm7.2, torch2.13-rocm7.1 or torch2.13-rocm7.2."
    )


def test_an_image_for_a_cell_of_any_kernel_is_taken() -> None:
    extra = 'include: [{torch: "2.14", rocm: "7.2", kernel: other}]\ncheck: {images: {torch2.14-rocm7.2: a}}\n'
    matrix = MATRIX.replace("kernels: [gemm]", "kernels: [gemm, other]") + extra
    assert plan_of(matrix, {"gemm": STABLE, "other": STABLE}) == plan_of(
        matrix.replace("check: {images: {torch2.14-rocm7.2: a}}\n", ""), {"gemm": STABLE, "other": STABLE}
    )
