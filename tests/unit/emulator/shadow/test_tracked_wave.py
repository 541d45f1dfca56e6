"""Single instructions on partly undefined registers and memory: what stays defined, and what is reported."""

from __future__ import annotations

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import (
    EXEC,
    VCC,
    Dpp,
    Encoding,
    Instruction,
    MatrixBits,
    MemoryBits,
    Operand,
    RegisterFile,
    Sdwa,
    Select,
    Unused,
)
from rocmatrix.emulator.memory import LocalMemory, Memory
from rocmatrix.emulator.reports import FaultKind, WaveId
from rocmatrix.emulator.semantics.matrix import MATRIX
from rocmatrix.emulator.shadow.memory import LocalShadow, Stores
from rocmatrix.emulator.shadow.origin import Findings
from rocmatrix.emulator.shadow.wave import TrackedWave
from tests.unit.emulator.machine import EVERYONE, a, execute, integer, make, s, v

_OFF = Operand(file=RegisterFile.OFF, count=0)
_LANES = np.arange(64)


def _wave() -> TrackedWave:
    """Return a wave of which nothing but EXEC and v0, the lane number times 4, is written."""
    lds = LocalMemory(1024, "the workgroup's LDS")
    wave = TrackedWave(
        findings=Findings(),
        lds_shadow=LocalShadow(lds),
        stores=Stores(),
        identity=WaveId(workgroup=(0, 0, 0), wave=0),
        kernel="test",
        mode=Mode(),
        pc=0,
        lds=lds,
        scratch=LocalMemory(64, "the lane's scratch", rows=64),
        memory=Memory(),
        observer=None,
    )
    wave.set_exec(EVERYONE)
    _set(wave, 0, 4 * _LANES)
    return wave


def _set(wave: TrackedWave, index: int, words: Array | int, undefined: Array | int = 0) -> None:
    wave.vgprs[index] = words
    wave.shadow.vgprs.bits[index] = undefined
    wave.shadow.vgprs.refresh(index)


def _scalar(wave: TrackedWave, index: int, word: int, undefined: int = 0) -> None:
    wave.sgprs[index], wave.shadow.sgprs[index] = word, undefined


def _undefined(wave: TrackedWave, index: int) -> Array:
    bits: Array = wave.shadow.vgprs.bits[index].copy()
    return bits


def _vop3(name: str, destination: Operand, *sources: Operand, **fields: object) -> Instruction:
    return make(name, Encoding.VOP3, [destination], list(sources), **fields)


def _silent(wave: TrackedWave) -> bool:
    return not wave.findings.all


def test_a_d16_load_defines_its_half_and_keeps_the_other_undefined() -> None:
    wave = _wave()
    wave.lds_shadow.data[:] = 0
    load = make("ds_read_u16_d16", Encoding.DS, [v(1)], [v(0), v(1)], memory=MemoryBits())
    execute(wave, load)
    assert (_undefined(wave, 1) == 0xFFFF0000).all()
    high = make("ds_read_u16_d16_hi", Encoding.DS, [v(1)], [v(0), v(1)], memory=MemoryBits(offset=2))
    execute(wave, high)
    assert not _undefined(wave, 1).any()
    assert _silent(wave)


def test_packed_halves_are_independent() -> None:
    wave = _wave()
    _set(wave, 1, 0x3C003C00, 0xFFFF0000)
    _set(wave, 2, 0x40004000)
    execute(wave, make("v_pk_add_f16", Encoding.VOP3P, [v(3)], [v(1), v(2)], op_sel_hi=3))
    assert (_undefined(wave, 3) == 0xFFFF0000).all()
    execute(wave, make("v_pk_add_u16", Encoding.VOP3P, [v(3)], [v(1), v(2)], op_sel_hi=0))
    assert not _undefined(wave, 3).any(), "both halves come from the lower ones"


def test_dpp_keeps_the_old_value_undefined_only_in_lanes_that_are_not_written() -> None:
    wave = _wave()
    shift = Dpp(control=0x111, row_mask=15, bank_mask=15, bound_control=False)
    execute(wave, make("v_mov_b32", Encoding.VOP1, [v(1)], [v(0)], dpp=shift))
    assert ((_undefined(wave, 1) != 0) == (_LANES % 16 == 0)).all()
    assert _silent(wave)


