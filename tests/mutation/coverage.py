"""Which instructions a launch executes: an observer of the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.semantics.machine import Space
from rocmatrix.emulator.wave import Wave


class Coverage:
    """What was executed.

    Attributes:
        addresses: of the instructions.
        most: instructions of the wave that executed most.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.addresses: set[int] = set()
        self.most = 0

    def before(self, wave: Wave, instruction: Instruction) -> None:
        """Keep the address."""
        del instruction
        self.addresses.add(wave.pc)

    def after(self, wave: Wave, instruction: Instruction) -> None:
        """Nothing."""

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
        """Nothing."""

    def barrier(self, waves: tuple[Wave, ...]) -> None:
        """Nothing."""

    def end(self, wave: Wave) -> None:
        """Keep how much it executed."""
        self.most = max(self.most, wave.executed)
