"""Every cell is explained: by a sentence that names the nearest thing that exists, and that can be followed."""

from collections.abc import Mapping

import pytest

from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.kernel_facts import facts_of
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.model import CellState, ReasonCode
from rocmatrix.plan.promises import Promise
from rocmatrix.plan.serving import Refused, serve
from tests.unit.plan.samples import GENERAL, MATRIX, NOARCH, PER_TORCH, STABLE, cell_of, plan_of

OTHER = GENERAL.replace('["rocm"]', '["cuda", "cpu"]') + "[torch]\n"
ONLY_950 = PER_TORCH.replace('"gfx942", "gfx950"', '"gfx950"')
BOUNDED = PER_TORCH.replace("[torch]", '[torch]\nminver = "2.12"\nmaxver = "2.12"')

CASES: Mapping[ReasonCode, list[tuple[str, str, str, str, str, str]]] = {
    ReasonCode.PAIR_UNKNOWN: [
        (
            PER_TORCH,
            "2.10",
            "7.2",
            "no torch 2.10 is known for ROCm 7.2: torch 2.10 exists for ROCm 7.0 and 7.1; ROCm 7.2 has torch 2.11",
            "2.10",
            "7.1",
        ),
        (PER_TORCH, "2.10", "7.2", "; nearest is torch 2.10 on ROCm 7.1", "2.10", "7.1"),
        (PER_TORCH, "2.20", "7.2", "torch 2.20 is not known at all; ROCm 7.2 has", "2.15", "7.2"),
        (PER_TORCH, "2.13", "7.3", "ROCm 7.3 is not known at all; nearest is torch 2.13 on ROCm 7.2", "2.13", "7.2"),
        (PER_TORCH, "3.0", "8.0", "neither is known; torch 2.6 to 2.15 are", "2.15", "7.14"),
        (PER_TORCH, "2.13", "10.0", "ROCm 10.0 calls itself 7.15 in torch.version.hip, so write 7.15", "2.13", "7.15"),
    ],
    ReasonCode.ARCH_UNSUPPORTED: [
        (ONLY_950, "2.9", "6.4", "ROCm 6.4 cannot target gfx950 (needs ROCm 7.0 or later)", "2.10", "7.0"),
    ],
    ReasonCode.BELOW_ABI_LEVEL: [
        (
            STABLE,
            "2.9",
            "6.4",
            "torch 2.9 is older than 2.10, the stable ABI level of gemm; torch 2.10 and",
            "2.10",
            "7.1",
        ),
    ],
    ReasonCode.OUTSIDE_TORCH_BOUNDS: [
        (
            BOUNDED,
            "2.11",
            "7.1",
            "below torch.minver of gemm/build.toml; torch 2.12 and later are served",
            "2.12",
            "7.1",
        ),
        (BOUNDED, "2.13", "7.1", "above torch.maxver of gemm/build.toml; torch up to 2.12 is served", "2.12", "7.1"),
    ],
}


def matrix_of(torches: list[str], rocms: list[str], archs: str) -> str:
    """Return a matrix whose axes have these and, so that none is left without a cell, others beside them."""
    listed = {"torch": sorted({*torches, "2.12"}), "rocm": sorted({*rocms, "7.1"})}
    rows = "".join(f"{axis}: {values}\n" for axis, values in listed.items())
    return f"schema: 1\nkernels: [gemm]\n{rows}archs: [{archs}]\n"


@pytest.mark.parametrize(
    ("code", "case"),
    [(code, case) for code, cases in CASES.items() for case in cases],
    ids=lambda value: str(value)[:40],
)
def test_a_refusal_names_what_exists_and_following_it_is_served(
    code: ReasonCode, case: tuple[str, str, str, str, str, str]
) -> None:
    manifest, torch, rocm, sentence, near_torch, near_rocm = case
    found, reason = refused(manifest, torch, rocm)
    assert found is code
    assert sentence in reason
    archs = "gfx950" if manifest == ONLY_950 else "gfx942, gfx950"
    plan = plan_of(matrix_of([near_torch], [near_rocm], archs), {"gemm": manifest}, toolchain="llvm")
    assert cell_of(plan, f"gemm.torch{near_torch}-rocm{near_rocm}").state is CellState.SERVED


def refused(manifest: str, torch: str, rocm: str) -> tuple[ReasonCode | None, str]:
    """Return code and sentence of a cell, asked of the serving rules: a plan wants served cells for its values too."""
    matrix = parse_matrix(MATRIX.encode(), "matrix.yaml")
    facts = facts_of(matrix.kernels[0], parse_manifest(manifest.replace("{name}", "gemm").encode(), "b"), matrix)
    found = serve(Promise(kernel="gemm", torch=torch, rocm=rocm, archs=("gfx942", "gfx950")), facts, load_compat())
    assert isinstance(found, Refused)
    return found.code, found.reason


def test_a_kernel_for_other_backends_says_which_it_has() -> None:
    code, reason = refused(OTHER, "2.13", "7.2")
    assert (code, reason) == (
        ReasonCode.BACKEND_MISSING,
        "gemm does not have rocm among its backends; it has cuda and cpu",
    )


def test_archs_that_build_toml_does_not_list_say_what_it_lists() -> None:
    manifest = PER_TORCH.replace('"gfx942", "gfx950"', '"gfx90a"')
    code, reason = refused(manifest, "2.13", "7.2")
    assert (code, reason) == (
        ReasonCode.ARCH_NOT_IN_MANIFEST,
        "gemm/build.toml lists none of gfx942 or gfx950; it lists gfx90a",
    )


def test_an_exclusion_says_by_whom_and_why() -> None:
    plan = plan_of(MATRIX + 'exclude: [{torch: "2.12", rocm: "7.1", reason: "crashes on start"}]\n')
    cell = cell_of(plan, "gemm.torch2.12-rocm7.1")
    assert (cell.state, cell.reason_code) == (CellState.EXCLUDED, ReasonCode.EXCLUDED)
    assert cell.reason == "excluded by matrix.yaml:8: crashes on start"


def test_a_served_cell_says_which_unit_and_why_that_one() -> None:
    for manifest, unit, why in (
        (
            STABLE,
            "gemm.torch-stable-abi210-rocm72-x86_64-linux",
            "stable ABI 2.10: one unit serves torch 2.10 and later",
        ),
        (PER_TORCH, "gemm.torch213-cxx11-rocm72-x86_64-linux", "built against torch 2.13 itself"),
        (NOARCH, "gemm.torch-rocm", "has no compiled code: one unit serves every torch and ROCm"),
    ):
        cell = cell_of(plan_of(MATRIX, {"gemm": manifest}), "gemm.torch2.13-rocm7.2")
        assert cell.unit == unit
        assert why in cell.reason


def test_every_reason_code_is_met_here() -> None:
    met = {*CASES, ReasonCode.BACKEND_MISSING, ReasonCode.ARCH_NOT_IN_MANIFEST, ReasonCode.EXCLUDED}
    assert met == set(ReasonCode)
