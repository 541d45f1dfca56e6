"""Numerical cases of a kernel: what ``tests/cases.py`` of a project declares as ``CASES``.

One case says how to make the arguments of an op, in which memory layout, what the result should be in float64, and how
far a result may be off. The emulator, a GPU run and the bench all use the same cases. This module needs NumPy only,
so that cases can be read where there is no torch; eight-bit floats and bfloat16 are the NumPy types of ``ml_dtypes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""A NumPy array of any dtype, those of ``ml_dtypes`` included."""

Factory = Callable[[np.random.Generator], Array]
"""Makes one argument from a generator that nothing else draws from."""


class Layout(StrEnum):
    """How an argument lies in memory; its shape as the op sees it is the same either way."""

    CONTIGUOUS = "contiguous"
    """Row-major: the last index moves fastest."""
    TRANSPOSED = "transposed"
    """A view: the transpose of a contiguous array whose last two axes are swapped."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One numerical case.

    Attributes:
        name: unique within the kernel, made of lower-case letters, digits and dashes.
        op: the op's name in the kernel's namespace, called with the arguments in their order.
        arguments: name -> factory, in the order of the op's schema. Shapes are the factory's business.
        layouts: name -> memory layout; an argument that is not named is contiguous.
        reference: called with the arguments by name, returns the expected result in float64, shaped like the op's.
        rtol: tolerance relative to the magnitude of the reference.
        atol: absolute tolerance; an element passes if ``|got - want| <= atol + rtol * |want|``; NaN passes where the
            reference is NaN, an infinity where the reference is the same one.
        cost: floating-point operations of the case, for budgets.
        seed: start of the random numbers; the same seed makes the same arguments everywhere.
    """

    name: str
    op: str
    arguments: Mapping[str, Factory]
    reference: Callable[..., NDArray[np.float64]]
    rtol: float
    atol: float
    cost: float
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    seed: int = 0

    def make_arguments(self) -> dict[str, Array]:
        """Return the arguments by name, in the op's order, each in its memory layout.

        Each argument has a generator of its own, so that adding one changes no other.
        """
        made = {}
        for index, (name, factory) in enumerate(self.arguments.items()):
            value = factory(np.random.default_rng([self.seed, index]))
            made[name] = in_layout(value, self.layouts.get(name, Layout.CONTIGUOUS))
        return made

    def describe(self) -> CaseDescription:
        """Return what can be said of the case in JSON; this makes the arguments once to read their shapes."""
        arguments = tuple(
            ArgumentDescription(
                name=name,
                dtype=str(value.dtype),
                shape=value.shape,
                layout=self.layouts.get(name, Layout.CONTIGUOUS),
            )
            for name, value in self.make_arguments().items()
        )
        return CaseDescription(
            name=self.name,
            op=self.op,
            arguments=arguments,
            rtol=self.rtol,
            atol=self.atol,
            cost=self.cost,
            seed=self.seed,
        )


@dataclass(frozen=True, kw_only=True)
class ArgumentDescription:
    """One argument of a case: dtype as NumPy names it, shape in elements, memory layout."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: Layout


@dataclass(frozen=True, kw_only=True)
class CaseDescription:
    """A case without its functions: what ``rocmatrix check --json`` lists."""

    name: str
    op: str
    arguments: tuple[ArgumentDescription, ...]
    rtol: float
    atol: float
    cost: float
    seed: int


def in_layout(value: Array, layout: Layout) -> Array:
    """Return the array with the same elements and shape in a memory layout.

    Raises:
        ValueError: a transposed layout was asked for an array of fewer than two dimensions.
    """
    if layout is Layout.CONTIGUOUS:
        return np.ascontiguousarray(value)
    if value.ndim < 2:  # noqa: PLR2004 - a matrix has two axes
        raise ValueError(f"an array of {value.ndim} dimensions has no transposed layout")
    return np.ascontiguousarray(value.swapaxes(-1, -2)).swapaxes(-1, -2)
