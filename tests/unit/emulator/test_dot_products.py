"""Dot products and fused sums of pairs of float16: order and roundings, denormals, what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.descriptor import Denormals, Mode, Rounding
from rocmatrix.emulator.instruction import Encoding, Instruction, Operand
from rocmatrix.emulator.reports import UnsupportedError
from tests.unit.emulator.machine import constant, execute, integer, make, make_wave, v

_FORMS = ["v_dot2_f32_f16", "v_dot2c_f32_f16"]


def _instruction(name: str, first: Operand | None = None) -> Instruction:
    """Return v4 = v0 . v1 + v2, or v2 += v0 . v1."""
    sources = [first or v(0), v(1), v(2)]
    if name == "v_dot2_f32_f16":
        return make(name, Encoding.VOP3P, [v(4)], sources, op_sel_hi=7)
    return make(name, Encoding.VOP2, [v(2)], sources)


def _run(name: str, a: Array, b: Array, c: Array, mode: Mode | None = None) -> Array:
    wave = make_wave(mode=mode)
    for register, pairs in ((0, a), (1, b)):
        wave.vgprs[register] = np.ascontiguousarray(pairs.astype(np.float16)).view(np.uint32).reshape(64)
    wave.vgprs[2] = c.astype(np.float32).view(np.uint32)
    instruction = _instruction(name)
    execute(wave, instruction)
    result: Array = wave.vgprs[instruction.destinations[0].index].view(np.float32).copy()
    return result


@pytest.mark.parametrize("name", _FORMS)
def test_each_product_is_exact_and_each_sum_is_rounded_the_lower_first(name: str) -> None:
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((64, 2)).astype(np.float16) for _ in range(2))
    c = (random.standard_normal(64) * 2.0 ** random.integers(-12, 12, 64)).astype(np.float32)
    got = _run(name, a, b, c)
    for lane in range(64):
        total = Fraction(float(c[lane]))
        for half in range(2):
            exact = total + Fraction(float(a[lane, half])) * Fraction(float(b[lane, half]))
            total = Fraction(float(np.float32(float(exact))))  # 22 + 24 bits at nearby exponents: float64 is exact
            assert Fraction(float(exact)) == exact
        assert float(got[lane]) == float(total), lane


@pytest.mark.parametrize("name", _FORMS)
def test_denormals_of_float32_are_flushed_and_those_of_float16_are_not(name: str) -> None:
    ones, tiny = np.ones((64, 2)), np.full((64, 2), 2.0**-24)
    assert (_run(name, np.zeros((64, 2)), ones, np.full(64, 2.0**-140)) == 0).all()
    assert (_run(name, tiny, ones, np.zeros(64)) == 2.0**-23).all()


@pytest.mark.parametrize("name", _FORMS)
@pytest.mark.parametrize(
    "mode",
    [Mode(denormals_16_64=Denormals.FLUSH_SOURCES_AND_RESULTS), Mode(round_32=Rounding.TOWARDS_ZERO)],
)
def test_modes_whose_effect_is_not_documented_are_refused(name: str, mode: Mode) -> None:
    with pytest.raises(UnsupportedError):
        _run(name, np.ones((64, 2)), np.ones((64, 2)), np.ones(64), mode)


@pytest.mark.parametrize("name", _FORMS)
def test_float_constants_of_pairs_are_refused(name: str) -> None:
    wave = make_wave()
    execute(wave, _instruction(name, integer(0)))
    with pytest.raises(UnsupportedError, match="constant"):
        execute(wave, _instruction(name, constant(242)))


def test_both_halves_are_fused_into_the_destination() -> None:
    wave = make_wave()
    near_one = float(np.float16(1 + 2.0**-10))
    pairs = [(near_one, 2.0), (near_one, 3.0), (-(1 + 2.0**-9), 1.0)]
    for register, pair in enumerate(pairs):
        wave.vgprs[register] = np.array(pair, np.float16).view(np.uint32)[0]
    execute(wave, make("v_pk_fmac_f16", Encoding.VOP2, [v(2)], [v(0), v(1), v(2)]))
    low, high = np.array([wave.vgprs[2][0]], np.uint32).view(np.float16)
    assert (float(low), float(high)) == (2.0**-20, 7.0)


def test_fused_halves_flush_denormals_where_mode_says_so() -> None:
    for denormals, want in ((Denormals.KEEP, 2.0**-20), (Denormals.FLUSH_SOURCES_AND_RESULTS, 0.0)):
        wave = make_wave(mode=Mode(denormals_16_64=denormals))
        for register, number in enumerate((2.0**-10, 2.0**-10, 0.0)):
            wave.vgprs[register] = np.array([number, number], np.float16).view(np.uint32)[0]
        execute(wave, make("v_pk_fmac_f16", Encoding.VOP2, [v(2)], [v(0), v(1), v(2)]))
        assert set(wave.vgprs[2].view(np.float16).tolist()) == {want}


@pytest.mark.parametrize("name", ["v_dot4_i32_i8", "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4"])
def test_clamped_sums_of_integers_are_limited_once(name: str) -> None:
    """Also where the sum leaves the range on the way and comes back."""
    random, bits, signed = np.random.default_rng(5), int(name[-1]), "_i32_" in name
    wave = make_wave()
    wave.vgprs[0:3] = random.integers(0, 1 << 32, (3, 64), dtype=np.uint32)
    wave.vgprs[2][:32] = random.choice(np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint32), 32)
    wave.vgprs[0][:8] = wave.vgprs[1][:8] = 0x7F808080 if bits == 8 else 0x78888888
    execute(wave, make(name, Encoding.VOP3P, [v(4)], [v(0), v(1), v(2)], op_sel_hi=7, clamp=True))
    lowest, highest = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    for lane in range(64):
        total = _number(int(wave.vgprs[2][lane]), 32, signed=signed)
        for part in range(32 // bits):
            one, other = (
                _number(int(wave.vgprs[source][lane]) >> bits * part, bits, signed=signed) for source in (0, 1)
            )
            total += one * other
        assert int(wave.vgprs[4][lane]) == min(max(total, lowest), highest) % (1 << 32), lane


@pytest.mark.parametrize("name", ["v_dot2_i32_i16", "v_dot2_u32_u16", "v_dot2_f32_f16"])
def test_clamp_bits_whose_meaning_is_not_known_are_refused(name: str) -> None:
    instruction = make(name, Encoding.VOP3P, [v(4)], [v(0), v(1), v(2)], op_sel_hi=7, clamp=True)
    with pytest.raises(UnsupportedError, match="clamp"):
        execute(make_wave(), instruction)


def _number(word: int, bits: int, *, signed: bool) -> int:
    part = word & (1 << bits) - 1
    return part - (1 << bits) if signed and part >> (bits - 1) else part
