"""What the emulator says when a kernel does something wrong, or something that the emulator does not know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.emulator.instruction import Instruction
from rocmatrix.errors import CheckError


class FaultKind(StrEnum):
    """What kind of wrong."""

    OUT_OF_BOUNDS = "out of bounds"
    """An address that no allocation, no LDS and no scratch of the wave covers."""
    READ_ONLY = "write to read-only memory"
    MISALIGNED = "misaligned"
    ILLEGAL = "illegal instruction"
    """An encoding or a register that this wave must not use."""
    DEADLOCK = "deadlock"
    """Every live wave of a workgroup waits for something that cannot come."""
    ENDLESS = "endless"
    """More instructions than the launch allows."""
    TRAP = "trap"
    UNWRITTEN = "never written"
    """A value that nothing wrote decides an address, a branch or the active lanes, or is a result."""
    RACE = "race"
    """Two waves access the same memory, one of them writes, and nothing orders the two."""
    COLLISION = "lane collision"
    """Lanes of one instruction write different values to the same address."""
    WAIT = "missing wait"
    """A register or LDS is used while an access to it may still be under way."""
    HAZARD = "hazard"
    """Two instructions are closer than the hardware needs them to be, and it does not wait by itself."""


class Detector(StrEnum):
    """What looks for faults that do not change the numbers of a run by themselves."""

    UNWRITTEN = "unwritten"
    RACES = "races"
    """Of LDS and of global memory, and lanes that collide."""
    WAITS = "waits"
    HAZARDS = "hazards"


ALL_DETECTORS = frozenset(Detector)


@dataclass(frozen=True, kw_only=True)
class WaveId:
    """A wave: its workgroup in the grid, and its number in the workgroup."""

    workgroup: tuple[int, int, int]
    wave: int

    def __str__(self) -> str:
        """Return ``workgroup (x, y, z) wave n``."""
        return f"workgroup {self.workgroup} wave {self.wave}"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that a kernel did wrong.

    Attributes:
        kind: what kind of wrong.
        kernel: its name in the code object.
        instruction: the instruction that did it, where there is one.
        wave: the wave that did it; ``None`` for what is wrong with the code whichever wave executes it.
        lane: the first lane that did it, where lanes differ.
        address: the memory address, in bytes, where there is one.
        detail: the sentence that says what happened.
    """

    kind: FaultKind
    kernel: str
    instruction: Instruction | None
    wave: WaveId | None
    detail: str
    lane: int | None = None
    address: int | None = None

    def __str__(self) -> str:
        """Return the fault as one line."""
        where = f" at {self.instruction}" if self.instruction else ""
        lane = None if self.lane is None else f"lane {self.lane}"
        address = None if self.address is None else f"address {self.address:#x}"
        who = " ".join(str(part) for part in (self.wave, lane, address) if part is not None)
        return f"{self.kernel}{where}: {self.kind}: {self.detail}" + (f" ({who})" if who else "")


class FaultError(CheckError):
    """A kernel did something wrong and cannot go on.

    Attributes:
        fault: what it did.
        findings: what the detectors had found before.
    """

    def __init__(self, fault: Fault) -> None:
        """Keep the fault; it is the message too."""
        super().__init__(str(fault))
        self.fault = fault
        self.findings: tuple[Fault, ...] = ()


class UnsupportedError(CheckError):
    """The emulator does not know what an instruction, a register or a field means, and does not guess."""

    def __init__(self, what: str, *, kernel: str | None = None, instruction: Instruction | None = None) -> None:
        """Say what is unknown, in which kernel, at which instruction."""
        where = " at ".join(str(part) for part in (kernel, instruction) if part is not None)
        super().__init__(f"the emulator does not support {what}", where=where or None)
        self.kernel = kernel
        self.instruction = instruction
        self._unknown = what

    def located(self, kernel: str, instruction: Instruction | None) -> UnsupportedError:
        """Return the same refusal with the kernel and, where it had none, the instruction."""
        return UnsupportedError(self._unknown, kernel=kernel, instruction=self.instruction or instruction)


class AccessError(Exception):
    """A memory access that its space refuses; whoever knows kernel and wave turns it into a ``FaultError``."""

    def __init__(self, kind: FaultKind, detail: str, *, lane: int | None = None, address: int | None = None) -> None:
        """Keep what memory knows of the fault."""
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.lane = lane
        self.address = address
