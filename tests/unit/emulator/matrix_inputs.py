"""Inputs that are hard to add: spreads, cancellation, denormals, ties, NaN, infinities, zeros."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator.semantics.matrix import Element

DTYPES = {
    Element.XF32: np.dtype(np.float32),
    Element.F16: np.dtype(np.float16),
    Element.BF16: np.dtype(ml_dtypes.bfloat16),
    Element.FP8: np.dtype(ml_dtypes.float8_e4m3fnuz),
    Element.BF8: np.dtype(ml_dtypes.float8_e5m2fnuz),
}
POWERS = {
    Element.XF32: (-149, 127),
    Element.F16: (-24, 15),
    Element.BF16: (-133, 127),
    Element.FP8: (-10, 7),
    Element.BF8: (-17, 15),
}
"""Powers of two between which numbers of an element lie, denormals included."""
KINDS = ("ordinary", "spread", "cancelling", "ties", "edges", "bits")
_EDGES = {Element.XF32: (2.0**-75, 2.0**-79), Element.BF16: (2.0**-75, 2.0**-79)}
"""Numbers whose products lie where the last bit of a denormal float32 is decided."""


def draw(element: Element, shape: tuple[int, ...], kind: str, random: np.random.Generator) -> Array:
    """Return elements in their own type."""
    dtype = DTYPES[element]
    if kind == "bits":
        count = int(np.prod(shape)) * dtype.itemsize
        drawn: Array = random.integers(0, 256, count, dtype=np.uint8).view(dtype).reshape(shape)
        return drawn
    signs = random.choice([-1.0, 1.0], shape)
    if kind == "ordinary":
        return random.standard_normal(shape).astype(np.float32).astype(dtype)
    lowest, highest = POWERS[element]
    if kind == "spread":
        numbers = random.integers(8, 16, shape) / 8 * np.exp2(random.integers(lowest, highest, shape))
    elif kind == "cancelling":
        near = np.exp2(random.integers(0, 2, shape) * random.integers(lowest // 2, 1, shape))
        numbers = random.integers(8, 10, shape) / 8 * near
    elif kind == "edges":
        numbers = random.choice(_EDGES.get(element, (1.0, 1.5, 2.0**-4)), shape) * (random.random(shape) < 0.4)
    else:
        numbers = np.exp2(random.choice([0, 6, -6, lowest // 2], shape)) * random.integers(0, 2, shape)
    return (signs * numbers).astype(np.float32).astype(dtype)


def draw_c(shape: tuple[int, ...], kind: str, random: np.random.Generator) -> Array:
    """Return float32 to add to."""
    if kind == "bits":
        return random.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32).view(np.float32)
    if kind == "edges":
        return random.choice([0.0, 2.0**24, -(2.0**24), 2.0**-149], shape).astype(np.float32)
    numbers = random.standard_normal(shape) * np.exp2(random.integers(-40, 20, shape))
    special = random.choice([0.0, -0.0, 1.0, -(2.0**-25), 2.0**-140, np.inf, np.nan, 3e38], shape)
    return np.where(random.random(shape) < 0.2, special, numbers).astype(np.float32)
