"""The table of hazards: complete, sourced, and about every matrix instruction that there is."""

from __future__ import annotations

import pytest

from rocmatrix.emulator.analysis.hazard_rules import Match, MatrixKind, hazard_table
from rocmatrix.emulator.semantics.matrix import MATRIX

PASSES = {
    "v_mfma_f32_32x32x16_fp8_fp8": MatrixKind(passes=8, kind="xdl"),
    "v_mfma_f32_16x16x32_bf8_fp8": MatrixKind(passes=4, kind="xdl"),
    "v_mfma_f32_32x32x4_xf32": MatrixKind(passes=8, kind="xdl"),
    "v_mfma_f32_16x16x8_xf32": MatrixKind(passes=4, kind="xdl"),
    "v_mfma_f32_32x32x4_2b_bf16": MatrixKind(passes=16, kind="xdl"),
    "v_mfma_i32_4x4x4_16b_i8": MatrixKind(passes=2, kind="xdl"),
    "v_mfma_f32_32x32x2_f32": MatrixKind(passes=16, kind="sgemm"),
    "v_mfma_f64_16x16x4_f64": MatrixKind(passes=8, kind="dgemm 16x16"),
    "v_smfmac_f32_32x32x32_fp8_bf8": MatrixKind(passes=8, kind="xdl"),
}
"""LLVM, SISchedule.td and VOP3PInstructions.td."""


@pytest.mark.parametrize("name", MATRIX)
def test_every_matrix_instruction_has_passes_and_a_kind(name: str) -> None:
    kind = hazard_table().matrix_kind(name)
    assert kind is not None
    operation = MATRIX[name]
    if operation.result == "f64":
        assert kind.kind.startswith("dgemm")
    else:
        assert kind.kind == ("sgemm" if name.endswith("_f32") and "xf32" not in name else "xdl")


@pytest.mark.parametrize("name", PASSES)
def test_passes_are_those_of_llvm(name: str) -> None:
    assert hazard_table().matrix_kind(name) == PASSES[name]


def test_every_rule_says_where_it_is_from_and_asks_for_something() -> None:
    for rule in hazard_table().rules:
        assert rule.source
        assert max(rule.needed(passes) for passes in (2, 4, 8, 16)) > 0
        assert not rule.passes or len(rule.passes) == 4


def test_rules_have_names_of_their_own_and_matches_that_are_known() -> None:
    rules = hazard_table().rules
    assert len({rule.id for rule in rules}) == len(rules)
    assert {rule.match for rule in rules} == set(Match)
