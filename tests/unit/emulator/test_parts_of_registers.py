"""SDWA, op_sel, packed operations and 16-bit results: which bits are read, written and left alone."""

from __future__ import annotations

import numpy as np
import pytest

from rocmatrix.emulator.instruction import Dpp, Encoding, Sdwa, Select, Unused
from rocmatrix.emulator.register_indexing import indexed
from rocmatrix.emulator.reports import AccessError, UnsupportedError
from tests.unit.emulator.machine import VCC_PAIR, a, constant, execute, integer, make, make_wave, s, v


def _added(sdwa: Sdwa, first: int = 0x11223384, second: int = 1, old: int = 0xAABBCCDD) -> int:
    wave = make_wave()
    wave.vgprs[0], wave.vgprs[1], wave.vgprs[2] = first, second, old
    execute(wave, make("v_add_u32", Encoding.VOP2, [v(2)], [v(0), v(1)], sdwa=sdwa))
    return int(wave.vgprs[2][0])


@pytest.mark.parametrize(
    ("select", "sext", "want"),
    [
        (Select.BYTE_0, False, 0x85),
        (Select.BYTE_0, True, 0xFFFFFF85),
        (Select.BYTE_3, False, 0x12),
        (Select.WORD_0, False, 0x3385),
        (Select.WORD_1, True, 0x1123),
        (Select.DWORD, False, 0x11223385),
    ],
)
def test_sdwa_selects_a_part_of_a_source(select: Select, want: int, *, sext: bool) -> None:
    assert _added(Sdwa(sources=(select, Select.DWORD), sext=(sext, False))) == want


@pytest.mark.parametrize(
    ("destination", "unused", "want"),
    [
        (Select.BYTE_1, Unused.PAD, 0x00008500),
        (Select.BYTE_1, Unused.SEXT, 0xFFFF8500),
        (Select.BYTE_1, Unused.PRESERVE, 0xAABB85DD),
        (Select.WORD_1, Unused.PRESERVE, 0x3385CCDD),
        (Select.WORD_0, Unused.SEXT, 0x00003385),
        (Select.BYTE_3, Unused.PRESERVE, 0x85BBCCDD),
    ],
)
def test_sdwa_places_the_result(destination: Select, unused: Unused, want: int) -> None:
    whole = (Select.DWORD, Select.DWORD)
    assert _added(Sdwa(destination=destination, unused=unused, sources=whole, sext=(False, False))) == want


def test_op_sel_chooses_halves_and_leaves_the_other_half_alone() -> None:
    wave = make_wave()
    wave.vgprs[0], wave.vgprs[1], wave.vgprs[2] = 0x3C004000, 0x40003C00, 0xAAAABBBB  # {1, 2}, {2, 1} upper first
    sources = [v(0), v(1), v(0)]
    execute(wave, make("v_fma_f16", Encoding.VOP3, [v(2)], sources, op_sel=0b1001))
    assert wave.vgprs[2][0] == 0x4200BBBB  # 1 * 1 + 2
    execute(wave, make("v_fma_f16", Encoding.VOP3, [v(2)], sources, op_sel=0b0110))
    assert wave.vgprs[2][0] == 0x42004500  # 2 * 2 + 1; without the 1, 2 * 2 + 2 = 6
    execute(wave, make("v_add_f16", Encoding.VOP2, [v(2)], [v(0), v(1)]))
    assert wave.vgprs[2][0] == 0x00004200


def test_packed_operations_choose_halves_and_signs_for_each_half() -> None:
    wave = make_wave()
    wave.vgprs[0], wave.vgprs[1] = 0x40003C00, 0x44004200  # {2, 1}, {4, 3}
    packed = {"op_sel": 0, "op_sel_hi": 0b11}
    execute(wave, make("v_pk_add_f16", Encoding.VOP3P, [v(2)], [v(0), v(1)], **packed))
    assert wave.vgprs[2][0] == 0x46004400  # {6, 4}
    crossed = {"op_sel": 0b10, "op_sel_hi": 0b01, "neg_hi": 0b10}
    execute(wave, make("v_pk_add_f16", Encoding.VOP3P, [v(2)], [v(0), v(1)], **crossed))
    assert wave.vgprs[2][0] == 0xBC004500  # {2 - 3, 1 + 4}


def test_packed_float32_takes_each_register_or_one_twice() -> None:
    wave = make_wave()
    for register, number in enumerate((1.0, 2.0, 10.0, 20.0)):
        wave.vgprs[register] = np.float32(number).view(np.uint32)
    execute(wave, make("v_pk_mul_f32", Encoding.VOP3P, [v(4, 2)], [v(0, 2), v(2, 2)], op_sel_hi=0b10))
    assert wave.vgprs[4:6, 0].copy().view(np.float32).tolist() == [10, 20]
    with pytest.raises(UnsupportedError, match="upper half of a constant"):
        execute(wave, make("v_pk_mul_f32", Encoding.VOP3P, [v(4, 2)], [v(0, 2), constant(244)], op_sel_hi=0b11))


