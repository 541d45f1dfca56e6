"""Where detectors attach: what the interpreter tells of each step. Without an observer none of it costs anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.semantics.machine import Space

if TYPE_CHECKING:
    from rocmatrix.emulator.wave import Wave


class Observer(Protocol):
    """Sees every instruction before and after it, and every access to memory.

    Registers that an instruction reads and writes are its operands, SCC and EXEC aside; their values are those of the
    wave before and after.
    """

    def before(self, wave: Wave, instruction: Instruction) -> None:
        """See an instruction that is about to be executed."""

    def after(self, wave: Wave, instruction: Instruction) -> None:
        """See an instruction that was executed; the program counter is where the wave goes on."""

    def access(
        self,
        wave: Wave,
        space: Space,
        addresses: NDArray[np.integer],
        size: int,
        lanes: NDArray[np.bool_],
        *,
        reads: bool,
        writes: bool,
    ) -> None:
        """See an access before it happens; a FLAT access arrives as the spaces that its lanes mean.

        Args:
            wave: which wave; its ``instruction`` is the one that accesses.
            space: GLOBAL, LDS or SCRATCH.
            addresses: for each lane.
            size: bytes for each lane.
            lanes: which lanes access at all.
            reads: memory is read.
            writes: memory is written; both for atomics.
        """

    def barrier(self, waves: tuple[Wave, ...]) -> None:
        """See that these waves of a workgroup met at a barrier."""

    def end(self, wave: Wave) -> None:
        """See that a wave ended."""
