"""Float instructions, conversions and modifiers against NumPy, ml_dtypes and exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import F16, F32, F64, I32, U32, Kind, fma
from rocmatrix.emulator.descriptor import Denormals, Mode
from rocmatrix.emulator.instruction import Encoding
from rocmatrix.emulator.interpreter import TABLES
from rocmatrix.emulator.lanes import DTYPES, Lanes
from rocmatrix.emulator.lanes import constant as constant_of
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.conversions import BF8, FP8, Fnuz, from_fnuz, to_fnuz
from rocmatrix.emulator.semantics.division import div_fixup, div_fmas, div_scale
from rocmatrix.emulator.semantics.floats import flush
from rocmatrix.emulator.semantics.transcendental import reciprocal
from tests.unit.emulator.machine import constant, execute, make, make_wave, v, values

assert TABLES
_COUNT = 4096


def _call(name: str, *operands: Lanes, mode: Mode | None = None) -> Array:
    operation = VECTOR[name]
    arguments = (*operands, mode or Mode()) if operation.uses_mode else operands
    with np.errstate(all="ignore"):
        result = operation.function(*arguments)
    assert isinstance(result, Lanes)
    return result.array


def _same(got: Array, want: Array) -> None:
    both_nan = np.isnan(got) & np.isnan(want)
    wrong = ~((got == want) & (np.signbit(got) == np.signbit(want)) | both_nan)
    assert not wrong.any(), (got[wrong][:4], want[wrong][:4])


@pytest.mark.parametrize("kind", [F16, F32, F64])
def test_ldexp_rounds_once(kind: Kind) -> None:
    random = np.random.default_rng(1)
    numbers = values(kind, random, _COUNT)
    power = Lanes(I32, random.integers(-2300, 2300, _COUNT).astype(np.int32))
    if kind is F16:
        got = _call("v_ldexp_f16", numbers, Lanes(VECTOR["v_ldexp_f16"].operands[1], power.array.astype(np.int16)))
    else:
        got = _call(f"v_ldexp_{kind.label}", numbers, power)
    with np.errstate(all="ignore"):
        exact = [math.ldexp(float(x), int(p)) if np.isfinite(x) and abs(p) < 900 else np.nan for x, p in
                 zip(numbers.array, power.array, strict=True) if _fits(float(x), int(p))]  # fmt: skip
        chosen = [_fits(float(x), int(p)) for x, p in zip(numbers.array, power.array, strict=True)]
        _same(got[chosen], np.array(exact).astype(DTYPES[kind]))


def _fits(number: float, power: int) -> bool:
    """Say whether the product is a float64 without rounding, so that the one rounding is that to the kind."""
    if not math.isfinite(number) or abs(power) >= 900:
        return False
    return number == 0 or -1000 < math.frexp(number)[1] + power < 1000


@pytest.mark.parametrize("kind", [F16, F32, F64])
def test_mantissa_and_exponent_are_those_of_frexp(kind: Kind) -> None:
    numbers = values(kind, np.random.default_rng(2), _COUNT)
    finite = np.isfinite(numbers.array)
    mantissa, power = np.frexp(numbers.array[finite])
    _same(_call(f"v_frexp_mant_{kind.label}", numbers)[finite], mantissa)
    name = "v_frexp_exp_i16_f16" if kind is F16 else f"v_frexp_exp_i32_{kind.label}"
    assert _call(name, numbers)[finite].tolist() == power.tolist()
    assert (_call(name, numbers)[~finite] == 0).all()


def _divided(kind: Kind, numerator: Array, denominator: Array) -> Array:
    """Return the quotient by the sequence that LLVM emits (AMDGPULegalizerInfo, legalizeFDIV32 and legalizeFDIV64)."""
    n, d = Lanes(kind, numerator), Lanes(kind, denominator)
    below, _ = div_scale(d, d, n)
    above, back = div_scale(n, d, n)
    estimate = flush(reciprocal(flush(below))) if kind is F32 else reciprocal(below)
    for _ in range(1 if kind is F32 else 2):
        estimate = fma(fma(-below, estimate, constant_of(kind, 1.0)), estimate, estimate)
    quotient = above * estimate
    if kind is F32:
        quotient = fma(fma(-below, quotient, above), estimate, quotient)
    result = div_fixup(div_fmas(fma(-below, quotient, above), estimate, quotient, back), d, n)
    assert isinstance(result, Lanes)
    return result.array


@pytest.mark.parametrize("kind", [F32, F64])
def test_the_division_instructions_divide_as_ieee_says(kind: Kind) -> None:
    random = np.random.default_rng(12)
    dtype = DTYPES[kind]
    lowest, highest = (-149, 127) if kind is F32 else (-1074, 1023)
    count = 20_000
    numerator, denominator = (values(kind, random, count).array.copy() for _ in range(2))
    tiny = slice(0, count // 2)  # quotients that are denormal or close to it, many of them halfway between two
    numerator[tiny] = np.ldexp(random.integers(1, 1 << 12, count // 2).astype(np.float64), lowest).astype(dtype)
    denominator[tiny] = random.integers(1, 1 << 6, count // 2).astype(dtype)
    wide = slice(count // 2, count // 2 + count // 4)
    powers = random.integers(lowest + 60, highest, (2, count // 4))
    numerator[wide], denominator[wide] = np.ldexp(random.uniform(1, 2, (2, count // 4)), powers).astype(dtype)
    got, want = _divided(kind, numerator, denominator), numerator / denominator
    ties = np.array([
        _is_denormal_tie(float(n), float(d), lowest) for n, d in zip(numerator, denominator, strict=True)
    ])  # fmt: skip
    _same(got[~ties], want[~ties])
    assert (np.abs(got[ties].astype(np.float64) - want[ties]) <= 2.0**lowest).all()


def _is_denormal_tie(numerator: float, denominator: float, lowest: int) -> bool:
    """Say whether a quotient lies halfway between two multiples of the smallest number: see ``div_fmas``."""
    if not (math.isfinite(numerator) and math.isfinite(denominator) and denominator):
        return False
    units = Fraction(numerator) / Fraction(denominator) / Fraction(2) ** lowest
    return (2 * units).denominator == 1 and units.denominator == 2


def test_minimum_and_maximum_prefer_numbers_and_order_zeros() -> None:
    nan, signalling = np.float32(np.nan), np.array([0x7F800001], np.uint32).view(np.float32)[0]
    a = Lanes(F32, np.array([1, nan, nan, -0.0, 0.0, signalling], np.float32))
    b = Lanes(F32, np.array([2, 3, nan, 0.0, -0.0, 4], np.float32))
    low, high = _call("v_min_f32", a, b), _call("v_max_f32", a, b)
    assert (low[:2].tolist(), high[:2].tolist()) == ([1, 3], [2, 3])
    assert np.isnan([low[2], high[2]]).all()
    assert np.signbit(low[3:5]).tolist() == [True, True]
    assert np.signbit(high[3:5]).tolist() == [False, False]
    assert low.view(np.uint32)[5] == 0x7FC00001
    assert _call("v_min_f32", a, b, mode=Mode(ieee=False))[5] == 4


def test_the_median_lies_between_the_others() -> None:
    random = np.random.default_rng(3)
    three = [Lanes(F32, random.standard_normal(_COUNT).astype(np.float32)) for _ in range(3)]
    _same(_call("v_med3_f32", *three), np.sort([value.array for value in three], axis=0)[1])


def test_classes_of_floats_have_their_bits() -> None:
    patterns = [0x7F800001, 0x7FC00000, 0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0, 1, 0x3F800000, 0x7F800000]
    numbers = Lanes(F32, np.array(patterns, np.uint32).view(np.float32))
    for bit in range(10):
        got = _call("v_cmp_class_f32", numbers, Lanes(U32, np.full(10, 1 << bit, np.uint32)))
        assert got.tolist() == [place == bit for place in range(10)]


@pytest.mark.parametrize(("form", "dtype"), [(FP8, ml_dtypes.float8_e4m3fnuz), (BF8, ml_dtypes.float8_e5m2fnuz)])
def test_eight_bit_floats_are_those_of_ml_dtypes(form: Fnuz, dtype: type) -> None:
    codes = np.arange(256, dtype=np.uint32)
    every = codes.astype(np.uint8).view(dtype).astype(np.float32)
    with np.errstate(all="ignore"):
        decoded = from_fnuz(Lanes(U32, codes), form)
        assert isinstance(decoded, Lanes)
        _same(decoded.array, every)
        middle = (every[:127] + every[1:128]) / 2
        beside = [np.nextafter(middle, np.float32(limit)) for limit in (0, np.inf)]
        drawn = values(F32, np.random.default_rng(4), _COUNT).array
        numbers = np.concatenate([every, middle, *beside, drawn])
        numbers = np.concatenate([numbers, -numbers]).astype(np.float32)
        encoded = to_fnuz(Lanes(F32, numbers), form, Mode())
    assert isinstance(encoded, Lanes)
    assert encoded.array.tolist() == numbers.astype(dtype).view(np.uint8).tolist()


def test_eight_bit_floats_saturate_where_mode_says_so() -> None:
    numbers = Lanes(F32, np.array([1e9, -300.0, 247.0, 248.0, np.inf, np.nan], np.float32))
    codes = to_fnuz(numbers, FP8, Mode(fp16_overflow=True))
    assert isinstance(codes, Lanes)
    assert codes.array.tolist() == [0x7F, 0xFF, 0x7F, 0x7F, 0x80, 0x80]


def test_packed_float16_is_rounded_towards_zero() -> None:
    numbers = values(F32, np.random.default_rng(5), _COUNT)
    packed = _call("v_cvt_pkrtz_f16_f32", numbers, numbers)
    got = (packed & 0xFFFF).astype(np.uint16).view(np.float16)
    finite = np.isfinite(numbers.array)
    assert np.isfinite(got[finite]).all()
    wide = got[finite].astype(np.float64)
    exact = numbers.array[finite].astype(np.float64)
    assert (np.abs(wide) <= np.abs(exact)).all()
    beyond = np.nextafter(got[finite], np.copysign(np.float16(np.inf), got[finite])).astype(np.float64)
    assert (np.abs(beyond) > np.abs(exact)).all()


@pytest.mark.parametrize(
    ("name", "function", "low", "high"),
    [
        ("v_rcp_f32", lambda x: 1 / x, 1e-30, 1e30),
        ("v_rsq_f32", lambda x: 1 / np.sqrt(x), 1e-30, 1e30),
        ("v_sqrt_f32", np.sqrt, 0, 1e30),
        ("v_exp_f32", np.exp2, -120, 120),
        ("v_log_f32", np.log2, 1e-30, 1e30),
        ("v_sin_f32", lambda x: np.sin(2 * np.pi * x), -0.25, 0.25),
        ("v_cos_f32", lambda x: np.cos(2 * np.pi * x), -0.25, 0.25),
    ],
)
def test_transcendentals_are_within_one_ulp(name: str, function: np.ufunc, low: float, high: float) -> None:
    numbers = np.random.default_rng(6).uniform(low, high, _COUNT).astype(np.float32)
    want = function(numbers.astype(np.float64))
    got = _call(name, Lanes(F32, numbers))
    assert (np.abs(got - want) <= np.spacing(np.abs(want).astype(np.float32))).all()


def test_circular_functions_count_in_revolutions_and_end_at_256() -> None:
    turns = Lanes(F32, np.array([0.25, 0.5, 100.25, 300.0, np.inf], np.float32))
    assert _call("v_sin_f32", turns)[:4].tolist() == [1, 0, 1, 0]
    assert np.isnan(_call("v_sin_f32", turns)[4])
    assert np.abs(_call("v_cos_f32", turns)[:4] - [0, -1, 0, 1]).max() == 0


def test_denormals_are_kept_or_flushed_as_mode_says() -> None:
    tiny = np.float32(1e-40)
    instruction = make("v_add_f32", Encoding.VOP2, [v(2)], [v(0), v(1)])
    for denormals, sources, want in (
        (Denormals.KEEP, (tiny, tiny), tiny + tiny),
        (Denormals.FLUSH_SOURCES, (tiny, np.float32(1e-38)), np.float32(1e-38)),
        (Denormals.FLUSH_RESULTS, (tiny, tiny), np.float32(0)),
    ):
        wave = make_wave(mode=Mode(denormals_32=denormals))
        wave.vgprs[0], wave.vgprs[1] = (number.view(np.uint32) for number in map(np.float32, sources))
        execute(wave, instruction)
        assert wave.vgprs[2].view(np.float32)[0] == (want if denormals is not Denormals.FLUSH_SOURCES else 0)


def test_source_and_result_modifiers_apply_in_their_order() -> None:
    wave = make_wave(mode=Mode(denormals_32=Denormals.FLUSH_SOURCES_AND_RESULTS))
    wave.vgprs[0] = np.float32(-3).view(np.uint32)
    one = constant(242)
    sources = [v(0, absolute=True, negate=True), one]
    execute(wave, make("v_add_f32", Encoding.VOP3, [v(1)], sources, omod=1))
    assert wave.vgprs[1].view(np.float32)[0] == -4
    execute(wave, make("v_mul_f32", Encoding.VOP3, [v(1)], [v(0, negate=True), one], clamp=True))
    assert wave.vgprs[1].view(np.float32)[0] == 1


def test_output_modifiers_are_refused_where_denormals_are_kept() -> None:
    with pytest.raises(UnsupportedError, match="output modifier"):
        execute(make_wave(), make("v_add_f32", Encoding.VOP3, [v(1)], [v(0), v(0)], omod=1))
