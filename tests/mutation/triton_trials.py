"""What kernels of the corpus are tried on beside their own trials: values and shapes that show a single slip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.emulator.hidden_arguments import Geometry
from tests.corpus.specs import LANES, Needs, Spec
from tests.corpus.trial import Trial, poisoned
from tests.mutation.far_trial import FarTrial, Part, Workgroup
from tests.mutation.softmax_rows import exact_rows, nan_rows

_NOTHINGS = 2
_SOFTMAX_COLUMNS = 1024
_FEW_ROUNDINGS = 2.0**-20
"""Of a softmax of numbers near each other: an exponential and a division of a few ulp, a sum of positive numbers."""
_SPIKE = 1000.0
"""So far above the others that leaving it out of the maximum overflows."""
_QUIET_AND_SIGNALLING = (0x7FC00000, 0xFFC12345, 0x7F800001, 0x7FBFFFFF, 0xFF800001)
_LARGEST_FACTOR = 8
_HALF, _WORD = 2, 4
"""Bytes of a factor and of a sum."""
_INDICES = 1 << 32
"""An index above half of it is negative."""


def trials_for(spec: Spec, needs: Needs) -> Iterator[Trial]:
    """Return further trials of a kernel; none where there are none."""
    if spec.kernel == "softmax":
        yield from _softmax_trials(needs)
    elif spec.kernel == "matmul":
        yield from _product_trials(spec, needs)


def end_trials_for(spec: Spec, needs: Needs) -> Iterator[Trial]:
    """Return trials of a kernel that are made for the ends of 1 ulp of reciprocals and exponentials."""
    if spec.kernel == "softmax":
        yield _softmax(needs, "exact", exact_rows(), _FEW_ROUNDINGS)


def edges_for(spec: Spec, needs: Needs) -> Iterator[Trial]:
    """Return launches with each number of rows and of columns that a tile may have; of softmax the special rows."""
    if spec.kernel == "softmax":
        random = np.random.default_rng(2)
        for columns in (*range(1, 18), 63, 64, 65, 255, 256, 257, 511, 513, 767, 769, 831, 896, 960, 1023):
            yield _softmax(needs, "special", _special_rows(random, columns), _FEW_ROUNDINGS)
    elif spec.kernel == "matmul":
        m, n, k = (int(spec.constants[name]) for name in ("BM", "BN", "BK"))
        for rows in range(1, max(m, n) + 1):
            yield _product(spec, needs, ((rows - 1) % m + 1, n - (rows - 1) % n, k + rows), infinite=False, seed=rows)


# -- softmax ---------------------------------------------------------------------------------------------------------


def _softmax_trials(needs: Needs) -> Iterator[Trial]:
    random = np.random.default_rng(1)
    for columns in (_SOFTMAX_COLUMNS, 770, 5, 1):
        places = _spread(columns)
        spikes = random.standard_normal((len(places), columns)).astype(np.float32)
        spikes[np.arange(len(places)), places] = _SPIKE
        yield _softmax(needs, "spikes", spikes, 0.0)
    for columns, scale in ((_SOFTMAX_COLUMNS, 1.0), (511, 1e-3), (256, 0.0), (2, 4.0)):
        near = (scale * random.standard_normal((3, columns))).astype(np.float32)
        yield _softmax(needs, "near", near, _FEW_ROUNDINGS)
    many = random.standard_normal((3, 700)).astype(np.float32)
    yield replace(_softmax(needs, "straddling", many, _FEW_ROUNDINGS), straddles=True)
    yield from _far_softmax(needs, many)
    for columns in (300, _SOFTMAX_COLUMNS):
        yield _softmax(needs, "special", _special_rows(random, columns), _FEW_ROUNDINGS)
    yield _softmax(needs, "nan", nan_rows(), _FEW_ROUNDINGS)


def _far_softmax(needs: Needs, x: NDArray[np.float32]) -> Iterator[Trial]:
    """Return one workgroup whose row begins at an index with bit 30, and one at which it is negative."""
    near = _softmax(needs, "far", x[:1], _FEW_ROUNDINGS)
    (columns,) = near.scalars
    for name, index in (("far-row", 3 << 29), ("negative-row", 3 << 30)):
        row = index // columns
        before = row * columns - (_INDICES if index >= _INDICES // 2 else 0)
        parts = (Part(before=before * _WORD), Part(before=before * _WORD))
        yield _far(near, name, (row, 0, 0), parts, near.scalars)


def _spread(columns: int) -> NDArray[np.int64]:
    """Return places of which each bit of a lane's and a wave's number, and each of a lane's elements, decides some."""
    powers = [1 << bit for bit in range(columns.bit_length())]
    places = {0, columns - 1, *powers, *(power - 1 for power in powers), *(power * 3 for power in powers)}
    return np.array(sorted(place for place in places if place < columns))