def test_sdwa_preserve_keeps_what_it_does_not_write() -> None:
    wave = _wave()
    sdwa = Sdwa(
        destination=Select.BYTE_1, unused=Unused.PRESERVE, sources=(Select.BYTE_0, Select.DWORD), sext=(False, False)
    )
    execute(wave, make("v_add_u32", Encoding.VOP2, [v(1)], [v(0), v(0)], sdwa=sdwa))
    assert (_undefined(wave, 1) == 0xFFFF00FF).all()


def test_a_byte_permutation_takes_defined_bytes_out_of_partly_defined_registers() -> None:
    wave = _wave()
    _set(wave, 1, 0x11223344, 0xFF00FF00)
    _set(wave, 2, 0x55667788, 0x00FF00FF)
    _scalar(wave, 4, 0x06040301)
    execute(wave, _vop3("v_perm_b32", v(3), v(1), v(2), s(4)))
    assert not _undefined(wave, 3).any()
    _scalar(wave, 4, 0x07040301)
    execute(wave, _vop3("v_perm_b32", v(3), v(1), v(2), s(4)))
    assert (_undefined(wave, 3) == 0xFF000000).all()


def test_a_bit_field_insert_chooses_bit_by_bit() -> None:
    wave = _wave()
    _set(wave, 1, 0, 0xFFFF0000)
    _scalar(wave, 4, 0x0000FFFF)
    execute(wave, _vop3("v_bfi_b32", v(2), s(4), v(1), v(0)))
    assert not _undefined(wave, 2).any()


def test_a_choice_is_undefined_in_the_lanes_that_take_the_undefined_side() -> None:
    wave = _wave()
    _scalar(wave, 6, 0xF)
    _scalar(wave, 7, 0)
    execute(wave, _vop3("v_cndmask_b32", v(2), v(0), v(1), s(6, 2)))
    assert ((_undefined(wave, 2) != 0) == (_LANES < 4)).all()
    assert _silent(wave)


def test_a_copy_through_memory_keeps_each_undefined_bit() -> None:
    wave = _wave()
    _set(wave, 1, 0x12345678, 0x00010080)
    execute(wave, make("ds_write_b32", Encoding.DS, [], [v(0), v(1)], memory=MemoryBits()))
    execute(wave, make("ds_read_b32", Encoding.DS, [v(2)], [v(0)], memory=MemoryBits()))
    assert (_undefined(wave, 2) == 0x00010080).all()
    execute(wave, make("v_and_b32", Encoding.VOP2, [v(3)], [integer(1), v(2)]))
    assert not _undefined(wave, 3).any()
    assert _silent(wave)


