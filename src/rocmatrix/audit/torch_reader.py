"""Who answers for a torch: which of the symbols that binaries ask of torch its own libraries export."""

from __future__ import annotations

from typing import Protocol

from rocmatrix.audit.facts import Expectation, TorchAnswer, VariantFacts


class TorchReader(Protocol):
    """Asks the libraries of torches."""

    @property
    def identity(self) -> str:
        """What an answer depends on beside the question; audits with another one are done again."""
        ...

    def answer(self, facts: VariantFacts, expected: Expectation) -> TorchAnswer | None:
        """Return what the torch that a variant is meant for says; ``None`` if no such torch can be read."""
        ...


class NoTorch:
    """No torch was named."""

    identity = ""

    def answer(self, facts: VariantFacts, expected: Expectation) -> TorchAnswer | None:
        """Return ``None``."""
        del facts, expected
        return None