def test_clamped_integers_saturate() -> None:
    wave = make_wave()
    wave.vgprs[0], wave.vgprs[1] = 0xFFFFFFF0, 0x20
    execute(wave, make("v_add_u32", Encoding.VOP3, [v(2)], [v(0), v(1)], clamp=True))
    assert wave.vgprs[2][0] == 0xFFFFFFFF
    execute(wave, make("v_sub_u32", Encoding.VOP3, [v(2)], [v(1), v(0)], clamp=True))
    assert wave.vgprs[2][0] == 0
    with pytest.raises(UnsupportedError, match="clamp bit"):
        execute(wave, make("v_mul_lo_u32", Encoding.VOP3, [v(2)], [v(0), v(1)], clamp=True))


def test_inactive_lanes_keep_their_registers_and_read_as_zero_in_masks() -> None:
    wave = make_wave()
    wave.vgprs[0] = np.arange(64)
    wave.vgprs[1] = 7
    wave.set_exec(np.arange(64) % 2 == 0)
    execute(wave, make("v_mov_b32", Encoding.VOP1, [v(1)], [v(0)]))
    assert wave.vgprs[1].tolist() == [lane if lane % 2 == 0 else 7 for lane in range(64)]
    execute(wave, make("v_cmp_gt_u32", Encoding.VOPC, [VCC_PAIR], [integer(10), v(0)]))
    assert wave.sgprs[106:108].tolist() == [0b0101010101, 0]
    execute(wave, make("v_cmpx_gt_u32", Encoding.VOPC, [VCC_PAIR], [integer(4), v(0)]))
    assert np.flatnonzero(wave.active).tolist() == [0, 2]


def test_dpp_reads_inactive_lanes_as_invalid() -> None:
    wave = make_wave()
    wave.vgprs[0] = np.arange(64) + 100
    wave.vgprs[1] = 7
    wave.set_exec(np.arange(64) != 4)
    for bound, want in ((False, 7), (True, 0)):
        dpp = Dpp(control=0x111, row_mask=0xF, bank_mask=0xF, bound_control=bound)
        execute(wave, make("v_mov_b32", Encoding.VOP1, [v(1)], [v(0)], dpp=dpp))
        assert wave.vgprs[1][5] == want
        assert wave.vgprs[1][6] == 105


def test_indexed_registers_are_counted_from_m0_in_moves_only() -> None:
    wave = make_wave()
    wave.vgprs[:32] = np.arange(32)[:, None]
    wave.sgprs[0], wave.sgprs[124] = 0x105, 0xABCDEF12
    execute(wave, make("s_set_gpr_idx_on", Encoding.SOPC, [], [s(0)], immediate=0b0001))
    assert wave.sgprs[124] == 0xABCD1F05
    assert wave.indexes_registers
    move = make("v_mov_b32", Encoding.VOP1, [v(2)], [v(10)])
    execute(wave, indexed(wave, move))
    assert wave.vgprs[2][0] == 15
    execute(wave, make("s_set_gpr_idx_mode", Encoding.SOPP, [], [], immediate=0b1000))
    execute(wave, indexed(wave, move))
    assert wave.vgprs[7][0] == 10
    with pytest.raises(UnsupportedError, match="v_add_u32 while registers are indexed"):
        indexed(wave, make("v_add_u32", Encoding.VOP2, [v(2)], [v(0), v(1)]))
    execute(wave, make("s_set_gpr_idx_off", Encoding.SOPP, [], []))
    assert not wave.indexes_registers


def test_accumulator_registers_are_a_file_of_their_own() -> None:
    wave = make_wave()
    wave.vgprs[1], wave.agprs[1] = 11, 22
    execute(wave, make("v_accvgpr_write_b32", Encoding.MAI, [a(2)], [v(1)]))
    execute(wave, make("v_accvgpr_read_b32", Encoding.MAI, [v(3)], [a(1)]))
    execute(wave, make("v_accvgpr_mov_b32", Encoding.VOP1, [a(4)], [a(1)]))
    assert (wave.agprs[2][0], wave.vgprs[3][0], wave.agprs[4][0]) == (11, 22, 22)


def test_misaligned_registers_are_illegal() -> None:
    with pytest.raises(AccessError, match=r"v\[1:2\] do not begin at a multiple of 2"):
        execute(make_wave(), make("v_mov_b64", Encoding.VOP1, [v(2, 2)], [v(1, 2)]))
    with pytest.raises(AccessError, match=r"s\[2:5\] do not begin at a multiple of 4"):
        execute(make_wave(), make("s_buffer_load_dword", Encoding.SMEM, [s(0)], [s(2, 4), s(1)]))