def _special_rows(random: np.random.Generator, columns: int) -> NDArray[np.float32]:
    """Return rows with NaN of each kind, one of NaN alone, infinities, denormals, zeros of both signs, and extremes."""
    rows = [random.standard_normal(columns).astype(np.float32) for _ in range(15)]
    for number, bits in enumerate(_QUIET_AND_SIGNALLING):
        rows[number].view(np.uint32)[number * 67 % columns] = bits
    rows[5][7 % columns] = np.inf
    rows[6][11 % columns] = -np.inf
    rows[7][:] = -np.inf
    rows[8][:] = np.float32(1e-42) * np.arange(columns)
    rows[9][:] = np.where(np.arange(columns) % 2, 0.0, -0.0)
    rows[10][:] = np.float32(-3e38)
    rows[11][::2] = np.float32(3e38)
    rows[12][:] = -80.0 - np.arange(columns) % 200 / 8  # of which exponentials become denormal, and vanish
    rows[12][3 % columns] = 0.0
    rows[13][:] = np.where(np.arange(columns) % 3, -100.0, 3.0)
    rows[14].view(np.uint32)[:] = _QUIET_AND_SIGNALLING[0] + np.arange(columns, dtype=np.uint32)
    return np.stack(rows)


def _softmax(needs: Needs, name: str, x: NDArray[np.float32], rtol: float) -> Trial:
    rows, columns = x.shape

    def reference() -> Array:
        with np.errstate(all="ignore"):  # NaN and infinities are meant
            wide = x.astype(np.float64)
            power = np.exp(wide - wide.max(axis=1, keepdims=True))
            return np.asarray(power / power.sum(axis=1, keepdims=True))

    return Trial(
        name=f"{name}-{rows}x{columns}",
        kernel=needs.kernel,
        geometry=Geometry(grid=(rows, 1, 1), block=(LANES * needs.warps, 1, 1), dynamic_lds=needs.shared),
        inputs=(x,),
        out=poisoned(x.shape, np.float32),
        scalars=(columns,),
        reference=reference,
        rtol=rtol,
        atol=2.0**-126,
        nothings=_NOTHINGS,
    )


# -- products --------------------------------------------------------------------------------------------------------


def _product_trials(spec: Spec, needs: Needs) -> Iterator[Trial]:
    tile = tuple(int(spec.constants[name]) for name in ("BM", "BN", "BK"))
    for number, sizes in enumerate(_sizes(*tile)):
        yield _product(spec, needs, sizes, infinite=False, seed=number)
    yield replace(_product(spec, needs, (tile[0] + 3, 53, 3 * tile[2] + 3), infinite=False, seed=97), straddles=True)
    yield _product(spec, needs, (tile[0] + 3, tile[1] + 3, tile[2]), infinite=False, seed=96, largest=0)
    yield _far_rows(spec, needs, tile)
    yield _negative_rows(spec, needs, tile)
    yield _far_columns(spec, needs, tile)
    yield _negative_columns(spec, needs, tile)
    yield _product(spec, needs, (tile[0] + 9, tile[1] + 6, tile[2] + 5), infinite=True, seed=99)
    yield _product(spec, needs, (tile[0] - 3, tile[1] - 1, 2 * tile[2] - 1), infinite=True, seed=98)


def _sizes(m: int, n: int, k: int) -> Iterator[tuple[int, int, int]]:
    """Return M, N, K on both sides of each boundary of a tile, and along K also of each of a lane's elements."""
    yield m, n, 0
    for number in range(1, 2 * k + 2, 3):
        yield (number * 11) % m + 1, (number * 7) % n + 1, number
    for extra in (-1, 0, 1):
        yield m + extra, n - extra, k + extra
        yield 2 * m + extra, 1, 2 * k - extra
        yield 1, 2 * n + extra, 3 * k + extra


