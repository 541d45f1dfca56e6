"""Reciprocals, roots, exponentials and logarithms at either end of what 1 ulp allows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rocmatrix.cases import Array
from rocmatrix.emulator.instruction import Encoding
from rocmatrix.emulator.numerics import Approximation, Numerics
from rocmatrix.emulator.semantics.transcendental import APPROXIMATE
from tests.unit.emulator.machine import execute, make, make_wave, v

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "rcp": lambda x: 1 / x,
    "rsq": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "exp": np.exp2,
    "log": np.log2,
}
_EXACT = {"rcp": 0.25, "rsq": 16.0, "sqrt": 2.25, "exp": 3.0, "log": 0.125}


def _run(name: str, numbers: Array, approximation: Approximation) -> Array:
    kind = numbers.dtype
    wave = make_wave()
    wave.numerics = Numerics(approximation=approximation)
    wave.vgprs[1] = numbers.view(np.uint32 if kind == np.float32 else np.uint16)
    execute(wave, make(name, Encoding.VOP1, [v(0)], [v(1)]))
    bits = wave.vgprs[0] if kind == np.float32 else wave.vgprs[0].astype(np.uint16)
    result: Array = np.ascontiguousarray(bits).view(kind).copy()
    return result


@pytest.mark.parametrize("name", APPROXIMATE)
def test_the_ends_are_the_numbers_next_to_the_true_result(name: str) -> None:
    kind = np.float16 if name.endswith("f16") else np.float32
    what = APPROXIMATE[name]
    numbers = np.random.default_rng(5).uniform(0.3, 9.0, 64).astype(kind)
    numbers[:4] = _EXACT[what]
    nearest, low, high = (_run(name, numbers, end) for end in Approximation)
    true = _FUNCTIONS[what](numbers.astype(np.float64))
    assert (low.astype(np.float64) <= true).all()
    assert (high.astype(np.float64) >= true).all()
    assert ((nearest == low) | (nearest == high)).all()
    assert (high[4:] == np.nextafter(low[4:], kind(np.inf))).mean() > 0.9
    assert (low[:4] == high[:4]).all()
    assert nearest[0] == true[0]


@pytest.mark.parametrize("end", [Approximation.LOW, Approximation.HIGH])
def test_what_is_no_number_between_stays(end: Approximation) -> None:
    numbers = np.tile(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 4.0, -1.0], np.float32), 8)
    for name in APPROXIMATE:
        if not name.endswith("f16"):
            usual, moved = (_run(name, numbers, one).view(np.uint32) for one in (Approximation.NEAREST, end))
            np.testing.assert_array_equal(moved, usual, err_msg=name)


def test_exponentials_of_tiny_numbers_are_next_to_one_and_those_of_denormals_are_one() -> None:
    smallest = 2.0**-126
    numbers = np.tile(np.array([smallest, -smallest, 1e-20, -1e-20, 1e-45, -1e-45, 0.0, -0.0], np.float32), 8)
    low, high = (_run("v_exp_f32", numbers, end) for end in (Approximation.LOW, Approximation.HIGH))
    below, above = 1 - 2.0**-24, 1 + 2.0**-23
    np.testing.assert_array_equal(low[:8], np.array([1, below, 1, below, 1, 1, 1, 1], np.float32))
    np.testing.assert_array_equal(high[:8], np.array([above, 1, above, 1, 1, 1, 1, 1], np.float32))


def test_negative_results_move_to_the_same_side() -> None:
    numbers = np.full(64, -3.0, np.float32)
    low, high = (_run("v_rcp_f32", numbers, end) for end in (Approximation.LOW, Approximation.HIGH))
    assert float(low[0]) < -1 / 3 < float(high[0])


def test_reports_say_which_end() -> None:
    assert str(Numerics(approximation=Approximation.LOW)).endswith("at the low end of 1 ulp")
    assert str(Numerics()) == "fast matrix arithmetic"
