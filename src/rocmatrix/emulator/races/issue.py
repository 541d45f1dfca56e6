"""What an instruction means to the race detector: which counters it counts on, how far its accesses are coherent.

Sources: CDNA 3 ISA document, "Manually Inserted Wait States" and "Memory Scopes"; LLVM, AMDGPUUsage, "Memory Model
gfx942". SC1:SC0 of loads and stores is the scope: wave, workgroup, agent, system. Atomics that change memory happen in
L2, so that they are of agent scope at least; their SC0 says whether they return what they found.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from rocmatrix.emulator.instruction import VECTOR_MEMORY, Encoding, Instruction, MemoryBits
from rocmatrix.emulator.semantics.lds import lds_atomic

_RELEASE, _ACQUIRE = "buffer_wbl2", "buffer_inv"


class Scope(IntEnum):
    """How far an access is coherent: two atomic accesses of waves within each other's scope do not race."""

    WAVE = 0
    WORKGROUP = 1
    AGENT = 2
    SYSTEM = 3


class Cache(IntEnum):
    """What an instruction does with caches between workgroups."""

    NONE = 0
    WRITE_BACK = 1
    """``buffer_wbl2``: what was written becomes visible in other L2 caches."""
    INVALIDATE = 2
    """``buffer_inv``: later loads see what others made visible."""


@dataclass(frozen=True, kw_only=True)
class Issue:
    """What is known of a memory instruction before it is executed.

    Attributes:
        vm: it counts on vmcnt.
        lgkm: it counts on lgkmcnt, in order. Scalar loads do so out of order, and no wait but for all is sure of them.
        scope: of its accesses.
        atomic: it changes memory atomically.
        returns: an atomic that returns what it found.
        to_lds: it loads to LDS.
        cache: what it does with caches.
    """

    vm: bool = False
    lgkm: bool = False
    scope: Scope = Scope.WAVE
    atomic: bool = False
    returns: bool = False
    to_lds: bool = False
    cache: Cache = Cache.NONE

    @property
    def bits(self) -> int:
        """The same as one number (``races.h``)."""
        flags = (self.vm, self.lgkm, self.atomic, self.returns, self.to_lds)
        return sum(flag << place for place, flag in enumerate(flags)) | self.cache << 5 | self.scope << 7


@cache
def issue_of(instruction: Instruction) -> Issue | None:
    """Return what an instruction means to the detector, or ``None`` if it does not access memory."""
    bits = instruction.memory
    if bits is None:
        return None
    if instruction.encoding is Encoding.SMEM:
        return Issue()
    if instruction.encoding is Encoding.DS:
        atomic = lds_atomic(instruction.name) is not None
        return Issue(lgkm=True, atomic=atomic, returns=atomic and bool(instruction.destinations))
    return _vector_memory(instruction, bits) if instruction.encoding in VECTOR_MEMORY else None


def _vector_memory(instruction: Instruction, bits: MemoryBits) -> Issue:
    if instruction.name in (_RELEASE, _ACQUIRE):
        action = Cache.WRITE_BACK if instruction.name == _RELEASE else Cache.INVALIDATE
        # only what crosses workgroups matters: a workgroup's waves share all caches
        return Issue(vm=instruction.name == _RELEASE, cache=action if bits.sc1 else Cache.NONE)
    flat = instruction.encoding is Encoding.FLAT
    if "_atomic_" in instruction.name:
        scope = Scope.SYSTEM if bits.sc1 else Scope.AGENT
        return Issue(vm=True, lgkm=flat, scope=scope, atomic=True, returns=bits.sc0)
    return Issue(vm=True, lgkm=flat, scope=Scope(bits.sc0 | bits.sc1 << 1), to_lds=bits.lds)
