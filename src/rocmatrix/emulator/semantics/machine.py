"""What semantics may ask of an executor: registers, lanes, memory, matrices. All else is algebra on values.

The reference interpreter implements it over NumPy arrays; a translator implements it by emitting code, so nothing here
may depend on what a value holds: control flow of semantics follows from the instruction and MODE alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

from rocmatrix.emulator.algebra import Kind, Value
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Instruction, Operand
from rocmatrix.emulator.numerics import Numerics

WAVE = 64
"""Lanes of a wave."""


class Space(Enum):
    """What an address counts in."""

    GLOBAL = "global"
    """64-bit addresses of device memory."""
    FLAT = "flat"
    """64-bit addresses: device memory, or LDS and scratch through their apertures."""
    LDS = "lds"
    """Bytes from the start of the workgroup's LDS, as U32."""
    SCRATCH = "scratch"
    """Bytes from the start of the lane's scratch, as U64 (negative ones wrap)."""


Combine = Callable[..., Value]
"""What an atomic stores: a function of the old value and the data."""


class Machine(Protocol):
    """The state of one wave.

    Vector reads give a value for each lane, scalar reads one that stands for all. Vector writes touch active lanes
    only. Registers are 32 bits wide; ``read`` and ``write`` take kinds of 32 and 64 bits.
    """

    @property
    def mode(self) -> Mode:
        """The MODE register; constant over a stretch of code."""

    @property
    def numerics(self) -> Numerics:
        """How arithmetic is done where that is not documented to the last bit."""

    def constant(self, kind: Kind, number: float) -> Value:
        """Return a constant."""

    def lane_numbers(self) -> Value:
        """Return 0 to 63 as U32."""

    def static_mask(self, lanes: Sequence[bool]) -> Value:
        """Return a mask that is known from the instruction."""

    def read(self, operand: Operand, kind: Kind) -> Value:
        """Return the registers of an operand in SGPRs, VGPRs or AGPRs as one value."""

    def special(self, index: int, kind: Kind) -> Value:
        """Return a read-only source by its number: apertures, VCCZ, EXECZ, SCC."""

    def write(self, operand: Operand, value: Value, lanes: Value | None = None) -> None:
        """Write registers; vector registers in active lanes, and of those only in ``lanes`` where given."""

    def read_mask(self, operand: Operand) -> Value:
        """Return a lane mask from two SGPRs."""

    def write_mask(self, operand: Operand, value: Value) -> None:
        """Write a lane mask to two SGPRs; bits of inactive lanes become zero."""

    def read_scc(self) -> Value:
        """Return the scalar condition code as BOOL."""

    def write_scc(self, value: Value) -> None:
        """Set the scalar condition code."""

    def read_exec(self) -> Value:
        """Return the active lanes as BOOL."""

    def write_exec(self, value: Value) -> None:
        """Set the active lanes; lanes that are inactive stay so (as v_cmpx needs it)."""

    def permute(self, value: Value, lanes: Value) -> Value:
        """Return for each lane the value of another one, by its number 0 to 63 as U32."""

    def scatter(self, value: Value, lanes: Value) -> Value:
        """Return the value moved to other lanes; of several active ones the highest wins, lanes without one get 0."""

    def pick(self, value: Value, lane: Value) -> Value:
        """Return the value of one lane, active or not, as a scalar; ``lane`` is a scalar U32 from 0 to 63."""

    def write_lane(self, operand: Operand, value: Value, lane: Value) -> None:
        """Write a scalar to one lane of a vector register, active or not."""

    def mask_bits(self, mask: Value) -> Value:
        """Return a lane mask as a scalar U64."""

    def require(self, condition: Value, what: str) -> None:
        """Refuse to go on (``UnsupportedError``) where a condition does not hold in every active lane."""

    def load(self, space: Space, address: Value, size: int, lanes: Value | None = None) -> tuple[Value, ...]:
        """Load 1, 2 or a multiple of 4 bytes in each active lane; give U32 registers, zero in lanes without access."""

    def store(
        self, space: Space, address: Value, values: Sequence[Value], size: int, lanes: Value | None = None
    ) -> None:
        """Store 1, 2 or a multiple of 4 bytes of each active lane."""

    def atomic(
        self,
        space: Space,
        address: Value,
        kind: Kind,
        combine: Combine,
        data: Sequence[Value],
        *,
        lanes: Value | None = None,
    ) -> Value:
        """Replace memory by a combination of itself and data, lane after lane; give what was there before."""

    def load_scalar(self, address: Value, count: int) -> tuple[Value, ...]:
        """Load registers for the whole wave from an address that is a multiple of 4."""

    def load_scalar_or_zero(self, address: Value, inside: Value) -> Value:
        """Load one register, or give zero where the condition does not hold."""

    def deliver(self, destination: Operand, values: Sequence[Value], bits: int = 0xFFFFFFFF) -> None:
        """Let consecutive registers get what an access found, U32 or U64, when it arrives; only some bits of each."""

    def deliver_to_lds(self, address: Value, values: Sequence[Value]) -> None:
        """Let a dword of LDS for each active lane get what a load found, when it arrives."""

    def matrix(self, instruction: Instruction) -> None:
        """Execute a matrix instruction on its operands (``matrix.py`` has the table)."""
