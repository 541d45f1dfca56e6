"""LLVM's division of float32, step by step in exact numbers: what each of its refinements is there for.

A reciprocal within 1 ulp, a Newton step of it, the product with the numerator, and two corrections by the remainder;
the second one is ``v_div_fmas`` (``AMDGPULegalizerInfo::legalizeFDIV32``). With all steps the quotient is rounded
correctly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from rocmatrix.emulator.numerics import Approximation

_FRACTION = 23
_HALF = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Which refinements are made.

    Attributes:
        newton: the one of the reciprocal.
        correction: the first one of the quotient.
    """

    newton: bool = True
    correction: bool = True


ALL_STEPS = Steps()


def unit(number: Fraction) -> Fraction:
    """Return the distance of the float32 next to a positive number, of an exponent without limits."""
    power = number.numerator.bit_length() - number.denominator.bit_length()
    if Fraction(2) ** power > number:
        power -= 1
    return Fraction(2) ** (power - _FRACTION)


def rounded(number: Fraction) -> Fraction:
    """Return the nearest float32 of an exponent without limits, the even one of two."""
    if number == 0:
        return number
    step = unit(abs(number))
    return round(number / step) * step


def reciprocal(divisor: Fraction, end: Approximation) -> Fraction:
    """Return what ``v_rcp_f32`` may give for a positive number."""
    exact = 1 / divisor
    if end is Approximation.NEAREST:
        return rounded(exact)
    step = unit(exact)
    below = floor(exact / step) * step
    return below if end is Approximation.LOW or below == exact else below + step


def quotient(numerator: Fraction, divisor: Fraction, end: Approximation, steps: Steps = ALL_STEPS) -> Fraction:
    """Return the quotient of positive float32 as the sequence comes to it."""
    result, rest = _before_rounding(numerator, divisor, end, steps)
    return rounded(result + rest)


def denormal_quotient(numerator: int, divisor: Fraction, end: Approximation, steps: Steps = ALL_STEPS) -> int:
    """Return a denormal quotient; numerator and result are in units of 2**-149.

    The sequence rounds it like a normal one, and ``v_div_fmas`` brings it to a denormal: as the emulator does that, to
    the even one of two only where the sum that it rounded says so too (``semantics.division.div_fmas``).
    """
    result, rest = _before_rounding(Fraction(numerator), divisor, end, steps)
    plain = rounded(result + rest)
    small = round(plain)
    lost, more = plain - small, result + rest - plain
    if abs(lost) == _HALF and lost * more > 0:
        small += 1 if lost > 0 else -1
    return small


def _before_rounding(
    numerator: Fraction, divisor: Fraction, end: Approximation, steps: Steps
) -> tuple[Fraction, Fraction]:
    """Return the last quotient but one, and what the last step adds to it before it rounds."""
    inverse = reciprocal(divisor, end)
    if steps.newton:
        inverse = rounded(rounded(1 - divisor * inverse) * inverse + inverse)
    result = rounded(numerator * inverse)
    if steps.correction:
        result = rounded(rounded(numerator - divisor * result) * inverse + result)
    return result, rounded(numerator - divisor * result) * inverse
