"""Schemas of operators: names, types and defaults of parameters, and what is returned.

Grammar: torch's function schemas (aten/src/ATen/native/README.md), as far as operators of kernels use it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocmatrix.emulator.reports import UnsupportedError

_OPERATOR = re.compile(r"\s*([A-Za-z_]\w*(?:\.\w+)?)\s*\((.*)\)\s*->\s*(.*?)\s*", re.DOTALL)
_PARAMETER = re.compile(r"(?P<type>\S+)\s+(?P<name>[A-Za-z_]\w*)\s*(?:=\s*(?P<default>.+))?")
_ANNOTATION = re.compile(r"\([a-z|*! >-]*\)|!")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter.

    Attributes:
        name: as the schema says it.
        type: without annotations and without ``?``, e.g. ``Tensor``, ``int``, ``float[]``.
        optional: whether ``None`` may be passed.
        mutable: whether the operator writes it.
        default: the text of its default; ``None`` without one.
    """

    name: str
    type: str
    optional: bool
    mutable: bool
    default: str | None


@dataclass(frozen=True, kw_only=True)
class Schema:
    """An operator: its name with the overload, parameters in order, types of what it returns."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: tuple[str, ...]


def parse_schema(text: str) -> Schema:
    """Return what a schema says.

    Raises:
        UnsupportedError: it is none that is understood.
    """
    found = _OPERATOR.fullmatch(text)
    if found is None:
        raise UnsupportedError(f"the operator schema {text!r}")
    name, parameters, returns = found.groups()
    inner = returns[1:-1] if returns.startswith("(") and returns.endswith(")") else returns
    return Schema(
        name=name,
        parameters=tuple(_parameter(part, text) for part in _split(parameters) if part != "*"),
        returns=tuple(_ANNOTATION.sub("", part).split()[0] for part in _split(inner)),
    )


def _split(text: str) -> list[str]:
    """Split at commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _parameter(text: str, schema: str) -> Parameter:
    plain = _ANNOTATION.sub("", text)
    found = _PARAMETER.fullmatch(plain)
    if found is None:
        raise UnsupportedError(f"the parameter {text!r} of the operator schema {schema!r}")
    kind = found["type"]
    return Parameter(
        name=found["name"],
        type=kind.rstrip("?"),
        optional=kind.endswith("?"),
        mutable="!" in text.partition("=")[0],
        default=found["default"],
    )
