"""Sets waves up for tracking, and reads off global memory what of a result was never written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rocmatrix.emulator.instruction import EXEC
from rocmatrix.emulator.memory import Allocation, LocalMemory
from rocmatrix.emulator.metadata import KernelMetadata
from rocmatrix.emulator.reports import Fault, FaultKind
from rocmatrix.emulator.shadow.memory import LocalShadow, Store, Stores
from rocmatrix.emulator.shadow.origin import MOST_FINDINGS, Findings
from rocmatrix.emulator.shadow.wave import TrackedWave
from rocmatrix.emulator.wave import Wave


class Tracker:
    """Tracks one launch.

    Attributes:
        findings: where undefined bits mattered so far.
    """

    def __init__(self, stores: Stores) -> None:
        """Begin a launch; who stored undefined bits to global memory is kept beyond it."""
        self.findings = Findings()
        self._stores = stores

    def maker(self, lds: LocalMemory) -> Callable[..., TrackedWave]:
        """Return what makes the waves of a workgroup, all of whose registers and LDS are undefined."""
        return partial(TrackedWave, findings=self.findings, lds_shadow=LocalShadow(lds), stores=self._stores)

    def defines(self, wave: Wave, scalars: NDArray[np.uint32]) -> None:
        """Define what the hardware sets up.

        Args:
            wave: before its first instruction.
            scalars: undefined bits of the first scalar registers, in their order.
        """
        if not isinstance(wave, TrackedWave):
            raise TypeError("a tracker makes the waves that it tracks")
        wave.shadow.sgprs[: len(scalars)] = scalars
        wave.shadow.sgprs[EXEC : EXEC + 2] = 0
        wave.shadow.vgprs.write(0, None, None, np.ones(64, dtype=np.bool_))

    def shadow_arguments(self, kernarg: Allocation, metadata: KernelMetadata) -> None:
        """Define the arguments in a kernarg segment; padding between and behind them stays undefined."""
        shadow = kernarg.begin_shadow(undefined=True)
        for argument in metadata.args:
            if argument.value_kind != "hidden_none":
                shadow[argument.offset : argument.offset + argument.size] = 0


def unwritten_results(allocation: Allocation, stores: Stores, kernel: str) -> tuple[Fault, ...]:
    """Return what of a result was never written, each store of undefined data once, or what nothing stored.

    Args:
        allocation: holds the result.
        stores: who stored undefined bits.
        kernel: who should have written it, for what nothing stored.
    """
    undefined = allocation.undefined
    if undefined is None or not undefined.any():
        return ()
    stored = {
        address: store
        for address, store in sorted(stores.by_byte.items())
        if allocation.address <= address < allocation.end and undefined[address - allocation.address]
    }
    found: dict[int | None, Fault] = {}
    for address, store in stored.items():
        key = store.instruction.address if store.instruction else None
        if key not in found and len(found) < MOST_FINDINGS:
            found[key] = _stored(allocation, address, store)
    missing = undefined != 0
    missing[[address - allocation.address for address in stored]] = False
    return (*found.values(), *_missing(allocation, missing, kernel))


def _missing(allocation: Allocation, missing: NDArray[np.bool_], kernel: str) -> tuple[Fault, ...]:
    count = int(missing.sum())
    if not count:
        return ()
    first = int(missing.argmax())
    detail = (
        f"byte {first} of {allocation.name} is a result that nothing stored "
        f"({count} of its {len(missing)} bytes were never written)"
    )
    address = allocation.address + first
    return (
        Fault(kind=FaultKind.UNWRITTEN, kernel=kernel, instruction=None, wave=None, address=address, detail=detail),
    )


def _stored(allocation: Allocation, address: int, store: Store) -> Fault:
    what = f"byte {address - allocation.address} of {allocation.name}"
    return Fault(
        kind=FaultKind.UNWRITTEN,
        kernel=store.kernel,
        instruction=store.instruction,
        wave=store.wave,
        lane=store.lane,
        address=address,
        detail=f"{what} is a result, and what is stored there depends on {store.origin}",
    )
