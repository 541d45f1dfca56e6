"""Rounding modes other than to nearest even, against exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.descriptor import Mode, Rounding
from rocmatrix.emulator.instruction import Encoding, Instruction
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.rounding import DIRECTED
from tests.unit.emulator.machine import execute, make, make_wave, v

Exact = Callable[..., Fraction]
Format = np.dtype[np.floating]

_EXACT: dict[str, Exact] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subrev": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
    "fmac": lambda a, b, c: a * b + c,
}
_MODES = [Rounding.TOWARDS_ZERO, Rounding.PLUS_INFINITY, Rounding.MINUS_INFINITY]
_KINDS: dict[str, Format] = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16)}
_PLAIN = [name for name in DIRECTED if "_pk_" not in name and "_cvt_" not in name]


def _mode(rounding: Rounding) -> Mode:
    return Mode(round_32=rounding, round_16_64=rounding)


def _numbers(dtype: Format, random: np.random.Generator) -> Array:
    """Return 64 numbers: ordinary ones, and the largest, smallest and denormal ones that make results overflow."""
    info = np.finfo(dtype)
    edges = [float(info.max), -float(info.max), float(info.tiny), float(info.smallest_subnormal), 1.0, -1.0, 0.0]
    drawn = random.standard_normal(64) * np.exp2(random.integers(-9, 9, 64))
    return np.where(random.random(64) < 0.3, random.choice(edges, 64), drawn).astype(dtype)


def _put(numbers: Array) -> Array:
    words: Array = numbers.view(np.uint32 if numbers.dtype.itemsize == 4 else np.uint16).astype(np.uint32)
    return words


def _rounded(exact: Fraction, dtype: Format, rounding: Rounding) -> float:
    """Return the number of a type that a mode chooses; an exact number is itself."""
    info = np.finfo(dtype)
    if abs(exact) > Fraction(float(info.max)):
        inwards = rounding is Rounding.TOWARDS_ZERO or (rounding is Rounding.PLUS_INFINITY) == (exact < 0)
        magnitude = float(info.max) if inwards else float("inf")
        return magnitude if exact > 0 else -magnitude
    near = np.array(float(exact)).astype(dtype)
    around = [np.nextafter(near, dtype.type(side)) for side in (-np.inf, 0.0, np.inf)]
    finite = sorted({float(number) for number in (near, *around) if np.isfinite(number)})
    for low, high in pairwise(finite):
        if Fraction(low) <= exact <= Fraction(high):
            if exact in (Fraction(low), Fraction(high)):
                return float(exact)
            up = rounding is Rounding.PLUS_INFINITY or (rounding is Rounding.TOWARDS_ZERO and exact < 0)
            return high if up else low
    raise AssertionError(exact)


@pytest.mark.parametrize("rounding", _MODES)
@pytest.mark.parametrize("name", _PLAIN)
def test_arithmetic_is_rounded_as_mode_says(name: str, rounding: Rounding) -> None:
    _, what, kind = name.split("_")
    dtype, exact = _KINDS[kind], _EXACT[what]
    count = 3 if what.startswith("fma") else 2
    random = np.random.default_rng(2)
    wave = make_wave(mode=_mode(rounding))
    numbers = [_numbers(dtype, random) for _ in range(count)]
    for register, column in enumerate(numbers):
        wave.vgprs[register] = _put(column)
    encoding = Encoding.VOP3 if what == "fma" else Encoding.VOP2
    execute(wave, make(name, encoding, [v(8)], [v(register) for register in range(count)]))
    got = wave.vgprs[8].astype(np.uint32 if kind == "f32" else np.uint16).view(dtype)
    for lane in range(64):
        true = exact(*(Fraction(float(column[lane])) for column in numbers))
        assert float(got[lane]) == _rounded(true, dtype, rounding), (lane, [column[lane] for column in numbers])


def _convert(name: str, words: Array, rounding: Rounding) -> Array:
    wave = make_wave(mode=_mode(rounding))
    for register, part in enumerate(words):
        wave.vgprs[register] = part
    instruction: Instruction = make(name, Encoding.VOP1, [v(8)], [v(0, len(words))])
    execute(wave, instruction)
    result: Array = wave.vgprs[8].copy()
    return result


@pytest.mark.parametrize("rounding", _MODES)
def test_conversions_are_rounded_as_mode_says(rounding: Rounding) -> None:
    random = np.random.default_rng(4)
    integers = random.integers(-(2**31), 2**31, 64).astype(np.int32)
    got = _convert("v_cvt_f32_i32", integers.view(np.uint32)[None], rounding).view(np.float32)
    singles = (random.standard_normal(64) * np.exp2(random.integers(-26, 18, 64))).astype(np.float32)
    halves = _convert("v_cvt_f16_f32", singles.view(np.uint32)[None], rounding).astype(np.uint16).view(np.float16)
    doubles = random.standard_normal(64) * np.exp2(random.integers(-160, 140, 64).astype(np.float64))
    pairs = doubles.view(np.uint64)
    words = np.array([pairs, pairs >> np.uint64(32)]).astype(np.uint32)
    narrowed = _convert("v_cvt_f32_f64", words, rounding).view(np.float32)
    for lane in range(64):
        assert float(got[lane]) == _rounded(Fraction(int(integers[lane])), np.dtype(np.float32), rounding)
        assert float(halves[lane]) == _rounded(Fraction(float(singles[lane])), np.dtype(np.float16), rounding)
        assert float(narrowed[lane]) == _rounded(Fraction(float(doubles[lane])), np.dtype(np.float32), rounding)


@pytest.mark.parametrize(("rounding", "bits"), [(Rounding.MINUS_INFINITY, 0x80000000), (Rounding.TOWARDS_ZERO, 0)])
def test_a_sum_that_vanishes_is_negative_only_where_rounding_goes_down(rounding: Rounding, bits: int) -> None:
    wave = make_wave(mode=_mode(rounding))
    wave.vgprs[0], wave.vgprs[1] = np.float32(1.5).view(np.uint32), np.float32(-1.5).view(np.uint32)
    execute(wave, make("v_add_f32", Encoding.VOP2, [v(2)], [v(0), v(1)]))
    assert set(wave.vgprs[2].tolist()) == {bits}


def test_packed_operations_round_alike() -> None:
    wave = make_wave(mode=_mode(Rounding.TOWARDS_ZERO))
    third = np.float32(1 / 3)
    for register in range(4):
        wave.vgprs[register] = third.view(np.uint32)
    execute(wave, make("v_pk_mul_f32", Encoding.VOP3P, [v(4, 2)], [v(0, 2), v(2, 2)], op_sel_hi=7))
    product = Fraction(float(third)) ** 2
    assert set(wave.vgprs[4:6].view(np.float32).ravel().tolist()) == {
        _rounded(product, np.dtype(np.float32), Rounding.TOWARDS_ZERO)
    }


@pytest.mark.parametrize("name", ["v_add_f64", "v_mul_f64", "v_rcp_f32", "v_div_fixup_f32"])
def test_what_has_no_wider_kind_or_no_documented_rounding_is_refused(name: str) -> None:
    count, width = (1 if "rcp" in name else 3 if "div" in name else 2), (2 if "f64" in name else 1)
    sources = [v(4 * number, width) for number in range(count)]
    wave = make_wave(mode=_mode(Rounding.TOWARDS_ZERO))
    with pytest.raises(UnsupportedError, match="TOWARDS_ZERO"):
        execute(wave, make(name, Encoding.VOP3, [v(20, width)], sources))


@pytest.mark.parametrize("rounding", [Rounding.NEAREST_EVEN, *_MODES])
def test_float16_stays_finite_where_mode_says_so(rounding: Rounding) -> None:
    mode = Mode(round_16_64=rounding, round_32=rounding, fp16_overflow=True)
    numbers = [60000.0, -60000.0, np.inf, -np.inf, 1.5, np.nan, 65504.0, 3.0]
    for name, encoding in (("v_add_f16", Encoding.VOP2), ("v_pk_add_f16", Encoding.VOP3P)):
        wave = make_wave(mode=mode)
        wave.vgprs[0] = np.tile(np.array(numbers, np.float16), 8).view(np.uint16) * np.uint32(0x10001)
        fields = {"op_sel_hi": 7} if encoding is Encoding.VOP3P else {}
        execute(wave, make(name, encoding, [v(1)], [v(0), v(0)], **fields))
        got = wave.vgprs[1].astype(np.uint16).view(np.float16)[:8]
        want = np.array([65504, -65504, np.inf, -np.inf, 3, np.nan, 65504, 6], np.float16)
        np.testing.assert_array_equal(got, want)
