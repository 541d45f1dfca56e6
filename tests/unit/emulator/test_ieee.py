"""Float arithmetic against exact fractions and the C library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator import ieee

FloatType = type[np.float16] | type[np.float32] | type[np.float64]

_UNSIGNED: dict[FloatType, type[np.unsignedinteger]] = {
    np.float16: np.uint16,
    np.float32: np.uint32,
    np.float64: np.uint64,
}
_ROUNDS = 40
_COUNT = 256


def _any_floats(random: np.random.Generator, dtype: FloatType, count: int = _COUNT) -> Array:
    """Return floats of all sizes, denormals, infinities and NaN among them."""
    unsigned = _UNSIGNED[dtype]
    drawn = random.integers(0, (1 << 64) - 1, count, dtype=np.uint64, endpoint=True)
    return drawn.astype(unsigned).view(dtype)


def _nearest(exact: Fraction, dtype: FloatType) -> np.floating:
    """Return the float nearest to a fraction, ties to even: by comparing a candidate with its neighbours."""
    info = np.finfo(dtype)
    limit = Fraction(float(info.max)) + Fraction(float(info.max) - float(np.nextafter(info.max, dtype(0)))) / 2
    if abs(exact) >= limit:
        return dtype(np.inf if exact > 0 else -np.inf)
    guess = dtype(exact.numerator / exact.denominator)
    around = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]
    finite = [value for value in around if np.isfinite(value)]
    unsigned = _UNSIGNED[dtype]
    return min(finite, key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(unsigned)) & 1))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("cancels", [False, True])
def test_fused_multiply_add_is_the_float_nearest_to_the_exact_sum(dtype: FloatType, *, cancels: bool) -> None:
    random = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        for _ in range(8):
            a, b, c = (_any_floats(random, dtype, 64) for _ in range(3))
            if cancels:
                c = (-(a * b) * (1 + random.integers(-2, 3, 64) * np.finfo(dtype).eps)).astype(dtype)
            got = ieee.fma(a, b, c)
            for x, y, z, result in zip(a, b, c, got, strict=True):
                if not np.isfinite([x, y, z]).all():
                    continue
                exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
                if exact != 0:
                    assert result == _nearest(exact, dtype), (x, y, z)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_tiny_addend_decides_between_two_floats(sign: int) -> None:
    """The product lies halfway between two float32, and the addend is far below float64's last bit."""
    root = np.full(1, 1 + 2.0**-12, np.float32)
    got = ieee.fma(root, root, np.full(1, sign * 2.0**-90, np.float32))
    assert float(got[0]) == 1 + 2.0**-11 + (2.0**-23 if sign > 0 else 0)


def _library(name: str, kind: type) -> Callable[[float, float, float], float]:
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = kind, [kind] * 3
    return lambda a, b, c: float(function(a, b, c))


@pytest.mark.parametrize(
    ("dtype", "name", "kind"), [(np.float32, "fmaf", ctypes.c_float), (np.float64, "fma", ctypes.c_double)]
)
def test_fused_multiply_add_agrees_with_the_c_library(dtype: FloatType, name: str, kind: type) -> None:
    library = _library(name, kind)
    random = np.random.default_rng(8)
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            a, b, c = (_any_floats(random, dtype) for _ in range(3))
            got = ieee.fma(a, b, c)
            want = np.array([library(*each) for each in zip(a, b, c, strict=True)], dtype=dtype)
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            assert same.all(), (a[~same], b[~same], c[~same])
            assert (np.signbit(got) == np.signbit(want))[~np.isnan(want)].all()


def test_a_nan_result_is_the_first_nan_operand_made_quiet() -> None:
    first = np.array([0x7F800001, 0x3F800000, 0x7F800000], np.uint32).view(np.float32)
    second = np.array([0x7FC00123, 0xFF812345, 0xFF800000], np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        got = ieee.with_nan_rule(first + second, first, second)
    assert got.view(np.uint32).tolist() == [0x7FC00001, 0xFFC12345, 0x7FC00000]


def test_floats_become_integers_towards_zero_saturated_and_nan_becomes_zero() -> None:
    numbers = np.array([1.9, -1.9, 3e9, -3e9, 5e9, np.nan, np.inf, -np.inf, -0.5], np.float64)
    assert ieee.to_integer(numbers, np.dtype(np.int32)).tolist() == [
        1, -1, 2147483647, -2147483648, 2147483647, 0, 2147483647, -2147483648, 0,
    ]  # fmt: skip
    assert ieee.to_integer(numbers, np.dtype(np.uint32)).tolist() == [
        1,
        0,
        3000000000,
        0,
        4294967295,
        0,
        4294967295,
        0,
        0,
    ]
    edge = np.array([2147483648.0, 2147483520.0], np.float32)
    assert ieee.to_integer(edge, np.dtype(np.int32)).tolist() == [2147483647, 2147483520]


def test_narrowing_keeps_the_upper_bits_of_a_nan() -> None:
    nan = np.array([0x7F802000, 0xFFC00001], np.uint32).view(np.float32)
    assert ieee.convert_float(nan, np.dtype(np.float16)).view(np.uint16).tolist() == [0x7E01, 0xFE00]
    assert ieee.convert_float(nan, np.dtype(np.float64)).view(np.uint64).tolist() == [
        0x7FF8040000000000, 0xFFF8000020000000,
    ]  # fmt: skip
