"""The corpus: which kernels are compiled with which constants, on what they are tried, and what they should give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.emulator.hidden_arguments import Geometry
from tests.corpus.trial import Trial, poisoned

LANES = 64
_NOTHINGS = 2
"""Pointers to scratch and profile memory that Triton 3.9 appends to a kernel's arguments."""
TYPES: Mapping[str, type[np.generic]] = {
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
    "i8": np.int8,
}
Make = Callable[["Spec", "Needs"], Trial]


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a launch needs: the kernel's name, waves of a workgroup, bytes of dynamic LDS."""

    kernel: str
    warps: int
    shared: int


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What was compiled, by the names of the specs."""

    needs: dict[str, Needs]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One compilation and its trial.

    Attributes:
        name: of both.
        kernel: function of ``triton_kernels``.
        signature: argument -> type, as Triton names them.
        constants: constants of the compilation.
        options: of Triton's compiler.
        trial: makes the trial.
        small: whether the reference interpreter executes it in a second or two.
        more: further trials, which together with the first one reach all of its code.
        load_to_lds: whether the compiler is told to load from memory to LDS without registers between.
    """

    name: str
    kernel: str
    signature: Mapping[str, str]
    constants: Mapping[str, int | float | bool]
    trial: Make
    options: Mapping[str, int | str] = field(default_factory=dict)
    small: bool = True
    load_to_lds: bool = False
    more: tuple[Make, ...] = ()


def _geometry(needs: Needs, *grid: int) -> Geometry:
    x, y, z = (*grid, 1, 1)[:3]
    return Geometry(grid=(x, y, z), block=(LANES * needs.warps, 1, 1), dynamic_lds=needs.shared)


def _random(spec: Spec) -> np.random.Generator:
    return np.random.default_rng([ord(letter) for letter in spec.name])


def _wide(value: Array) -> NDArray[np.float64]:
    return value.astype(np.float64)


# -- elementwise and reductions --------------------------------------------------------------------------------------


