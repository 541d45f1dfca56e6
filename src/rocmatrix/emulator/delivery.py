"""When a wave gets what it loads: as early as the machine may deliver it, or as late as its waits allow.

An instruction that reads memory does so when it is issued; its results arrive some time later, and code learns of that
only by ``s_waitcnt``. Code that waits for what it uses computes the same however long they take. With early delivery
they are there at once. With late delivery they stay here until a wait must have them, and registers (or LDS, of loads
to LDS) hold what they held before; so a wait that is missing or too weak changes the numbers.

Accesses that count on vmcnt arrive in their order of issue, and so do those of LDS; scalar loads and FLAT accesses are
only sure to be there when their counters are zero (CDNA 3 ISA document, 4.4 "Data Dependency Resolution").
"""

from __future__ import annotations

import random
from enum import IntEnum, StrEnum
from functools import cache

import numpy as np

from rocmatrix.emulator.instruction import VECTOR_MEMORY, Encoding, Instruction
from rocmatrix.emulator.races.issue import Cache, issue_of
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.wait_counts import MAX_LGKMCNT, MAX_VMCNT, Wait, wait_of

CAPACITY = 128
"""Results that may be under way in one wave; where more are, the oldest arrives. vmcnt counts to 63, lgkmcnt to 15."""


class Delivery(StrEnum):
    """When loads of a launch arrive."""

    EARLY = "early"
    """When they are issued."""
    LATE = "late"
    """When a wait must have them."""
    MIXED = "mixed"
    """One or the other, for each wave as the seed of the launch decides."""

    def is_late(self, seed: int, wave: int) -> bool:
        """Say whether the loads of a wave, by its number in the launch, arrive late."""
        if self is Delivery.MIXED:
            return random.Random(f"{seed} {wave}").random() < 0.5  # noqa: S311, PLR2004 - reproducible, no secret
        return self is Delivery.LATE


class Unit(IntEnum):
    """What counts an access, and in which order it completes."""

    MEMORY = 0
    """vmcnt, in order."""
    LDS = 1
    """lgkmcnt, in order among LDS instructions."""
    SCALAR = 2
    """lgkmcnt, in any order."""
    FLAT = 3
    """Both counters, on each in any order."""


class Place(IntEnum):
    """Where a result goes."""

    VGPR = 0
    AGPR = 1
    SGPR = 2
    LDS = 3


ENTRY = np.dtype(
    [
        ("number", np.uint64),
        ("unit", np.uint64),
        ("waited", np.uint64),
        ("place", np.uint64),
        ("first", np.uint64),
        ("count", np.uint64),
        ("bits", np.uint64),
        ("lanes", np.uint64),
        ("undefined", np.uint64),
        ("words", np.uint32, (4, WAVE)),
        ("addresses", np.uint32, WAVE),
    ]
)
"""``struct late_entry`` (``runtime/late.h``): one result that is under way.

``number``: of the access among those of its unit. ``waited``: which counters of a FLAT access were waited for.
``first`` and ``count``: registers. ``bits``: of them that are written. ``lanes``: that were active. ``undefined``: some
bit was never written, which only the reference knows. ``addresses``: in LDS.
"""
LAYOUT = np.dtype(
    [
        ("issued", np.uint64, 2),
        ("count", np.uint64),
        ("order", np.uint64, CAPACITY),
        ("entries", ENTRY, CAPACITY),
    ]
)
"""``struct late``. ``order``: first the entries that are under way, oldest first, then those that are free."""


def unit_of(instruction: Instruction) -> Unit | None:
    """Return what counts an instruction, ``None`` if nothing does or nothing that arrives can lie behind it."""
    issue = issue_of(instruction)
    if issue is None or issue.cache is not Cache.NONE or instruction.name.startswith("buffer_wbl2"):
        return None
    if instruction.encoding is Encoding.SMEM:
        return Unit.SCALAR
    if instruction.encoding is Encoding.DS:
        return Unit.LDS
    if instruction.encoding is Encoding.FLAT:
        return Unit.FLAT
    return Unit.MEMORY if instruction.encoding in VECTOR_MEMORY and issue.vm else None


@cache
def counted(instruction: Instruction) -> Unit | None:
    """Return which counter of accesses in order an instruction moves on, if any."""
    unit = unit_of(instruction)
    return unit if unit in (Unit.MEMORY, Unit.LDS) else None


@cache
def awaited(instruction: Instruction) -> Wait | None:
    """Return what an instruction waits for, ``None`` if for nothing."""
    wait = wait_of(instruction)
    return None if wait is None or (wait.vm >= MAX_VMCNT and wait.lgkm >= MAX_LGKMCNT) else wait
