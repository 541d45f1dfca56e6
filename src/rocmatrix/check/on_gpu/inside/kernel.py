"""The built kernel as its users have it: a Python package whose ops are called by name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch

_NAME = "rocmatrix_checked_kernel"


@dataclass(frozen=True, kw_only=True)
class Operator:
    """Something to call.

    Attributes:
        call: the op, or the function of the package.
        types: torch's schema types of its parameters in order; empty for a function, which has none.
    """

    call: object
    types: tuple[str, ...] = ()


class Kernel:
    """A loaded package."""

    def __init__(self, payload: Path) -> None:
        """Import it; whatever that raises is raised."""
        spec = importlib.util.spec_from_file_location(
            _NAME, payload / "__init__.py", submodule_search_locations=[str(payload)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{payload} holds no package")
        self._package = importlib.util.module_from_spec(spec)
        sys.modules[_NAME] = self._package
        spec.loader.exec_module(self._package)
        self._ops: ModuleType | None = None
        if (payload / "_ops.py").is_file():
            self._ops = importlib.import_module(f"{_NAME}._ops").ops

    def operator(self, name: str) -> Operator | None:
        """Return the op of a name in the kernel's namespace, else the package's function; ``None`` without either."""
        found = getattr(self._ops, name, None)
        if found is not None:
            overload = getattr(found, found.overloads()[0])
            return Operator(call=found, types=tuple(str(each.type) for each in overload._schema.arguments))  # noqa: SLF001 - torch has no public name for it
        function = getattr(self._package, name, None)
        return Operator(call=function) if callable(function) else None


def plain(value: torch.Tensor, kind: str) -> object:
    """Return a CPU tensor as the Python value that a parameter of a type other than ``Tensor`` takes.

    A single value is an array of one element: NumPy gives an array without axes one when it makes it contiguous.
    """
    listed = value.reshape(-1).tolist()
    make = next((made for word, made in (("bool", bool), ("int", int), ("float", float)) if word in kind), None)
    values = [make(each) for each in listed] if make else listed
    return values if "List" in kind else values[0]
