"""Tables of arithmetic instructions: name, kinds of results and operands, and the function that computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from rocmatrix.emulator.algebra import BOOL, Kind, Value

Function = Callable[..., Value | tuple[Value, ...]]
"""Takes the operands as values (then the ``Mode`` where the operation uses it), returns the result or results."""

F = TypeVar("F", bound=Callable[..., Value | tuple[Value, ...]])

_KINDS = {kind.label: kind for kind in Kind} | {"scc": BOOL, "mask": BOOL}


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """An instruction that computes results from operands and changes nothing else.

    Attributes:
        name: mnemonic.
        results: kinds of the results. BOOL is SCC for a scalar instruction, a lane mask for a vector instruction.
        operands: kinds of the operands, BOOL likewise; destinations that are read come last, then the mask or SCC.
        function: computes the results.
        uses_mode: the function takes the MODE register as its last argument.
        flushes: denormals of float operands and results are flushed where MODE says so.
        rounds: float results depend on MODE's rounding, of which only nearest even is modelled.
        keeps_high: a 16-bit result leaves the other half of its register alone instead of clearing it.
    """

    name: str
    results: tuple[Kind, ...]
    operands: tuple[Kind, ...]
    function: Function
    uses_mode: bool = False
    flushes: bool = True
    rounds: bool = True
    keeps_high: bool = False


class Table:
    """Arithmetic instructions by name."""

    def __init__(self) -> None:
        """Start empty; modules of semantics fill it when they are imported."""
        self._operations: dict[str, Arithmetic] = {}

    def __getitem__(self, name: str) -> Arithmetic:
        """Return the operation of this name; ``KeyError`` where there is none."""
        return self._operations[name]

    def __contains__(self, name: str) -> bool:
        """Say whether there is an operation of this name."""
        return name in self._operations

    def __iter__(self) -> Iterator[str]:
        """Give the names."""
        return iter(self._operations)

    def add(
        self,
        name: str,
        signature: str,
        function: Function,
        *,
        uses_mode: bool = False,
        flushes: bool = True,
        rounds: bool = True,
        keeps_high: bool = False,
    ) -> None:
        """Add an operation.

        Args:
            name: mnemonic.
            signature: kinds of results, an arrow, kinds of operands: ``u32 scc <- u32 u32``.
            function: computes the results.
            uses_mode: see ``Arithmetic``; the following ones alike.
            flushes: see there.
            rounds: see there.
            keeps_high: see there.
        """
        if name in self._operations:
            raise ValueError(f"{name} is defined twice")
        results, operands = ([_KINDS[word] for word in side.split()] for side in signature.split("<-"))
        floats = any(kind.is_float for kind in (*results, *operands))
        self._operations[name] = Arithmetic(
            name=name,
            results=tuple(results),
            operands=tuple(operands),
            function=function,
            uses_mode=uses_mode,
            flushes=flushes and floats,
            rounds=rounds and any(kind.is_float for kind in results),
            keeps_high=keeps_high,
        )

    def define(
        self,
        signature: str,
        *,
        uses_mode: bool = False,
        flushes: bool = True,
        rounds: bool = True,
        keeps_high: bool = False,
    ) -> Callable[[F], F]:
        """Return a decorator that adds a function under its own name; see ``add``."""

        def register(function: F) -> F:
            self.add(
                function.__name__,
                signature,
                function,
                uses_mode=uses_mode,
                flushes=flushes,
                rounds=rounds,
                keeps_high=keeps_high,
            )
            return function

        return register


SCALAR = Table()
"""SOP1, SOP2, SOPC, SOPK."""
VECTOR = Table()
"""VOP1, VOP2, VOPC, VOP3, in all their forms."""
PACKED = Table()
"""VOP3P: each operation on one half; the executor applies it to both (``packed.py``)."""
