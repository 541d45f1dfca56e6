"""One launch of a kernel with inputs, and the float64 result that it should come to."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.check.comparison import Comparison, compare
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Execution, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.observer import Observer
from rocmatrix.emulator.reports import Detector

POISON = 0x7B
NOTHING = b"\xff"
"""Each byte of arguments that a kernel does not use, and between others: no address, no legal part of a descriptor."""
_FAR, _ALIGNED = 1 << 32, 256


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A launch that can be repeated.

    Attributes:
        name: of the trial.
        kernel: of the code object.
        geometry: extents.
        inputs: arrays in the order of the kernel's pointers; kernels must not write them.
        out: what the result's memory holds before the launch; its dtype and shape are the result's.
        scalars: 32-bit integers behind the pointers.
        reference: makes the result in float64.
        rtol: relative tolerance; ``atol`` the absolute one.
        nothings: pointers behind the scalars that the kernel does not use.
        accumulates: whether the kernel adds to what the result's memory holds; else that counts as never written.
        straddles: whether a multiple of 4 GiB lies in the middle of each argument, so that addresses carry.
    """

    name: str
    kernel: str
    geometry: Geometry
    inputs: tuple[Array, ...]
    out: Array
    scalars: tuple[int, ...]
    reference: Callable[[], NDArray[np.float64]]
    rtol: float
    atol: float
    nothings: int = 0
    accumulates: bool = False
    straddles: bool = False

    @cached_property
    def want(self) -> NDArray[np.float64]:
        """The result in float64."""
        return self.reference()

    def run(
        self, code: CodeObject, device: Device, options: Options, observer: Observer | None = None
    ) -> tuple[Comparison, Execution, Array]:
        """Launch on a fresh device; return how near the result is, what the launch came to, and the result.

        Raises:
            FaultError: the kernel did something wrong.
            UnsupportedError: it did something that is not modelled.
        """
        loaded = device.load(code)
        addresses = []
        for number, array in enumerate(self.inputs):
            address = self._place(device, array.nbytes)
            held = device.memory.allocate_at(address, array.nbytes, f"input {number}", writable=False)
            held.data[:] = np.frombuffer(array.tobytes(), dtype=np.uint8)
            addresses.append(address)
        written = self.accumulates or Detector.UNWRITTEN not in options.detectors
        place = self._place(device, self.out.nbytes)
        result = device.memory.allocate_at(place, self.out.nbytes, "the result", written=written)
        result.data[:] = np.frombuffer(self.out.tobytes(), dtype=np.uint8)
        segment = struct.pack(f"<{len(addresses) + 1}Q", *addresses, result.address)
        segment += struct.pack(f"<{len(self.scalars)}i", *self.scalars)
        if self.nothings:
            segment += NOTHING * (-len(segment) % 8 + 8 * self.nothings)
        execution = device.launch(loaded, self.kernel, self.geometry, segment, options=options, observer=observer)
        execution = replace(execution, findings=(*execution.findings, *device.unwritten(result, self.kernel)))
        got = result.data.view(self.out.dtype).reshape(self.out.shape).copy()
        return compare(got, self.want, rtol=self.rtol, atol=self.atol), execution, got

    def _place(self, device: Device, size: int) -> int:
        """Return where an argument lies."""
        if not self.straddles:
            return device.memory.reserve(size)
        return device.memory.reserve(size, align=_FAR) - size // 2 // _ALIGNED * _ALIGNED


def poisoned(shape: Sequence[int], dtype: type[np.generic] | np.dtype[np.generic]) -> Array:
    """Return an array whose every byte is a pattern."""
    made = np.empty(tuple(shape), dtype=dtype)
    return np.full(made.nbytes, POISON, np.uint8).view(made.dtype).reshape(made.shape)
