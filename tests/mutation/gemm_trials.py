"""What the GEMM's kernels are tried on: the cases that users run, and launches in which every step is exact.

The exact ones ask for every bit: factors are small integers and scales a few bits, so that float32 holds each sum, and
what float64 gives, rounded once to bfloat16, is the only right result. Their shapes are chosen by the kernel's tiling:
each column that a lane may store last, rows on both sides of every boundary, one to three steps along K, and none;
operands so small that a load of what no lane needs leaves them. Sums that lie between two results show one that began
at anything but zero, even by the smallest denormal.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array, Case, Layout
from rocmatrix.emulator.hidden_arguments import Geometry
from tests.corpus.trial import Trial, poisoned

_CASES = Path(__file__).parents[2] / "kernels" / "gemm" / "tests" / "cases.py"
_TILE, _THREADS, _BLOCK, _CHUNK, _SUBTILE = 128, 256, 128, 16, 16
_NAME = "_ZN14rocmatrix_gemm11gemm_kernelILNS_10ContiguousE{a}ELS1_{b}EEEvPKhS3_PKfS5_Ptiii"
_LARGEST_FACTOR = 8
_BETWEEN = 2.0**-134
"""Half of the smallest bfloat16, whose neighbours are 0 and 1: it is rounded to 0, and a bit more is not."""
_HUGE_SCALE = 2.0**126
"""Brings the smallest denormal of float32 to 2**-23."""
_NAN = (0x7FC00000, 0xFFC00001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0x7FA00000)
_FAR = (0x7F800000, 0xFF800000, 0x80000000, 0x00000000, 0x7F000000, 0x7E800000, 0x01000000, 0x00400000, 0x80000100)
_SPECIAL = np.array((*_NAN, *_FAR), dtype=np.uint32)
"""Scales: NaN quiet and signalling, with all bits of their fraction, of both signs; infinities, zeros, numbers at both
ends of the range, so that products overflow to infinity, become denormal or vanish."""


@dataclass(frozen=True, kw_only=True)
class Layouts:
    """Which of an operand's axes is contiguous, by the template arguments of the kernel: 0 K, 1 the other one."""

    a: int
    b: int

    @property
    def kernel(self) -> str:
        """Name of the instantiation."""
        return _NAME.format(a=self.a, b=self.b)


def shipped_trials(layouts: Layouts) -> Iterator[Trial]:
    """Return the cases of ``kernels/gemm/tests/cases.py`` that the binary's launcher gives to this instantiation."""
    for case in cases().CASES:
        if _layouts(case) == layouts:
            yield _of_case(case, layouts)


