"""Numerical cases of the GEMM, for the emulator, a GPU run and the bench. NumPy only; no torch.

A name ends in the layouts of a and b: ``n`` for contiguous, ``t`` for the transpose of a contiguous array.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from rocmatrix.cases import Array, Case, Factory, Layout

SCALE_BLOCK = 128

# bfloat16 keeps eight significant bits: rounding to nearest is off by at most 2**-8 of the value, 0.4 %. The rest is
# room for the float32 sums; a wrong row, column, block or scale is off by about the value itself.
RTOL = 5e-3
# Where large terms cancel, what counts is the float32 sums' own error: 1e-5 or so for values and scales around 1.
ATOL = 1e-3

LAYOUTS = {"n": Layout.CONTIGUOUS, "t": Layout.TRANSPOSED}

SHAPES = {
    "single": (1, 1, 128),
    "one-row": (1, 200, 256),
    "one-column": (130, 1, 256),
    "ragged": (33, 65, 256),
    "unaligned": (131, 259, 128),
    "tile": (128, 128, 128),
    "many-tiles": (192, 320, 384),
    "deep": (16, 48, 2048),
}


def scale_blocks(extent: int) -> int:
    """Return how many scale blocks cover an axis."""
    return -(-extent // SCALE_BLOCK)


def reference(a: Array, b: Array, a_scale: Array, b_scale: Array) -> Array:
    """Return the product in float64, not rounded to bfloat16.

    Shapes: a (M, K), b (K, N), a_scale (K / 128, M), b_scale (K / 128, ceil(N / 128)); the result is (M, N).
    """
    columns = b.shape[1]
    result = np.zeros((a.shape[0], columns))
    for block, (rows, blocks) in enumerate(zip(a_scale.astype(np.float64), b_scale.astype(np.float64), strict=True)):
        k = slice(block * SCALE_BLOCK, (block + 1) * SCALE_BLOCK)
        product = a[:, k].astype(np.float64) @ b[k].astype(np.float64)
        result += rows[:, None] * np.repeat(blocks, SCALE_BLOCK)[None, :columns] * product
    return result


def rounded_reference(a: Array, b: Array, a_scale: Array, b_scale: Array) -> Array:
    """Return the product as bfloat16 holds it, for cases whose every step is exact in float32."""
    exact = reference(a, b, a_scale, b_scale)
    return exact.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def normal_fp8(*shape: int) -> Factory:
    """Make standard normal values rounded to e4m3fnuz."""
    return lambda random: random.standard_normal(shape).astype(ml_dtypes.float8_e4m3fnuz)


def any_fp8(*shape: int) -> Factory:
    """Make every finite e4m3fnuz value equally often: all but the byte 0x80, which is NaN."""

    def make(random: np.random.Generator) -> Array:
        codes = random.integers(0, 255, shape, dtype=np.uint8)
        return np.where(codes < 0x80, codes, codes + 1).astype(np.uint8).view(ml_dtypes.float8_e4m3fnuz)

    return make


def constant_fp8(value: float, *shape: int) -> Factory:
    """Make one value everywhere."""
    return lambda _random: np.full(shape, value, dtype=ml_dtypes.float8_e4m3fnuz)


def fp8_with_nan(where: tuple[int, int], *shape: int) -> Factory:
    """Make standard normal values with one NaN."""

    def make(random: np.random.Generator) -> Array:
        values = normal_fp8(*shape)(random)
        values[where] = np.nan
        return values

    return make


def integer_fp8_with_nan_columns(*shape: int) -> Factory:
    """Make integers from -8 to 8 with a NaN in every third column, so that neighbours of every kind meet."""

    def make(random: np.random.Generator) -> Array:
        values = integer_fp8(*shape)(random)
        columns = np.arange(0, shape[1], 3)
        values[columns * 7 % shape[0], columns] = np.nan
        return values

    return make


def one_hot_fp8(*shape: int) -> Factory:
    """Make rows that are 1 at one place, a different one for adjacent rows, and 0 elsewhere."""

    def make(_random: np.random.Generator) -> Array:
        values = np.zeros(shape, dtype=ml_dtypes.float8_e4m3fnuz)
        rows = np.arange(shape[0])
        values[rows, rows * 7 % shape[1]] = 1
        return values

    return make


def normal_scales(*shape: int) -> Factory:
    """Make standard normal scales: about half of them are negative."""
    return lambda random: random.standard_normal(shape).astype(np.float32)


def integer_fp8(*shape: int) -> Factory:
    """Make integers from -8 to 8, whose products and sums are exact in float32."""
    return lambda random: random.integers(-8, 9, shape).astype(np.float32).astype(ml_dtypes.float8_e4m3fnuz)


def integer_scales(*shape: int) -> Factory:
    """Make integers from -4 to 4, zero left out."""
    return lambda random: (random.integers(1, 5, shape) * random.choice((-1, 1), shape)).astype(np.float32)


def constant_scales(value: float, *shape: int) -> Factory:
    """Make one scale everywhere."""
    return lambda _random: np.full(shape, value, dtype=np.float32)


def scales_with_nan(where: tuple[int, int], *shape: int) -> Factory:
    """Make standard normal scales with one NaN, all of whose bits are set: rounding those carries out of the NaN."""

    def make(random: np.random.Generator) -> Array:
        scales = normal_scales(*shape)(random)
        scales.view(np.uint32)[where] = 0x7FFFFFFF
        return scales

    return make


def tie_scales(*shape: int) -> Factory:
    """Make scales that are odd multiples of 2**-8 above 1: halfway between two bfloat16 numbers."""
    return lambda random: (1 + (2 * random.integers(0, 64, shape) + 1) * 2.0**-8).astype(np.float32)


def make_case(
    name: str,
    shape: tuple[int, int, int],
    layouts: str = "nn",
    *,
    a: Factory | None = None,
    b: Factory | None = None,
    a_scale: Factory | None = None,
    b_scale: Factory | None = None,
    exact: bool = False,
) -> Case:
    """Return a case of the shape (M, N, K); what is not given is standard normal."""
    m, n, k = shape
    return Case(
        name=f"{name}-{m}x{n}x{k}-{layouts}",
        op="gemm",
        arguments={
            "a": a or normal_fp8(m, k),
            "b": b or normal_fp8(k, n),
            "a_scale": a_scale or normal_scales(scale_blocks(k), m),
            "b_scale": b_scale or normal_scales(scale_blocks(k), scale_blocks(n)),
        },
        layouts={"a": LAYOUTS[layouts[0]], "b": LAYOUTS[layouts[1]]},
        reference=rounded_reference if exact else reference,
        rtol=0.0 if exact else RTOL,
        atol=0.0 if exact else ATOL,
        cost=2.0 * m * n * k,
    )


def normal_cases() -> Iterator[Case]:
    """Every shape in all four combinations of layouts."""
    for name, shape in SHAPES.items():
        for layouts in itertools.product(LAYOUTS, repeat=2):
            yield make_case(name, shape, "".join(layouts))


def special_cases() -> Iterator[Case]:
    """Values that a plausible mistake gets wrong."""
    m, n, k = shape = (40, 136, 256)
    scales = {
        "a_scale": constant_scales(1.0, scale_blocks(k), m),
        "b_scale": constant_scales(1.0, scale_blocks(k), scale_blocks(n)),
    }
    yield make_case("zeros", shape, a=constant_fp8(0.0, m, k), b=constant_fp8(0.0, k, n), exact=True)
    yield make_case("zero-scales", shape, a_scale=constant_scales(0.0, scale_blocks(k), m), exact=True)
    yield make_case("largest", shape, a=constant_fp8(240.0, m, k), b=constant_fp8(-240.0, k, n), exact=True, **scales)
    tiny = 2.0**-10
    yield make_case("smallest", shape, a=constant_fp8(tiny, m, k), b=constant_fp8(tiny, k, n), exact=True, **scales)
    yield make_case("negative-scales", shape, a_scale=constant_scales(-0.5, scale_blocks(k), m))
    yield make_case("every-value", shape, "nt", a=one_hot_fp8(m, k), b=any_fp8(k, n), exact=True, **scales)
    yield make_case("nan-in-a", shape, "tn", a=fp8_with_nan((17, 200), m, k))
    yield make_case("nan-in-b", shape, "nt", b=fp8_with_nan((3, 130), k, n))
    yield make_case("nan-scale", shape, a_scale=scales_with_nan((1, 23), scale_blocks(k), m))
    yield make_case(
        "round-to-even",
        shape,
        a=one_hot_fp8(m, k),
        b=constant_fp8(1.0, k, n),
        a_scale=tie_scales(scale_blocks(k), m),
        b_scale=scales["b_scale"],
        exact=True,
    )


def edge_cases() -> Iterator[Case]:
    """Results that end at each of the columns that a lane stores beside each other, in each part of a wavefront's tile.

    Every step is exact, so that one wrong bit fails.
    """
    for number, layouts in enumerate(["nn", "nt", "tn", "tt"] * 3):
        part, columns = number // 3, number % 3 + 1
        m, n, k = shape = (61 + number // 4, 16 * part + 4 * ((part + columns) % 4) + columns, 2 * SCALE_BLOCK)
        yield make_case(
            "edge",
            shape,
            layouts,
            a=integer_fp8(m, k),
            b=integer_fp8(k, n),
            a_scale=integer_scales(scale_blocks(k), m),
            b_scale=integer_scales(scale_blocks(k), scale_blocks(n)),
            exact=True,
        )


def tile_cases() -> Iterator[Case]:
    """Values that tell each register of a wavefront's tile from all others: one wrong bit in one of them fails.

    NaN in some columns only, and scales at both ends of float32, where a sum that does not begin at zero shows.
    """
    m, n, k = shape = (64, 64, SCALE_BLOCK)
    for layouts in map("".join, itertools.product(LAYOUTS, repeat=2)):
        yield make_case(
            "nan-columns",
            shape,
            layouts,
            a=integer_fp8(m, k),
            b=integer_fp8_with_nan_columns(k, n),
            a_scale=integer_scales(1, m),
            b_scale=integer_scales(1, 1),
            exact=True,
        )
        yield make_case(
            "zeros-scaled-up",
            shape,
            layouts,
            a=constant_fp8(0.0, m, k),
            a_scale=constant_scales(2.0**64, 1, m),
            b_scale=constant_scales(2.0**62, 1, 1),
            exact=True,
        )
        yield make_case(  # 2**-134 is halfway between zero and the smallest bfloat16
            "smallest-tie",
            shape,
            layouts,
            a=one_hot_fp8(m, k),
            b=constant_fp8(1.0, k, n),
            a_scale=constant_scales(2.0**-67, 1, m),
            b_scale=constant_scales(2.0**-67, 1, 1),
            exact=True,
        )


def narrow_cases() -> Iterator[Case]:
    """Operands of two and three rows: most of what a workgroup might load lies behind their ends."""
    for shape in ((3, 2, 2 * SCALE_BLOCK), (2, 3, 2 * SCALE_BLOCK)):
        for layouts in map("".join, itertools.product(LAYOUTS, repeat=2)):
            yield make_case("narrow", shape, layouts)


CASES: list[Case] = [*normal_cases(), *special_cases(), *edge_cases(), *tile_cases(), *narrow_cases()]