@pytest.mark.parametrize("name", MATRIX)
def test_an_undefined_element_of_a_makes_its_row_undefined(name: str) -> None:
    operation = MATRIX[name]
    for which in (0, 1):
        wave = _wave()
        counts = operation.registers
        first = (16, 64)
        for start, count in zip(first, counts, strict=False):
            for register in range(start, start + count):
                _set(wave, register, 0)
        _set(wave, first[which], 0, np.where(_LANES == 5, 0xFFFFFFFF, 0))
        sources = [v(16, counts[0]), v(64, counts[1]), integer(0)]
        execute(wave, make(name, Encoding.MAI, [a(0, counts[2])], sources, matrix=MatrixBits()))
        bits = wave.shadow.agprs.bits[: counts[2]]
        undefined = int(np.count_nonzero(bits)) // (counts[2] // operation.results)
        across = operation.n if which == 0 else operation.m
        parts = max(1, 32 // (operation.a, operation.b)[which].bits)
        # the elements of one register lie in one row, but for the formats of one element in each
        assert undefined in (across, across * parts), undefined
        assert _silent(wave)


def test_undefined_addresses_are_reported_with_lane_and_origin() -> None:
    wave = _wave()
    _set(wave, 1, 4 * _LANES, np.where(_LANES == 9, 0xFF, 0))
    execute(wave, make("ds_write_b32", Encoding.DS, [], [v(1), v(0)], memory=MemoryBits()))
    (fault,) = wave.findings.all
    assert (fault.kind, fault.lane, fault.address) == (FaultKind.UNWRITTEN, 9, 36)
    assert fault.detail == "the address depends on v1, which nothing wrote"


def test_inactive_lanes_may_have_undefined_addresses() -> None:
    wave = _wave()
    wave.set_exec(_LANES != 9)
    _set(wave, 1, 4 * _LANES, np.where(_LANES == 9, 0xFF, 0))
    execute(wave, make("ds_write_b32", Encoding.DS, [], [v(1), v(0)], memory=MemoryBits()))
    assert _silent(wave)


def test_inactive_lanes_keep_what_was_written_and_what_was_not() -> None:
    wave = _wave()
    wave.set_exec(_LANES < 8)
    execute(wave, make("v_mov_b32", Encoding.VOP1, [v(1)], [v(0)]))
    assert ((_undefined(wave, 1) != 0) == (_LANES >= 8)).all()
    execute(wave, make("v_mov_b32", Encoding.VOP1, [v(0)], [v(2)]))
    assert ((_undefined(wave, 0) != 0) == (_LANES < 8)).all()


def test_an_undefined_value_from_lds_is_traced_to_its_load() -> None:
    wave = _wave()
    wave.lds_shadow.data[0, :40] = 0
    execute(wave, make("ds_read_b32", Encoding.DS, [v(2)], [v(0)], memory=MemoryBits()))
    execute(wave, make("v_add_u32", Encoding.VOP2, [v(3)], [integer(1), v(2)]))
    execute(wave, make("v_cmp_gt_u32", Encoding.VOPC, [s(VCC, 2)], [v(3), v(0)]))
    assert _silent(wave)
    execute(wave, make("s_mov_b64", Encoding.SOP1, [s(EXEC, 2)], [s(VCC, 2)]))
    (fault,) = wave.findings.all
    assert "which lanes are active depends on byte 40 of the workgroup's LDS" in fault.detail
    assert "ds_read_b32" in fault.detail


def test_masks_with_defined_zeros_hide_undefined_comparisons() -> None:
    wave = _wave()
    _scalar(wave, 6, 0)
    _scalar(wave, 7, 0)
    execute(wave, make("v_cmp_gt_u32", Encoding.VOPC, [s(VCC, 2)], [v(1), v(0)]))
    execute(wave, make("s_and_b64", Encoding.SOP2, [s(VCC, 2)], [s(VCC, 2), s(6, 2)]))
    execute(wave, make("s_and_saveexec_b64", Encoding.SOP1, [s(8, 2)], [s(VCC, 2)]))
    assert _silent(wave)


def test_readlane_takes_one_lane_and_its_selector_matters() -> None:
    wave = _wave()
    execute(wave, make("v_writelane_b32", Encoding.VOP3, [v(1)], [integer(7), integer(3)]))
    execute(wave, make("v_readlane_b32", Encoding.VOP3, [s(4)], [v(1), integer(3)]))
    assert wave.shadow.sgprs[4] == 0
    execute(wave, make("v_readlane_b32", Encoding.VOP3, [s(5)], [v(1), integer(4)]))
    assert wave.shadow.sgprs[5] != 0
    assert _silent(wave)
    execute(wave, make("v_readlane_b32", Encoding.VOP3, [s(5)], [v(0), s(5)]))
    assert "which lane is read depends on v1" in wave.findings.all[0].detail


def test_atomics_on_undefined_memory_are_reported_but_an_exchange_is_not() -> None:
    wave = _wave()
    data = make("ds_wrxchg_rtn_b32", Encoding.DS, [v(2)], [v(0), v(0)], memory=MemoryBits())
    execute(wave, data)
    assert (_undefined(wave, 2) == 0xFFFFFFFF).all()
    assert _silent(wave)
    execute(wave, make("ds_add_u32", Encoding.DS, [], [v(0), v(0)], memory=MemoryBits()))
    assert _silent(wave), "the exchange has defined it"
    execute(wave, make("ds_add_u32", Encoding.DS, [], [v(0), v(0)], memory=MemoryBits(offset=512)))
    (fault,) = wave.findings.all
    assert "what the atomic makes of memory depends on byte 512 of the workgroup's LDS" in fault.detail
