"""Rows of a softmax that show a single step of its exponentials and of its divisions to the last bit.

Which numbers those are is searched for, with a seed, in exact arithmetic (``division``): about one pair of float32 in
2**24 has a quotient so near the middle of two that a step which is missing rounds it to the other one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from math import log

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.numerics import Approximation
from tests.mutation.division import Steps, denormal_quotient, quotient, rounded

COLUMNS = 1024
QUARTER = 256
"""Columns of a row; each lane divides four, one of each quarter."""
ENDS = (Approximation.LOW, Approximation.HIGH)
_NOTHING = -1000.0
"""Its exponential is zero beside that of 0."""
_NEAR = 4096
"""How many float32 on either side of a logarithm are tried."""
_SIGNALLING = 0x7F800123
_LOG2_E = np.uint32(0x3FB8AA3B).view(np.float32)
_SIGNIFICAND = 1 << 24
_LEAST_DIVISOR = 11_863_283
"""Of 24 bits, above the root of 2**47: smaller ones divide rightly without a Newton step, whatever the reciprocal."""
_SMALLEST_NORMAL = -5_814_540 * 2.0**-149
"""Times log2(e), rounded, it is -2**-126; 1.4e-45 more is a denormal, which an exponential takes for zero."""


def exact_rows() -> NDArray[np.float32]:
    """Return rows in whose quotients, at one end or the other of 1 ulp or at both, each refinement changes a bit."""
    rows = [np.full(COLUMNS, _NOTHING) for _ in range(2 + len(ENDS))]
    _tie(rows[0])
    _smallest(rows[1])
    for row, end in zip(rows[2:], ENDS, strict=True):
        row[7], (row[_of_each_quarter(5)], row[9]) = 0.0, _pair(end)
    return np.stack(rows).astype(np.float32)


def nan_rows() -> NDArray[np.float32]:
    """Return rows of -inf but for a signalling NaN and the largest element, which one lane has.

    If that lane's maximum is NaN, -inf remains as the row's, and what -inf less -inf is has other bits than this NaN.
    """
    pairs = [(0, 1), (1, 0), (2, 3), (3, 2)]
    rows = np.full((len(pairs), COLUMNS), -np.inf, np.float32)
    for row, (signalling, largest) in zip(rows, pairs, strict=True):
        columns = _of_each_quarter(37)
        row.view(np.uint32)[columns[signalling]] = _SIGNALLING
        row[columns[largest]] = 1.0
    return rows


def _tie(row: NDArray[np.float64]) -> None:
    """Make quotients that are exactly halfway between two denormals, of which the first correction decides one."""
    end, steps = Approximation.NEAREST, Steps(correction=False)
    for divisor in range(2, QUARTER, 2):
        for odd in range(1, divisor, 2):
            numerator = odd * divisor // 2
            whole = denormal_quotient(numerator, Fraction(divisor), end)
            if whole != denormal_quotient(numerator, Fraction(divisor), end, steps):
                row[1 : 1 + divisor] = 0.0
                row[_of_each_quarter(200)] = log(numerator) - 149 * log(2.0)
                return
    raise AssertionError("there are such quotients")


def _smallest(row: NDArray[np.float64]) -> None:
    """Make the exponent that is least below zero of those that are not taken for zero."""
    row[3] = 0.0
    row[_of_each_quarter(100)] = _SMALLEST_NORMAL


def _of_each_quarter(column: int) -> list[int]:
    """Return the columns of one lane."""
    return [quarter * QUARTER + column for quarter in range(4)]


def _pair(end: Approximation) -> tuple[float, float]:
    """Return what stands four times, and once, beside one 0, so that the Newton step decides quotients at an end.

    The four are of one lane, whose sum is exact.
    """
    for divisor, numerator in _quotients():
        rest = divisor - 1 - 4 * numerator
        if not 0 < rest < 1 or quotient(numerator, divisor, end) == quotient(
            numerator, divisor, end, Steps(newton=False)
        ):
            continue
        first, second = _power(numerator, end), _power(rest, end)
        if first is not None and second is not None and _sums(Fraction(1), 4 * numerator, rest) == {divisor}:
            return first, second
    raise AssertionError("there are endless quotients")


def _quotients() -> Iterator[tuple[Fraction, Fraction]]:
    """Return divisors up to 4 and numerators below a half, of which quotients are next to the middle of two float32."""
    choose = random.Random(0)  # noqa: S311 - a reproducible choice
    while True:
        divisor = choose.randrange(_LEAST_DIVISOR, _SIGNIFICAND) | 1
        for side in (1, -1):  # of the middle: 2 * numerator * 2**24 = middle * divisor + side
            numerator = side * pow(2 * _SIGNIFICAND, -1, divisor) % divisor
            if numerator >= _SIGNIFICAND // 2:
                yield Fraction(4 * divisor, _SIGNIFICAND), Fraction(numerator, 2 * _SIGNIFICAND)


def _sums(*numbers: Fraction) -> set[Fraction]:
    """Return what float32 come to in any order."""
    return {rounded(rounded(a + b) + c) for a, b, c in permutations(numbers)}


def _power(exponential: Fraction, end: Approximation) -> float | None:
    """Return a float32 of which the kernel's exponential is a number, or ``None`` if none is found."""
    middle = int(np.float32(log(exponential)).view(np.int32))
    tried = np.arange(middle - _NEAR, middle + _NEAR, dtype=np.int32).view(np.float32)
    exact = np.exp2((tried * _LOG2_E).astype(np.float64))
    given = exact.astype(np.float32)
    if end is Approximation.LOW:
        given = np.where(given > exact, np.nextafter(given, np.float32(0)), given)
    elif end is Approximation.HIGH:
        given = np.where(given < exact, np.nextafter(given, np.float32(2)), given)
    found = tried[given == np.float32(exponential)]
    return float(found[0]) if len(found) else None
