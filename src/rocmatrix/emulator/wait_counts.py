"""What ``s_waitcnt`` waits for (CDNA 3 ISA document, SIMM16 of S_WAITCNT); expcnt means nothing to compute kernels."""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.emulator.instruction import Instruction

WAITCNT = "s_waitcnt"
MAX_VMCNT, MAX_LGKMCNT = 63, 15
"""Waiting for these values waits for nothing; a counter cannot be higher."""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """At most so many accesses may still be under way behind it.

    Attributes:
        vm: of those that count on vmcnt.
        lgkm: of those that count on lgkmcnt.
    """

    vm: int
    lgkm: int


def wait_of(instruction: Instruction) -> Wait | None:
    """Return what an ``s_waitcnt`` waits for, or ``None`` if it is none."""
    if instruction.name != WAITCNT:
        return None
    field = instruction.immediate
    return Wait(vm=field & 0xF | field >> 10 & 0x30, lgkm=field >> 8 & 0xF)