def _far_rows(spec: Spec, needs: Needs, tile: tuple[int, ...]) -> Trial:
    """Return the last workgroup of a product with so many rows that indices into A and C have bit 30."""
    near = _product(spec, needs, (tile[0] - 3, tile[1] - 2, 3 * tile[2]), infinite=False, seed=95)
    rows, columns, depth = near.scalars
    first = 15 * (1 << 27) // (tile[0] * max(columns, depth))  # the other one's are two thirds of that
    before = first * tile[0]
    parts = (Part(before=before * depth * _HALF), Part(), Part(before=before * columns * _WORD))
    return _far(near, "far-rows", (first, 0, 0), parts, (before + rows, columns, depth))


def _negative_rows(spec: Spec, needs: Needs, tile: tuple[int, ...]) -> Trial:
    """Return a workgroup whose indices into A and C are above 2**31: the kernel takes them for negative."""
    near = _product(spec, needs, (tile[0] - 1, tile[1] - 2, 3 * tile[2]), infinite=False, seed=93)
    rows, columns, depth = near.scalars
    first = 9 * (1 << 28) // (tile[0] * min(columns, depth))  # the other one's are up to five thirds of that
    before = first * tile[0]
    parts = (
        Part(before=(before * depth - _INDICES) * _HALF),
        Part(),
        Part(before=(before * columns - _INDICES) * _WORD),
    )
    return _far(near, "negative-rows", (first, 0, 0), parts, (before + rows, columns, depth))


def _far_columns(spec: Spec, needs: Needs, tile: tuple[int, ...]) -> Trial:
    """Return the last workgroup of a product with one row and so many columns that indices into B have bit 30."""
    near = _product(spec, needs, (1, tile[1] - 2, 2 * tile[2]), infinite=False, seed=94)
    _, columns, depth = near.scalars
    first = 3 * (1 << 29) // (tile[1] * depth)
    before = first * tile[1]
    stride = (before + columns) * _HALF
    parts = (Part(), Part(before=before * _HALF, stride=stride), Part(before=before * _WORD))
    return _far(near, "far-columns", (0, first, 0), parts, (1, before + columns, depth))


def _negative_columns(spec: Spec, needs: Needs, tile: tuple[int, ...]) -> Trial:
    """Return a workgroup with one row, of which half of the indices into B are above 2**31."""
    near = _product(spec, needs, (1, tile[1] - 2, 2 * tile[2]), infinite=False, seed=92)
    _, columns, depth = near.scalars
    first = (1 << 32) // (tile[1] * depth) - 1
    before = first * tile[1]
    b = Part(before=before * _HALF, stride=(before + columns) * _HALF, wraps=_INDICES * _HALF)
    parts = (Part(), b, Part(before=before * _WORD))
    return _far(near, "negative-columns", (0, first, 0), parts, (1, before + columns, depth))


def _far(near: Trial, name: str, workgroup: Workgroup, parts: tuple[Part, ...], sizes: tuple[int, ...]) -> FarTrial:
    """Return a launch of one workgroup as a part of a larger one."""
    known = {field.name: getattr(near, field.name) for field in fields(near)}
    return FarTrial(**(known | {"name": name, "scalars": sizes}), workgroup=workgroup, parts=parts)


def _product(
    spec: Spec,
    needs: Needs,
    sizes: tuple[int, int, int],
    *,
    infinite: bool,
    seed: int,
    largest: int = _LARGEST_FACTOR,
) -> Trial:
    """Return a product of small integers, whose sums are exact; with infinities where a neighbouring row begins."""
    m, n, k = sizes
    random = np.random.default_rng([*sizes, seed])
    span = 2 * largest + 1
    a, b = ((random.integers(0, span, size) - largest).astype(np.float16) for size in ((m, k), (k, n)))
    if infinite:
        a[1::2, : max(1, k // 4)] = np.inf
        b[1::2, : max(1, n // 8)] = -np.inf

    def reference() -> Array:
        with np.errstate(all="ignore"):  # infinities are meant
            return np.asarray(a.astype(np.float64) @ b.astype(np.float64))

    tile_m, tile_n = int(spec.constants["BM"]), int(spec.constants["BN"])
    return Trial(
        name=f"exact-{m}x{n}x{k}{'-infinite' if infinite else ''}",
        kernel=needs.kernel,
        geometry=Geometry(
            grid=(-(-m // tile_m), -(-n // tile_n), 1), block=(LANES * needs.warps, 1, 1), dynamic_lds=needs.shared
        ),
        inputs=(a, b),
        out=poisoned((m, n), np.float32),
        scalars=sizes,
        reference=reference,
        rtol=0.0,
        atol=0.0,
        nothings=_NOTHINGS,
    )
