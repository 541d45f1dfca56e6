"""The race detector as executors see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.reports import Fault
from rocmatrix.emulator.semantics.machine import Space

if TYPE_CHECKING:
    from rocmatrix.emulator.wave import Wave


class WaveTracker(Protocol):
    """Follows the memory accesses of one wave."""

    def begin(self, instruction: Instruction) -> None:
        """See an instruction that is about to be executed."""

    def access(
        self,
        space: Space,
        addresses: NDArray[np.integer],
        size: int,
        lanes: NDArray[np.bool_],
        *,
        reads: bool,
        values: NDArray[np.uint8] | None = None,
    ) -> None:
        """See an access of the instruction before it happens.

        Args:
            space: GLOBAL or LDS; others are private to a lane and cannot race.
            addresses: for each lane.
            size: bytes for each lane.
            lanes: which lanes access at all.
            reads: memory is read; an atomic reads and writes.
            values: what a store writes, shape (64, size).
        """


class Tracker(Protocol):
    """Follows the memory accesses of one launch."""

    def start(self, waves: Sequence[Wave]) -> None:
        """See a workgroup that begins; its waves get their ``races``."""

    def barrier(self, waves: Sequence[Wave]) -> None:
        """See that the live waves of a workgroup met."""

    def end(self, waves: Sequence[Wave]) -> None:
        """See that a workgroup has ended."""

    def findings(self) -> tuple[Fault, ...]:
        """Return what was found so far."""
