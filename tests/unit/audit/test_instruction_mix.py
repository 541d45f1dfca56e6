"""Which loop is the hot one, and what instructions count as."""

from __future__ import annotations

import pytest

from rocmatrix.audit.instruction_mix import hot_loop, mix_of
from rocmatrix.audit.steps import Step
from rocmatrix.emulator.instruction import Encoding

MFMA = "v_mfma_f32_16x16x32_fp8_fp8"
_ENCODINGS = {"v_mfma": Encoding.MAI, "v_": Encoding.VOP2, "ds_": Encoding.DS, "global_": Encoding.GLOBAL}
_ENCODINGS |= {"buffer_": Encoding.MUBUF, "s_load": Encoding.SMEM, "s_add": Encoding.SOP2, "s_": Encoding.SOPP}


def program(*lines: str) -> list[Step]:
    """Return steps from lines such as ``v_add_u32`` and ``s_cbranch_scc1 0``: targets are line numbers."""
    made = []
    for number, line in enumerate(lines):
        name, _, target = line.partition(" ")
        encoding = next(kind for start, kind in _ENCODINGS.items() if name.startswith(start))
        to = 4 * int(target) if target else -1
        made.append(Step(address=4 * number, name=name, encoding=encoding, size=4, branch_target=to))
    return made


def hot(*lines: str) -> tuple[int, int, int]:
    """Return first and last line of the hot loop, and how many instructions it has."""
    found = hot_loop(program(*lines))
    assert found is not None
    return found.address // 4, found.end // 4, found.instructions


BACK = "s_cbranch_scc1"


def test_a_loop_with_matrix_instructions_is_hotter_than_a_larger_one_without() -> None:
    assert hot("v_a", "v_b", "v_c", f"{BACK} 0", MFMA, f"{BACK} 4", "s_endpgm") == (4, 5, 2)


def test_of_several_the_one_with_most_matrix_instructions_is_the_hot_one() -> None:
    assert hot(MFMA, MFMA, f"{BACK} 0", MFMA, "v_a", "v_b", "v_c", f"{BACK} 3", "s_endpgm") == (0, 2, 3)


def test_the_innermost_that_has_any_is_the_hot_one() -> None:
    assert hot(MFMA, "v_a", MFMA, f"{BACK} 2", f"{BACK} 0", "s_endpgm") == (2, 3, 2)


def test_a_loop_without_any_inside_one_with_some_does_not_count() -> None:
    assert hot(MFMA, "v_a", f"{BACK} 1", f"{BACK} 0", "s_endpgm") == (0, 3, 4)


def test_without_any_it_is_the_largest_innermost_loop() -> None:
    code = ("v_a", f"{BACK} 0", "v_a", "v_b", f"{BACK} 2", "v_c", "v_d", "v_e", f"{BACK} 0", "s_endpgm")
    assert hot(*code) == (2, 4, 3)


def test_of_equal_ones_it_is_the_first() -> None:
    assert hot("v_a", f"{BACK} 0", "v_b", f"{BACK} 2", "s_endpgm") == (0, 1, 2)


def test_code_without_a_loop_has_no_hot_one() -> None:
    assert hot_loop(program("v_a", "s_endpgm")) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v_add_u32", "valu"),
        ("v_accvgpr_read_b32", "valu"),
        ("ds_read_b128", "lds"),
        ("global_load_dwordx4", "vmem"),
        ("buffer_wbl2", "vmem"),
        ("s_load_dwordx2", "smem"),
        ("s_add_i32", "salu"),
        ("s_barrier", "barriers"),
        ("s_waitcnt", "waits"),
        ("s_branch", "branches"),
        ("s_cbranch_execz", "branches"),
        ("s_nop", "other"),
        ("s_endpgm", "other"),
    ],
)
def test_each_instruction_counts_once(name: str, kind: str) -> None:
    mix = mix_of(program(name, name, MFMA))
    assert getattr(mix, kind) == 2
    assert mix.matrix == {MFMA: 1}
    numbers = (mix.valu, mix.salu, mix.lds, mix.vmem, mix.smem, mix.barriers, mix.waits, mix.branches, mix.other)
    assert sum(numbers) == 2
