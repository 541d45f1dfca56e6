"""What numerical cases must be, so that an emulator, a GPU run and a bench can rely on them.

This runs in the process that imported the author's cases: it calls their factories and references.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from types import CodeType

import numpy as np

from rocmatrix.cases import Array, Case, CaseDescription

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NOT_NUMBERS = "OSUMm"


class UnsoundCaseError(Exception):
    """A case is not what it must be.

    Attributes:
        what: one sentence that names the case.
        code: the code object of the author's function that is to blame, if one is.
    """

    def __init__(self, what: str, code: CodeType | None = None) -> None:
        """Keep both parts."""
        super().__init__(what)
        self.what = what
        self.code = code


def describe_cases(cases: object) -> tuple[CaseDescription, ...]:
    """Return the descriptions of what a project declares as ``CASES``.

    Raises:
        UnsoundCaseError: it is not a list of sound cases.
        Exception: whatever the author's functions raise.
    """
    if not isinstance(cases, list | tuple) or not cases:
        raise UnsoundCaseError("CASES must be a list of at least one rocmatrix.cases.Case")
    if stray := [case for case in cases if not isinstance(case, Case)]:
        raise UnsoundCaseError(f"CASES holds a {type(stray[0]).__name__} where a rocmatrix.cases.Case should be")
    _check_names(cases)
    return tuple(_describe(case) for case in cases)


def _check_names(cases: Iterable[Case]) -> None:
    seen = set()
    for case in cases:
        if not isinstance(case.name, str) or not _NAME.fullmatch(case.name):
            raise UnsoundCaseError(f"the name {case.name!r} is not made of lower-case letters, digits and dashes")
        if case.name in seen:
            raise UnsoundCaseError(f"two cases are called {case.name}")
        seen.add(case.name)


def _describe(case: Case) -> CaseDescription:
    _check_fields(case)
    arguments = case.make_arguments()
    for name, value in arguments.items():
        _check_argument(case, name, value)
    _check_repeatable(case, arguments)
    _check_reference(case, case.reference(**arguments))
    return case.describe()


def _check_fields(case: Case) -> None:
    if not isinstance(case.op, str) or not case.op.isidentifier():
        raise UnsoundCaseError(f"case {case.name}: op {case.op!r} is not the name of an op")
    if not case.arguments:
        raise UnsoundCaseError(f"case {case.name} has no arguments")
    if stray := sorted(set(case.layouts) - set(case.arguments)):
        raise UnsoundCaseError(f"case {case.name}: layouts names {stray[0]!r}, which is none of its arguments")
    for field, value, least in (("rtol", case.rtol, 0.0), ("atol", case.atol, 0.0), ("cost", case.cost, 1.0)):
        if not isinstance(value, int | float) or not math.isfinite(value) or value < least:
            raise UnsoundCaseError(
                f"case {case.name}: {field} must be a finite number of at least {least:g}, not {value!r}"
            )


def _check_argument(case: Case, name: str, value: Array) -> None:
    if value.dtype.kind in _NOT_NUMBERS or value.dtype.names:
        raise UnsoundCaseError(
            f"case {case.name}: {name} has the dtype {value.dtype}, which is not one of numbers",
            _code(case.arguments[name]),
        )


def _check_repeatable(case: Case, first: dict[str, Array]) -> None:
    """The same seed must make the same arguments everywhere, so a factory may draw from its generator only."""
    for name, value in case.make_arguments().items():
        if value.shape != first[name].shape or value.tobytes() != first[name].tobytes():
            raise UnsoundCaseError(
                f"case {case.name}: {name} differs when it is made twice; draw from the generator that is handed in",
                _code(case.arguments[name]),
            )


def _check_reference(case: Case, value: object) -> None:
    code = _code(case.reference)
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        found = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise UnsoundCaseError(f"case {case.name}: the reference returns {found}, not a float64 array", code)
    if np.isinf(value).any():
        raise UnsoundCaseError(
            f"case {case.name}: the reference holds an infinity, which nothing can be compared with", code
        )


def _code(function: Callable[..., object]) -> CodeType | None:
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
