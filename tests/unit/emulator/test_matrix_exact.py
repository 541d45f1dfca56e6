"""Exact sums of matrix instructions: what a CDNA 3 GPU was seen to do, and the published model a second time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator import matrix_exact, matrix_unit
from rocmatrix.emulator.instruction import Encoding, MatrixBits
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, EXACT_MATRICES, Numerics
from rocmatrix.emulator.semantics.matrix import MATRIX, Element, MatrixOperation
from tests.unit.emulator.machine import execute, make, make_wave, v
from tests.unit.emulator.matrix_inputs import KINDS, draw, draw_c

_NAMES = [name for name, operation in MATRIX.items() if matrix_exact.differs(operation)]
_FP8 = MATRIX["v_mfma_f32_16x16x32_fp8_fp8"]
_BF16 = MATRIX["v_mfma_f32_16x16x16_bf16"]
_F16 = MATRIX["v_mfma_f32_16x16x16_f16"]
_LARGE = 2.0**7
_SMALLEST = {Element.XF32: -126, Element.F16: -14, Element.BF16: -126, Element.FP8: -7, Element.BF8: -15}


def _one(operation: MatrixOperation, products: Mapping[int, tuple[float, float]], c: float = 0.0) -> float:
    """Return one element of D, of products by their k; the others are zero."""
    rows = np.zeros((1, operation.m, operation.k), np.float32)
    columns = np.zeros((1, operation.n, operation.k), np.float32)
    for k, (left, right) in products.items():
        rows[0, 0, k], columns[0, 0, k] = left, right
    total = np.zeros((1, operation.m, operation.n), np.float32)
    total[0, 0, 0] = c
    with np.errstate(all="ignore"):
        return float(matrix_exact.accumulate(operation, rows, columns, total)[0, 0, 0])


# What a CDNA 3 GPU returned is in the outputs of tests/probe/probe_amd_cdna3.ipynb of github.com/microsoft/MMA-Sim.
_CANCELLED = {0: (_LARGE, _LARGE), 2: (_LARGE, -_LARGE)}


@pytest.mark.parametrize(
    ("scale", "seen"),
    [(0.25, 0.0), (0.75, 0.0), (-0.75, 0.0), (0.5, 0.0), (1.5, 2.0**-10), (-0.5, 0.0), (-1.5, -(2.0**-10))],
)
def test_products_beside_a_larger_one_are_cut_as_on_the_machine(scale: float, seen: float) -> None:
    assert _one(_FP8, {**_CANCELLED, 4: (scale * 2.0**-5, 2.0**-5)}) == seen


@pytest.mark.parametrize(
    ("scale", "seen"),
    [(0.75, 0.0), (-0.25, -(2.0**-10)), (1.5, 2.0**-10), (-0.5, -(2.0**-10)), (-1.5, -(2.0**-9))],
)
def test_even_and_odd_sums_are_rounded_down_as_on_the_machine(scale: float, seen: float) -> None:
    assert _one(_FP8, {**_CANCELLED, 1: (scale * 2.0**-5, 2.0**-5)}) == seen


@pytest.mark.parametrize(
    ("scale", "seen"),
    [(0.75, 0.0), (-0.25, 0.0), (-0.75, -(2.0**-10)), (1.5, 2.0**-10), (-0.5, -(2.0**-10)), (-1.5, -(2.0**-9)),
     (-1.0, -(2.0**-10)), (-0.125, 0.0)],
)  # fmt: skip
def test_c_is_rounded_down_or_too_small_as_on_the_machine(scale: float, seen: float) -> None:
    assert _one(_FP8, _CANCELLED, c=scale * 2.0**-10) == seen


@pytest.mark.parametrize(
    ("exponent", "together", "apart"),
    [(20, "0x1.ffffep13", "0x1.ffffep13"), (24, "0x1.fffffep13", "0x1.fffffep13"), (25, "0x1.fffffep13", "0x1p14"),
     (26, "0x1p14", "0x1p14")],
)  # fmt: skip
def test_a_negative_c_pulls_down_as_far_as_on_the_machine(exponent: int, together: str, apart: str) -> None:
    c = -(_LARGE**2) * 2.0**-exponent
    half = 0.5 * _LARGE, _LARGE
    assert _one(_FP8, {0: (_LARGE, _LARGE)}, c) == float.fromhex(together)
    assert _one(_FP8, {0: half, 1: half}, c) == float.fromhex(apart)


@pytest.mark.parametrize(
    ("scale", "seen"), [(0.25, "1p14"), (0.75, "1.000002p14"), (0.5, "1p14"), (1.5, "1.000004p14")]
)
def test_the_last_rounding_is_to_nearest_even_as_on_the_machine(scale: float, seen: str) -> None:
    quarter = 0.25 * _LARGE
    for sign in (1.0, -1.0):
        products = dict.fromkeys((0, 2, 4, 6), (sign * quarter, _LARGE))
        assert _one(_FP8, products, sign * scale * 2.0**-9) == sign * float.fromhex("0x" + seen)


@pytest.mark.parametrize(
    ("products", "c", "above", "at", "last"),
    [
        ({0: (1.0, 1.0)}, "0x1p24", "0x1.000002p24", "0x1p24", 7),
        ({0: (1.0, 1.0)}, "0x1.000008p24", "0x1.00000ap24", "0x1.000008p24", 7),
        ({0: (10.0, 1.0)}, "0x1.fffff8p24", "0x1.000002p25", "0x1p25", 6),
    ],
)
def test_a_small_product_decides_a_tie_as_far_as_on_the_machine(
    products: Mapping[int, tuple[float, float]], c: str, above: str, at: str, last: int
) -> None:
    for exponent in range(10):
        got = _one(_FP8, {**products, 1: (2.0**-exponent, 1.0)}, float.fromhex(c))
        assert got == float.fromhex(above if exponent <= last else at), exponent


@pytest.mark.parametrize(("first", "second"), [(2, 0), (2, 1), (3, 1), (3, 2), (9, 4), (15, 13), (15, 14)])
def test_even_and_odd_k_are_summed_apart_as_on_the_machine(first: int, second: int) -> None:
    products = dict.fromkeys(range(16), (2.0 ** (-6), 2.0 ** (-5)))
    products |= {first: (_LARGE, _LARGE), second: (_LARGE, -_LARGE)}
    assert _one(_FP8, products, 2.0**-10) * 2.0**10 == (5 if (first - second) % 2 == 0 else 1)


@pytest.mark.parametrize(("first", "second", "left"), [(5, 2, 16), (15, 0, 16), (16, 3, 0), (31, 30, 0), (20, 17, 0)])
def test_the_second_group_of_sixteen_swallows_what_the_first_left_as_on_the_machine(
    first: int, second: int, left: int
) -> None:
    products = dict.fromkeys(range(32), (2.0 ** (-9), 2.0 ** (-9)))
    products |= {first: (_LARGE, _LARGE), second: (_LARGE, -_LARGE)}
    assert _one(_FP8, products, 2.0**-18) * 2.0**18 == left


def _parts(value: float, smallest: int) -> tuple[Fraction, int]:
    """Return significand and exponent; zero has the exponent of the smallest normal number."""
    if value == 0:
        return Fraction(0), smallest
    exponent = max(math.frexp(value)[1] - 1, smallest)
    return Fraction(value) / Fraction(2) ** exponent, exponent


def _cut(value: Fraction, bits: int, *, down: bool) -> Fraction:
    scaled = value * 2**bits
    return Fraction(math.floor(scaled) if down else math.trunc(scaled), 2**bits)


def _sum(terms: Sequence[tuple[Fraction, int]]) -> tuple[Fraction, int] | None:
    counted = [(significand, exponent) for significand, exponent in terms if significand]
    if not counted:
        return None
    largest = max(exponent for _, exponent in counted)
    cut = [_cut(significand * Fraction(2) ** (exponent - largest), 24, down=False) for significand, exponent in counted]
    return sum(cut, Fraction(0)), largest


def _to_f32(value: Fraction) -> float:
    """Round to nearest even in float32."""
    if value == 0:
        return 0.0
    exponent = max(math.frexp(float(value))[1] - 1, -126)
    whole = value / Fraction(2) ** (exponent - 23)
    floor = math.floor(whole)
    rest = whole - floor
    steps = floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1))
    number = Fraction(steps) * Fraction(2) ** (exponent - 23)
    return math.copysign(math.inf, number) if abs(number) >= 2**128 else float(number)


def _group(left: Sequence[float], right: Sequence[float], c: float, smallest: tuple[int, int], *, split: bool) -> float:
    """Return c plus a group of products: the rules of the paper on fractions, nothing shared with the package."""
    special = [] if math.isfinite(c) else [c]
    terms = []
    for a, b in zip(left, right, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            special.append(a * b)
        elif abs(Fraction(a) * Fraction(b)) >= 2**128:
            special.append(math.copysign(math.inf, a) * math.copysign(1, b))
        else:
            (sa, ea), (sb, eb) = _parts(a, smallest[0]), _parts(b, smallest[1])
            terms.append((sa * sb, ea + eb))
    if special:
        return sum(special)
    sums = [found for found in ((_sum(terms[0::2]), _sum(terms[1::2])) if split else (_sum(terms),)) if found]
    sc, ec = _parts(c, -126)
    dot, at = Fraction(0), ec
    if sums:
        at = max(exponent for _, exponent in sums)
        dot = sum((_cut(part * Fraction(2) ** (exponent - at), 24, down=True) for part, exponent in sums), Fraction(0))
    top = max(at, ec)
    total = _cut(dot * Fraction(2) ** (at - top), 32, down=True)
    if not split or ec >= top - 25:
        total += _cut(sc * Fraction(2) ** (ec - top), 24, down=True)
    value = total * Fraction(2) ** top
    if value == 0:
        return 0.0
    exponent = max(math.frexp(float(value))[1] - 1, -126)
    return _to_f32(_cut(value / Fraction(2) ** exponent, 31, down=True) * Fraction(2) ** exponent)


def _model(operation: MatrixOperation, left: Array, right: Array, c: float) -> float:
    size = {Element.FP8: 16, Element.BF8: 16, Element.XF32: 4}.get(operation.a, 8)
    smallest = _SMALLEST[operation.a], _SMALLEST[operation.b]
    for first in range(0, operation.k, size):
        parts = [[float(number) for number in side[first : first + size]] for side in (left, right)]
        c = _group(parts[0], parts[1], c, smallest, split=size == 16)
    return c


def _inputs(operation: MatrixOperation, kind: str, seed: int) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(seed)
    rows = draw(operation.a, (operation.blocks, operation.m, operation.k), kind, random)
    columns = draw(operation.b, (operation.blocks, operation.n, operation.k), kind, random)
    numbers = [part.astype(np.float32) for part in (rows, columns)]
    if operation.a is Element.XF32:
        numbers = [(part.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for part in numbers]
    return numbers[0], numbers[1], draw_c((operation.blocks, operation.m, operation.n), kind, random)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", _NAMES)
def test_sums_are_those_of_the_published_model(name: str, kind: str) -> None:
    operation = MATRIX[name]
    rows, columns, c = _inputs(operation, kind, 7)
    with np.errstate(all="ignore"):
        got = matrix_exact.accumulate(operation, rows, columns, c)
    random = np.random.default_rng(8)
    for _ in range(24):
        block, i, j = (int(random.integers(0, extent)) for extent in got.shape)
        want = _model(operation, rows[block, i], columns[block, j], float(c[block, i, j]))
        mine = float(got[block, i, j])
        assert mine == want or (math.isnan(mine) and math.isnan(want)), (block, i, j)


@pytest.mark.parametrize("name", _NAMES)
def test_the_fast_arithmetic_is_within_the_error_of_its_roundings(name: str) -> None:
    operation = MATRIX[name]
    rows, columns, c = _inputs(operation, "ordinary", 5)
    c = np.where(np.isfinite(c) & (np.abs(c) < 1e6), c, np.float32(0))
    exact = matrix_exact.accumulate(operation, rows, columns, c).astype(np.float64)
    fast = matrix_unit.accumulate(operation, rows, columns, c).astype(np.float64)
    wide = [np.abs(part).astype(np.float64) for part in (rows, columns, c)]
    size = wide[0] @ wide[1].swapaxes(1, 2) + wide[2]
    assert (np.abs(fast - exact) <= 2.0**-23 * (operation.k + 1) * size).all()
    true = rows.astype(np.float64) @ columns.astype(np.float64).swapaxes(1, 2) + c
    assert (np.abs(exact - true) <= 2.0**-23 * (operation.k + 1) * size).all()


def test_infinities_nan_and_products_beyond_float32() -> None:
    infinity, nan, half = math.inf, math.nan, 2.0**64
    assert _one(_F16, {0: (infinity, 1.0)}) == infinity
    assert _one(_F16, {0: (infinity, -1.0)}, 5.0) == -infinity
    assert math.isnan(_one(_F16, {0: (infinity, 0.0)}))
    assert math.isnan(_one(_F16, {0: (infinity, 1.0), 1: (infinity, -1.0)}))
    assert math.isnan(_one(_F16, {0: (infinity, 1.0)}, -infinity))
    assert math.isnan(_one(_F16, {9: (nan, 1.0)}))
    assert math.isnan(_one(_FP8, {0: (1.0, 1.0)}, nan))
    assert _one(_FP8, {0: (1.0, 1.0)}, -infinity) == -infinity
    assert _one(_BF16, {0: (half, half)}) == infinity
    assert _one(_BF16, {0: (half, half), 1: (-1.0, 1.0)}, -3e38) == infinity
    assert math.isnan(_one(_BF16, {0: (half, half), 1: (half, -half)}))
    assert _one(_BF16, {0: (half, half / 2), 1: (half, half / 2), 2: (-half, half / 2)}) == 2.0**127
    assert _one(_BF16, {0: (half, half / 2), 1: (half, half / 2)}) == infinity


def test_thirty_two_bits_below_c_count_and_thirty_one_of_the_result() -> None:
    assert _one(_F16, {0: (-1.5, 1.0), 1: (2.0**-4, 2.0**-4)}, 2.0**24) == 2.0**24 - 1
    assert _one(_F16, {0: (-1.5, 1.0), 1: (2.0**-4, 2.0**-5)}, 2.0**24) == 2.0**24 - 2
    assert _one(_BF16, {0: (2.0**-75, 2.0**-75), 1: (2.0**-78, 2.0**-79)}) == 2.0**-149
    assert _one(_BF16, {0: (2.0**-75, 2.0**-75), 1: (2.0**-79, 2.0**-79)}) == 0.0


def test_denormals_are_kept_and_a_sum_of_zero_is_positive() -> None:
    assert _one(_BF16, {0: (2.0**-70, 2.0**-70)}, 2.0**-149) == 2.0**-140 + 2.0**-149
    assert _one(_F16, {0: (2.0**-24, 2.0**-24)}) == 2.0**-48
    assert math.copysign(1.0, _one(_F16, {0: (1.0, -0.0)}, -0.0)) == 1.0
    assert math.copysign(1.0, _one(_F16, {0: (1.0, 1.0)}, -1.0)) == 1.0


@pytest.mark.parametrize(("numerics", "seen"), [(EXACT_MATRICES, 2.0**24 + 2), (DEFAULT_NUMERICS, 2.0**24)])
def test_a_wave_adds_as_its_launch_asks(numerics: Numerics, seen: float) -> None:
    """Beside 2**24 the machine sees 1 + 2**-4 at once; one after the other, each of the two is rounded away."""
    wave = make_wave()
    wave.numerics = numerics
    codes, ones = np.zeros(32, ml_dtypes.float8_e4m3fnuz), np.ones(32, ml_dtypes.float8_e4m3fnuz)
    codes[0], codes[2] = 1.0, 2.0**-4
    for first, numbers in ((0, codes), (2, ones)):
        words = numbers.view(np.uint32).reshape(4, 2)  # eight k in each group of lanes
        for register in range(2):
            wave.vgprs[first + register] = np.repeat(words[:, register], 16)
    wave.vgprs[4:8] = np.float32(2.0**24).view(np.uint32)
    execute(wave, make(_FP8.name, Encoding.MAI, [v(8, 4)], [v(0, 2), v(2, 2), v(4, 4)], matrix=MatrixBits()))
    assert set(wave.vgprs[8:12].view(np.float32).ravel().tolist()) == {seen}
