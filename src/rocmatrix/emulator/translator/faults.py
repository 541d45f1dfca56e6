"""Faults of generated code, in the words of the reference."""

from __future__ import annotations

import numpy as np

from rocmatrix.emulator.memory import Memory
from rocmatrix.emulator.reports import AccessError, Fault, FaultError, FaultKind
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.translator.native import Access, Space, State
from rocmatrix.emulator.wave import Wave


def fault_of(wave: Wave, memory: Memory, state: State) -> FaultError:
    """Return the fault that generated code has left in a wave's state; ``wave.instruction`` did it."""
    try:
        _access(wave, memory, state)
    except AccessError as err:
        return FaultError(
            Fault(
                kind=err.kind,
                kernel=wave.kernel,
                instruction=wave.instruction,
                wave=wave.identity,
                lane=err.lane,
                address=err.address,
                detail=err.detail,
            )
        )
    raise AssertionError("generated code refuses an access that the reference allows")


def _access(wave: Wave, memory: Memory, state: State) -> None:
    """Make the access of the lane that faulted again.

    Raises:
        AccessError: by the memory that refuses it, as it would refuse the reference.
    """
    lane = int(state.fault_lane) if state.fault_lane < WAVE else None
    address, size = int(state.fault_address), int(state.fault_size)
    writing = state.fault_access == Access.WRITES
    if state.fault_access == Access.MISALIGNED:
        what = f"an atomic of {size} bytes needs an address that is a multiple of {size}"
        raise AccessError(FaultKind.MISALIGNED, what, lane=lane, address=address)
    if state.fault_space == Space.GLOBAL:
        memory.bytes_at(address, size, writing=writing, lane=lane)
        return
    local = wave.lds if state.fault_space == Space.LDS else wave.scratch
    signed = np.array(address, dtype=np.uint64).astype(np.int64)
    local.check(np.full(WAVE, signed), size, np.arange(WAVE) == (lane or 0), writing=writing)
