"""Cases of the probe: the first ones are right, each of the others is wrong in its own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rocmatrix.cases import Array, Case, Factory

N = 100


def floats(*shape: int) -> Factory:
    return lambda random: random.standard_normal(shape).astype(np.float32)


def integers(*shape: int) -> Factory:
    return lambda random: random.integers(-1000, 1000, shape)


def value(number: float) -> Factory:
    return lambda _random: np.asarray(number)


def case(op: str, reference: Callable[..., Array], **arguments: Factory) -> Case:
    return Case(
        name=op.replace("_", "-"),
        op=op,
        arguments=arguments,
        reference=lambda **values: reference(**values).astype(np.float64),
        rtol=1e-6,
        atol=0.0,
        cost=float(N),
    )


def unchanged(x: Array) -> Array:
    return x


def numbers(x: Array) -> Array:
    del x
    return np.repeat(np.arange(12.0)[:, None], 64, axis=1)


CASES = [
    case("scale", lambda x, factor: x * np.float32(factor), x=floats(N), factor=value(0.7)),
    case(
        "shift",
        lambda x, by, flip, bias, shape: (-(x + by + bias.size) if flip else x).reshape(shape),
        x=integers(N),
        by=value(-(1 << 40)),
        flip=value(1),
        bias=floats(3),
        shape=lambda _random: np.array([4, 25]),
    ),
    case("views", lambda x: 2 * x[:, 1:3].T, x=floats(5, 4)),
    case("number", numbers, x=floats(1)),
    case("last", lambda x: np.ones(x.shape), x=floats(1)),
    replace(case("root", lambda x: 1 / np.sqrt(np.abs(x.astype(np.float64))), x=floats(N)), rtol=2.0**-24),
    *(
        case(op, unchanged, x=floats(N))
        for op in ("wrong", "unwritten", "overrun", "spoil", "too_many", "throws", "crash", "nowhere")
    ),
    case("hangs", unchanged, x=floats(N)),
    case("asks", unchanged, x=floats(4, 4)),
]
