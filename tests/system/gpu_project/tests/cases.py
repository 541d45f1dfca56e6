"""Cases of the handmade kernel: the first ones are right, each of the others is wrong in its own way."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from rocmatrix.cases import Array, Case, Factory, Layout

N = 1000


def floats(*shape: int) -> Factory:
    return lambda random: random.standard_normal(shape).astype(np.float32)


def fp8(*shape: int) -> Factory:
    return lambda random: random.standard_normal(shape).astype(ml_dtypes.float8_e4m3fnuz)


def value(number: float) -> Factory:
    return lambda _random: np.asarray(number)


def case(
    op: str, reference: Callable[..., Array], layouts: dict[str, Layout] | None = None, **arguments: Factory
) -> Case:
    return Case(
        name=op.replace("_", "-"),
        op=op,
        arguments=arguments,
        reference=lambda **values: np.asarray(reference(**values), np.float64),
        rtol=1e-5,
        atol=1e-5,
        cost=float(N),
        layouts=layouts or {},
    )


def unchanged(x: Array) -> Array:
    return x


WRONG = (
    *("wrong", "unwritten", "elsewhere", "spoil", "beside", "shapeless", "on_cpu", "throws", "crashes", "leaves"),
    *("lies", "links", "swells", "strange", "faults", "exhausts"),
)

CASES = [
    case("scale", lambda x, factor: x * np.float32(factor), x=floats(N), factor=value(0.7)),
    case(
        "product",
        lambda a, b: a.astype(np.float64) @ b.astype(np.float64),
        {"b": Layout.TRANSPOSED},
        a=fp8(33, 64),
        b=fp8(64, 17),
    ),
    case("total", lambda x: x.astype(np.float64).sum(), x=floats(N)),
    case("nothing", unchanged, x=floats(0, 4)),
    case("plain", lambda x, by: x + by, x=floats(N), by=value(3)),
    case("talks", unchanged, x=floats(N)),
    *(case(op, unchanged, x=floats(N)) for op in WRONG),
    case("missing", unchanged, x=floats(N)),
    case("hangs", unchanged, x=floats(N)),
    case("spins", unchanged, x=floats(N)),
]