def _vectors(spec: Spec, needs: Needs) -> Trial:
    count, block = 1000, int(spec.constants["BLOCK"])
    random = _random(spec)
    x, y = (random.standard_normal(count).astype(np.float32) for _ in range(2))
    return Trial(
        name=spec.name, kernel=needs.kernel, geometry=_geometry(needs, -(-count // block)), inputs=(x, y),
        out=poisoned((count,), np.float32), scalars=(count,), reference=lambda: _wide(x) + _wide(y),
        rtol=1e-6, atol=1e-7, nothings=_NOTHINGS,
    )  # fmt: skip


def _rows(
    reference: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    dtype: type[np.generic],
    rows: int = 2,
    columns: int = 700,
    scale: float = 1.0,
) -> Make:
    def make(spec: Spec, needs: Needs) -> Trial:
        x = _random(spec).integers(-99, 99, (rows, columns)).astype(dtype)
        if dtype is not np.int32:
            x = (scale * _random(spec).standard_normal((rows, columns))).astype(dtype)
        return Trial(
            name=spec.name, kernel=needs.kernel, geometry=_geometry(needs, rows), inputs=(x,),
            out=poisoned(x.shape, dtype), scalars=(columns,), reference=lambda: reference(_wide(x)),
            rtol=1e-5, atol=1e-9, nothings=_NOTHINGS,
        )  # fmt: skip

    return make


def _softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def _norm(spec: Spec, needs: Needs) -> Trial:
    rows, columns = 3, 500
    random = _random(spec)
    x, weight = (random.standard_normal(shape).astype(np.float16) for shape in ((rows, columns), (columns,)))

    def reference() -> NDArray[np.float64]:
        centred = _wide(x) - _wide(x).mean(axis=1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + spec.constants["EPSILON"])
        return np.asarray(centred / scale * _wide(weight))

    return Trial(
        name=spec.name, kernel=needs.kernel, geometry=_geometry(needs, rows), inputs=(x, weight),
        out=poisoned(x.shape, np.float16), scalars=(columns,), reference=reference, rtol=2e-3, atol=1e-4,
        nothings=_NOTHINGS,
    )  # fmt: skip


def _reduction(kind: str) -> Make:
    def make(spec: Spec, needs: Needs) -> Trial:
        count, block = 1000, int(spec.constants["BLOCK"])
        x: Array = _random(spec).standard_normal(count).astype(np.float32)
        out: Array = np.zeros(1, np.float32)
        reference: Callable[[], Array] = lambda: _wide(x).sum(keepdims=True)  # noqa: E731 - one of three
        if kind == "histogram":
            x, out = _random(spec).integers(0, 16, count).astype(np.int32), np.zeros(16, np.int32)
            reference = lambda: np.bincount(x, minlength=16).astype(np.float64)  # noqa: E731
        elif kind == "maximum":
            x, out = _random(spec).integers(-(1 << 31), 1 << 31, count).astype(np.int32), np.full(1, -(1 << 31), "i4")
            reference = lambda: _wide(x).max(keepdims=True)  # noqa: E731
        return Trial(
            name=spec.name, kernel=needs.kernel, geometry=_geometry(needs, -(-count // block)), inputs=(x,),
            out=out, scalars=(count,), reference=reference, rtol=1e-5, atol=1e-4 if kind == "sum" else 0.0,
            nothings=_NOTHINGS, accumulates=True,
        )  # fmt: skip

    return make


# -- matrices --------------------------------------------------------------------------------------------------------


def _multiplied(value: Array) -> NDArray[np.float64]:
    """Return what is multiplied: Triton takes XF32 for float32, which keeps ten bits behind the point."""
    if value.dtype != np.float32:
        return _wide(value)
    return _wide((value.view(np.uint32) & np.uint32(0xFFFF_E000)).view(np.float32))


def _product(m: int, n: int, k: int) -> Make:
    def make(spec: Spec, needs: Needs) -> Trial:
        dtype = TYPES[spec.signature["a"][1:]]
        random = _random(spec)
        integer = dtype is np.int8
        a, b = (
            random.integers(-128, 128, shape).astype(dtype) if integer else random.standard_normal(shape).astype(dtype)
            for shape in ((m, k), (k, n))
        )
        grid = (-(-m // int(spec.constants["BM"])), -(-n // int(spec.constants["BN"])))
        return Trial(
            name=spec.name, kernel=needs.kernel, geometry=_geometry(needs, *grid), inputs=(a, b),
            out=poisoned((m, n), np.int32 if integer else np.float32), scalars=(m, n, k),
            reference=lambda: _multiplied(a) @ _multiplied(b), rtol=1e-5, atol=0.0 if integer else 1e-6 * k,
            nothings=_NOTHINGS,
        )  # fmt: skip

    return make


def _attention(spec: Spec, needs: Needs) -> Trial:
    length, depth = 70, int(spec.constants["D"])
    random = _random(spec)
    q, k, v = (random.standard_normal((length, depth)).astype(np.float16) for _ in range(3))
    return Trial(
        name=spec.name, kernel=needs.kernel, geometry=_geometry(needs, -(-length // int(spec.constants["BM"]))),
        inputs=(q, k, v), out=poisoned((length, depth), np.float16), scalars=(length,),
        reference=lambda: _softmax(_wide(q) @ _wide(k).T * spec.constants["SCALE"]) @ _wide(v), rtol=5e-3, atol=2e-3,
        nothings=_NOTHINGS,
    )  # fmt: skip


def _matmul(
    dtype: str,
    tile: tuple[int, int, int],
    warps: int,
    shape: tuple[int, int, int],
    *,
    small: bool = True,
    load_to_lds: bool = False,
    **options: int,
) -> Spec:
    pointers = {"a": f"*{dtype}", "b": f"*{dtype}", "c": "*i32" if dtype == "i8" else "*fp32"}
    name = f"matmul-{dtype}-{'x'.join(map(str, tile))}-w{warps}"
    name += "".join(f"-{key.split('_')[-1]}{value}" for key, value in options.items())
    return Spec(
        name=name, kernel="matmul", signature={**pointers, "M": "i32", "N": "i32", "K": "i32"},
        constants={"BM": tile[0], "BN": tile[1], "BK": tile[2], "INTEGER": dtype == "i8"},
        options={"num_warps": warps, **options}, trial=_product(*shape), small=small, load_to_lds=load_to_lds,
        more=(_product(64, 64, 64), _product(130, 3, 33), _product(65, 127, 1)),
    )  # fmt: skip


def _row_wise(kernel: str, kind: str, make: Make, *more: Make) -> Spec:
    return Spec(
        name=kernel.replace("_", "-"), kernel=kernel, signature={"x": kind, "out": kind, "columns": "i32"},
        constants={"BLOCK": 1024}, trial=make, more=more,
    )  # fmt: skip


def _atomic(kernel: str, kind: str, out: str, make: Make) -> Spec:
    return Spec(
        name=kernel.replace("_", "-"), kernel=kernel, signature={"x": kind, "out": out, "count": "i32"},
        constants={"BLOCK": 256}, trial=make,
    )  # fmt: skip


SPILLING = "matmul-fp16-64x64x32-w1-eu8"
"""Eight waves have to fit on a SIMD, so that the compiler spills what does not fit into 64 registers."""
LOADING_TO_LDS = "matmul-fp32-64x64x32-w4-stages3"
SPECS: tuple[Spec, ...] = (
    Spec(
        name="vector-add", kernel="vector_add", trial=_vectors, constants={"BLOCK": 256},
        signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "count": "i32"},
    ),
    _row_wise(
        "softmax", "*fp32", _rows(_softmax, np.float32, scale=60.0), _rows(_softmax, np.float32, 1, 1024),
        _rows(_softmax, np.float32, 2, 3, 200.0), _rows(_softmax, np.float32, 1, 257, 1e-3),
    ),
    Spec(
        name="layer-norm", kernel="layer_norm", trial=_norm, constants={"EPSILON": 1e-5, "BLOCK": 512},
        signature={"x": "*fp16", "weight": "*fp16", "out": "*fp16", "columns": "i32"},
    ),
    _row_wise("running_sum", "*i32", _rows(lambda x: np.cumsum(x, axis=1), np.int32)),
    _atomic("sum_by_atomics", "*fp32", "*fp32", _reduction("sum")),
    _atomic("histogram_by_atomics", "*i32", "*i32", _reduction("histogram")),
    _atomic("maximum_by_atomics", "*i32", "*i32", _reduction("maximum")),
    _matmul("fp16", (16, 16, 32), 1, (30, 20, 70)),
    _matmul("fp16", (64, 64, 32), 4, (70, 66, 80)),
    _matmul("fp16", (128, 64, 64), 8, (130, 70, 140), small=False),
    _matmul("fp16", (64, 64, 32), 1, (70, 66, 80), waves_per_eu=8),
    _matmul("bf16", (32, 32, 32), 2, (40, 33, 90)),
    _matmul("bf16", (64, 128, 32), 4, (70, 130, 90), matrix_instr_nonkdim=16, small=False),
    _matmul("fp8e4b8", (64, 64, 64), 4, (66, 70, 130)),
    _matmul("fp8e4b8", (128, 128, 64), 8, (130, 140, 200), small=False),
    _matmul("fp8e5b16", (32, 64, 64), 2, (33, 70, 130)),
    _matmul("i8", (64, 64, 64), 4, (66, 70, 130)),
    _matmul("i8", (32, 32, 64), 1, (33, 40, 130)),
    _matmul("fp32", (32, 32, 32), 4, (40, 33, 70)),
    _matmul("fp32", (64, 64, 32), 4, (70, 66, 128), num_stages=3, load_to_lds=True),
    Spec(
        name="attention", kernel="attention", trial=_attention,
        constants={"SCALE": 0.125, "BM": 64, "BN": 32, "D": 64}, options={"num_warps": 4},
        signature={"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "length": "i32"},
    ),
)  # fmt: skip