def cases() -> ModuleType:
    """Return the cases as a module."""
    spec = importlib.util.spec_from_file_location("gemm_mutation_cases", _CASES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _layouts(case: Case) -> Layouts:
    a, b = (case.layouts.get(name, Layout.CONTIGUOUS) is Layout.TRANSPOSED for name in ("a", "b"))
    return Layouts(a=int(a), b=int(not b))


def _of_case(case: Case, layouts: Layouts) -> Trial:
    made = case.make_arguments()
    whole = _trial(case.name, layouts, made, case.reference(**made))
    return replace(whole, rtol=case.rtol, atol=case.atol)


def exact_trials(layouts: Layouts) -> Iterator[Trial]:
    """Return launches of which every bit is known."""
    for shape in _edges():
        yield exact_trial(layouts, shape)
    for shape in ((64, 64, 128), (40, 72, 256), (130, 52, 384)):
        yield exact_trial(layouts, shape, special=True)
    yield replace(exact_trial(layouts, (50, 131, 256)), name="exact-straddling", straddles=True)
    for shape in ((50, 66, 0), (130, 3, 64), (_TILE, _TILE, 0), (_TILE, _TILE, 64), (_TILE + 2, _TILE + 1, 0)):
        yield exact_trial(layouts, shape)
    for m, n in ((1, 1), (2, 3), (3, 2)):
        yield exact_trial(layouts, (m, n, _BLOCK))
        yield exact_trial(layouts, (m, n, 2 * _BLOCK))
    for sums in ((1,), (3,), (0, 1), (1, 0)):
        yield between_trial(layouts, sums)


def _edges() -> Iterator[tuple[int, int, int]]:
    """Return M, N, K: whatever column is a lane's last, rows around each boundary of what a lane loads or stores."""
    for number in range(12):
        subtile, last = number // 3, number % 3 + 1
        quad = (subtile + last) % 4
        yield 64, 16 * subtile + 4 * quad + last + (64 if number % 2 else 0), _BLOCK
    for m in (1, 17, 31, 33, 47, 82, 97, 115):
        yield m, 132 - m, _BLOCK
    yield 300, 260, _BLOCK
    yield 200, 131, 3 * _BLOCK
    yield 129, 128, 2 * _BLOCK
    yield 67, 71, 2 * _BLOCK
    yield 66, 390, 2 * _BLOCK + 64


def edge_trials(layouts: Layouts) -> Iterator[Trial]:
    """Return launches with each number of rows, and each of columns, that a tile may have; of two steps or three.

    And such that a multiple of 4 GiB lies before each of the sixteen k that a work item loads, in the first step and in
    a later one, and before rows that lie all over a tile; and that the last rows and the last columns lie within each
    subtile together, so that masks of what a lane loads are others than those of what it stores.
    """
    for rows in range(1, _TILE + 1):
        yield exact_trial(layouts, (rows, _TILE + 1 - rows, (3 if rows % 8 == 0 else 2) * _BLOCK))
    for number in range(_CHUNK):
        for middle in (_TILE // 2, _BLOCK + _TILE // 2):
            shape = (34 + 6 * number, 222 - 5 * number, 2 * (middle + number))
            trial = exact_trial(layouts, shape)
            yield replace(trial, name=f"{trial.name}-straddling", straddles=True)
    lasts = ((17, 6), (18, 7), (19, 5), (7, 3), (22, 2), (27, 9), (19, 4), (18, 8), (17, 12), (19, 12))
    for first, column in product(range(0, 4 * _SUBTILE, _SUBTILE), repeat=2):
        for rows, columns in lasts:
            yield exact_trial(layouts, (first + rows, column + columns, _BLOCK))


def exact_trial(layouts: Layouts, shape: tuple[int, int, int], *, special: bool = False) -> Trial:
    """Return a launch of M, N, K.

    Args:
        layouts: of the operands.
        shape: K may be less than one step, for which the kernel gives zeros, and the rest of a step does not count.
        special: half of the rows have a scale out of ``_SPECIAL``.
    """
    m, n, k = shape
    random = np.random.default_rng([m, n, k, special])
    depth = max(k, _BLOCK)  # the first step is loaded before the kernel looks whether there is one
    span = 2 * _LARGEST_FACTOR + 1
    a, b = (
        (random.integers(0, span, size) - _LARGEST_FACTOR).astype(np.float32).astype(ml_dtypes.float8_e4m3fnuz)
        for size in ((m, depth), (depth, n))
    )
    blocks = k // _BLOCK
    a_scale, b_scale = (_few_bits(random, size) for size in ((blocks, m), (blocks, -(-n // _BLOCK))))
    if special:
        a_scale.view(np.uint32)[-1, ::2] = np.resize(_SPECIAL, -(-m // 2))
    made = {"a": a, "b": b, "a_scale": a_scale, "b_scale": b_scale}
    name = f"exact-{m}x{n}x{k}{'-special' if special else ''}"
    return _trial(name, layouts, made, _reference(a, b, a_scale, b_scale), k=k)


def between_trial(layouts: Layouts, sums: tuple[int, ...]) -> Trial:
    """Return a launch of one whole tile in which every result is the same number between two of bfloat16.

    Args:
        layouts: of the operands.
        sums: for each step of K what it adds, in units of ``_BETWEEN``; one that adds 0 does so under a huge scale.
    """
    random = np.random.default_rng([_TILE, *sums])
    numbers = random.integers(-_LARGEST_FACTOR, _LARGEST_FACTOR + 1, (_TILE, len(sums) * _BLOCK))
    ones = np.zeros((len(sums) * _BLOCK, _TILE))
    for step, units in enumerate(sums):
        place = step * _BLOCK + int(random.integers(_BLOCK))
        numbers[:, place], ones[place] = 1, min(units, 1)
    scales = [math.sqrt(_BETWEEN if units else _HUGE_SCALE) for units in sums]
    made: dict[str, Array] = {
        "a": numbers.astype(np.float32).astype(ml_dtypes.float8_e4m3fnuz),
        "b": ones.astype(np.float32).astype(ml_dtypes.float8_e4m3fnuz),
        "a_scale": np.repeat(np.array(scales, np.float32)[:, None], _TILE, axis=1),
        "b_scale": np.array([[scale * max(units, 1)] for scale, units in zip(scales, sums, strict=True)], np.float32),
    }
    return _trial(f"between-{'-'.join(map(str, sums))}", layouts, made, _reference(**made))


def _few_bits(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return scales of three bits, of both signs."""
    numbers = random.integers(1, 8, shape) * random.choice((-1.0, -0.25, 0.5, 1.0), shape)
    return np.asarray(numbers, np.float32)


def _reference(a: Array, b: Array, a_scale: Array, b_scale: Array) -> NDArray[np.float64]:
    """Return the product as bfloat16 has it; the scales' product is rounded to float32 first, as the kernel does it."""
    rows, columns = a.shape[0], b.shape[1]
    total = np.zeros((rows, columns), np.float32)
    with np.errstate(all="ignore"):  # infinities are meant
        for block in range(a_scale.shape[0]):
            part = slice(block * _BLOCK, (block + 1) * _BLOCK)
            wide = a[:, part].astype(np.float64) @ b[part].astype(np.float64)
            scale = a_scale[block][:, None] * np.repeat(b_scale[block], _BLOCK)[None, :columns]
            total = np.asarray(total + scale.astype(np.float64) * wide, np.float32)
        return np.asarray(total.astype(ml_dtypes.bfloat16), np.float64)


def _trial(
    name: str, layouts: Layouts, made: dict[str, Array], want: NDArray[np.float64], *, k: int | None = None
) -> Trial:
    """Return a trial that allows no error; ``k`` is what the kernel is told instead of what the arguments have."""
    a, b = made["a"], made["b"]
    m, n = a.shape[0], b.shape[1]
    inputs = [a.T if layouts.a else a, b if layouts.b else b.T, made["a_scale"], made["b_scale"]]
    return Trial(
        name=name,
        kernel=layouts.kernel,
        geometry=Geometry(grid=(-(-m // _TILE) * -(-n // _TILE), 1, 1), block=(_THREADS, 1, 1)),
        inputs=tuple(np.ascontiguousarray(each) for each in inputs),
        out=poisoned((m, n), ml_dtypes.bfloat16),
        scalars=(m, n, a.shape[1] if k is None else k),
        reference=lambda: want,
        rtol=0.0,
        atol=0.0,
    )
