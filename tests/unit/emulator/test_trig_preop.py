"""Segments of 2/pi for large angles: against integers, and by the digits of 2/pi themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.instruction import Encoding
from rocmatrix.emulator.semantics.trig_preop import two_over_pi
from tests.unit.emulator.machine import execute, make, make_wave, v

_KNOWN = 0xA2F9836E4E441529FC2757D1F534DDC0
"""The first 128 bits of 2/pi (fdlibm, ``__ieee754_rem_pio2``)."""
_BITS = 1184


def _run(angles: Array, segments: Array) -> Array:
    wave = make_wave()
    wave.vgprs[0:2] = np.ascontiguousarray(angles).view(np.uint32).reshape(64, 2).T
    wave.vgprs[2] = segments.astype(np.uint32)
    execute(wave, make("v_trig_preop_f64", Encoding.VOP3, [v(4, 2)], [v(0, 2), v(2)]))
    result: Array = np.ascontiguousarray(wave.vgprs[4:6].T).view(np.float64).reshape(64)
    return result


def _expected(angle: float, segment: int) -> Fraction:
    """Return what the ISA document's lines come to, in whole numbers."""
    power = int(np.float64(angle).view(np.uint64)) >> 52 & 0x7FF
    shift = segment % 32 * 53 + max(0, power - 1077)
    if shift // 32 + 2 >= _BITS // 32:
        return Fraction(0)
    bits = two_over_pi(_BITS) >> (_BITS - shift - 53) & (1 << 53) - 1
    return Fraction(bits) / Fraction(2) ** (53 + shift - (128 if power >= 1968 else 0))


def test_the_digits_are_those_of_two_over_pi() -> None:
    assert two_over_pi(128) == _KNOWN
    assert two_over_pi(_BITS) >> (_BITS - 128) == _KNOWN
    assert two_over_pi(4096) >> (4096 - _BITS) == two_over_pi(_BITS)


@pytest.mark.parametrize("segment", [0, 1, 2, 7, 18, 20, 21, 22, 31, 32, 63])
def test_a_segment_lies_where_exponent_and_number_say(segment: int) -> None:
    exponents = np.linspace(0, 2046, 64).astype(np.uint64)
    exponents[:6] = [1076, 1077, 1078, 1967, 1968, 2046]
    angles = (exponents << np.uint64(52) | np.uint64(12345)).view(np.float64) * np.where(np.arange(64) % 2, 1.0, -1.0)
    got = _run(angles, np.full(64, segment))
    for angle, result in zip(angles.tolist(), got.tolist(), strict=True):
        want = _expected(angle, segment)
        if want == 0 or want >= Fraction(2) ** -1022:
            assert Fraction(result) == want, (angle, segment)
        else:
            assert abs(Fraction(result) - want) <= Fraction(2) ** -1075, (angle, segment)


def test_three_segments_make_two_over_pi_and_a_nan_stays_one() -> None:
    segments = np.arange(64) % 3
    got = _run(np.where(np.arange(64) < 60, 1.0, np.nan), segments)
    total = sum(Fraction(part) for part in got[:3].tolist())
    assert total == Fraction(two_over_pi(159), 1 << 159)
    assert np.isnan(got[60:]).all()
