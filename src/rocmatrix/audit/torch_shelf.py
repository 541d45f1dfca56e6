"""The torches that somebody named for an audit, each asked for what per-torch binaries need of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from rocmatrix import digest
from rocmatrix.audit.facts import Expectation, TorchAnswer, VariantFacts
from rocmatrix.audit.rules.torch_abi import asks_of_torch
from rocmatrix.audit.torch_reader import TorchReader
from rocmatrix.errors import MissingRequirementError
from rocmatrix.events import Emit
from rocmatrix.plan.model import Abi
from rocmatrix.toolchain.torch_exports import LIBRARIES, Torch, open_torch


def torch_reader(named: Iterable[str], emit: Emit) -> TorchReader | None:
    """Return who answers for the torches that were named; ``None`` if none was.

    Raises:
        InputError: one of them is no torch.
        MissingRequirementError: pip finds no such wheel, or its server cannot be reached.
    """
    torches = [open_torch(name, emit) for name in named]
    return TorchShelf(torches) if torches else None


class TorchShelf:
    """Picks the torch that a variant is meant for, and reads as few of its libraries as the answer needs."""

    def __init__(self, torches: Iterable[Torch]) -> None:
        """Keep the torches; nothing but their versions has been read of them yet."""
        self._torches = tuple(torches)
        self._exports = cache(Torch.exports)

    @property
    def identity(self) -> str:
        """What the answers depend on: the versions of the torches."""
        return str(digest.of_bytes("\n".join(sorted(torch.version for torch in self._torches)).encode()))

    def answer(self, facts: VariantFacts, expected: Expectation) -> TorchAnswer | None:
        """Return what the torch that a variant is meant for says; of several the oldest that may load it."""
        asked = [
            (binary.path, symbol.name)
            for binary in facts.binaries
            for symbol in binary.elf.symbols
            if asks_of_torch(symbol) and not symbol.weak
        ]
        fitting = sorted((torch for torch in self._torches if _fits(torch, expected)), key=_order)
        if not asked or not self._torches:
            return None
        if not fitting:
            named = ", ".join(torch.version for torch in self._torches)
            return TorchAnswer(version="", unread=f"of the torches that were named ({named}) none is the one it is for")
        return self._ask(fitting[0], asked)

    def _ask(self, torch: Torch, asked: Sequence[tuple[str, str]]) -> TorchAnswer:
        lacking, read = list(asked), []
        try:
            for library in LIBRARIES:
                if lacking and (exports := self._exports(torch, library)) is not None:
                    read.append(library)
                    lacking = [(path, name) for path, name in lacking if name not in exports]
        except MissingRequirementError as err:
            return TorchAnswer(version=torch.version, unread=err.what)
        return TorchAnswer(version=torch.version, libraries=tuple(read), lacking=tuple(lacking))


def _fits(torch: Torch, expected: Expectation) -> bool:
    """Return whether a torch loads a variant: the same ROCm, and the same torch or, by stable ABI, a later one."""
    if expected.torch is None or expected.rocm is None:
        return True  # nothing says which torch it is for but whoever named this one
    if torch.hip != expected.rocm:
        return False
    if expected.abi is Abi.STABLE:
        return _order(torch) >= tuple(map(int, expected.torch.split(".")))
    return torch.minor == expected.torch


def _order(torch: Torch) -> tuple[int, ...]:
    return tuple(map(int, torch.minor.split(".")))
