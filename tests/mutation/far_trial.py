"""A launch of one workgroup far into a grid whose other workgroups do not run, on arguments of which little exists.

Indices there need bits that no small launch has. What lies before, between and behind the parts of an argument that the
workgroup is to touch is not allocated, so that another address is out of bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.check.comparison import Comparison, compare
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Execution, LoadedCode, Options
from rocmatrix.emulator.dispatch import Dispatch
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.memory import Allocation, Memory
from rocmatrix.emulator.observer import Observer
from rocmatrix.emulator.reports import Detector
from rocmatrix.emulator.wave import Wave
from tests.corpus.trial import NOTHING, Trial

Workgroup = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Part:
    """Where the rows of an array lie in an argument.

    Attributes:
        before: bytes of the argument in front of the first row; negative where indices are.
        stride: bytes from one row to the next, or ``None`` where they lie one behind the other.
        wraps: bytes of 2**32 elements if rows may lie so far behind the first one that their indices are negative.
    """

    before: int = 0
    stride: int | None = None
    wraps: int = 0

    def place(self, row: int, stride: int) -> int:
        """Return where a row lies, in bytes from the first one: as far before it as an index of 32 bits says."""
        behind = row * stride
        return behind - self.wraps if self.wraps and behind >= self.wraps // 2 else behind


@dataclass(frozen=True, kw_only=True)
class FarTrial(Trial):
    """One workgroup of a large launch.

    Attributes:
        workgroup: which one; the geometry's grid is of this one alone.
        parts: of the inputs that exist, in their order, then of the result, whose rows lie one behind the other.
    """

    workgroup: Workgroup
    parts: tuple[Part, ...]

    def run(
        self, code: CodeObject, device: Device, options: Options, observer: Observer | None = None
    ) -> tuple[Comparison, Execution, Array]:
        """Launch on a device like the given one; see ``Trial.run``."""
        far = _FarDevice(device._program, self.workgroup)
        far._analyses = device._analyses
        loaded = far.load(code)
        inputs = [self._put(far, array, part) for array, part in zip(self.inputs, self.parts[:-1], strict=True)]
        before = self.parts[-1].before
        written = Detector.UNWRITTEN not in options.detectors
        result = far.memory.allocate_at(
            far.memory.reserve(self.out.nbytes), self.out.nbytes, "the result", written=written
        )
        result.data[:] = np.frombuffer(self.out.tobytes(), dtype=np.uint8)
        segment = struct.pack(f"<{len(inputs) + 1}Q", *inputs, result.address - before)
        segment += struct.pack(f"<{len(self.scalars)}i", *self.scalars)
        segment += NOTHING * (-len(segment) % 8 + 8 * self.nothings)
        execution = far.launch(loaded, self.kernel, self.geometry, segment, options=options, observer=observer)
        return self._came_to(far, execution, result)

    def _came_to(self, far: Device, execution: Execution, result: Allocation) -> tuple[Comparison, Execution, Array]:
        found = (*execution.findings, *far.unwritten(result, self.kernel))
        got = result.data.view(self.out.dtype).reshape(self.out.shape).copy()
        return compare(got, self.want, rtol=self.rtol, atol=self.atol), replace(execution, findings=found), got

    @staticmethod
    def _put(device: Device, array: Array, part: Part) -> int:
        """Put the rows of an input into memory; return where the whole argument would begin."""
        rows = [array] if part.stride is None else list(array)
        stride = array.nbytes if part.stride is None else part.stride
        first = device.memory.reserve(len(rows) * stride + part.wraps) + part.wraps
        for number, row in enumerate(rows):
            place = first + part.place(number, stride)
            held = device.memory.allocate_at(place, row.nbytes, f"row {number}", writable=False)
            held.data[:] = np.frombuffer(row.tobytes(), dtype=np.uint8)
        return first - part.before


@dataclass(frozen=True, kw_only=True)
class _FarDispatch(Dispatch):
    """A dispatch whose workgroups begin at another one than the first."""

    first: Workgroup

    def make_waves(self, workgroup: Workgroup) -> tuple[Wave, ...]:
        """Return the waves of a workgroup that many further on."""
        x, y, z = (place + first for place, first in zip(workgroup, self.first, strict=True))
        return super().make_waves((x, y, z))


class _FarDevice(Device):
    """A device that begins a launch at another workgroup than the first."""

    def __init__(self, program: Callable[[Memory, str], Program], first: Workgroup) -> None:
        super().__init__(program)
        self._first = first

    def _execute(self, code: LoadedCode, dispatch: Dispatch, options: Options) -> Execution:
        known = {field.name: getattr(dispatch, field.name) for field in fields(dispatch)}
        return super()._execute(code, _FarDispatch(**known, first=self._first), options)
