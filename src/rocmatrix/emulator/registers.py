"""The registers of a wave as NumPy arrays: half of the reference implementation of ``Machine``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import BOOL, F64, I64, U32, U64, Kind, Value
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import (
    EXEC,
    EXECZ,
    PRIVATE_BASE,
    PRIVATE_LIMIT,
    SCC,
    SHARED_BASE,
    SHARED_LIMIT,
    VCC,
    VCCZ,
    Operand,
    RegisterFile,
)
from rocmatrix.emulator.lanes import DTYPES, Lanes, constant
from rocmatrix.emulator.semantics.machine import WAVE

Words = NDArray[np.uint32]
Bools = NDArray[np.bool_]

SHARED_APERTURE, PRIVATE_APERTURE = 1 << 48, 2 << 48
"""Where LDS and scratch begin in the flat address space (Linux, kfd_flat_memory.c, for GFX9)."""
APERTURE_SIZE = 1 << 32

APERTURES = {
    SHARED_BASE: SHARED_APERTURE,
    SHARED_LIMIT: SHARED_APERTURE + APERTURE_SIZE - 1,
    PRIVATE_BASE: PRIVATE_APERTURE,
    PRIVATE_LIMIT: PRIVATE_APERTURE + APERTURE_SIZE - 1,
}
_LANE_NUMBERS = Lanes(U32, np.arange(WAVE, dtype=np.uint32))
_SCALAR_REGISTERS = 128
_WIDE = (U64, I64, F64)


def array_of(value: Value) -> Array:
    """Return the array of a value of the reference implementation."""
    if not isinstance(value, Lanes):
        raise TypeError("the reference machine takes values of the reference algebra")
    return value.array


class Registers:
    """SGPRs, VGPRs, AGPRs, SCC, EXEC and MODE of one wave.

    Attributes:
        sgprs: scalar registers by number, special ones included.
        vgprs: vector registers, shape (256, 64).
        agprs: accumulator registers, shape (256, 64).
        active: lanes that EXEC enables; kept in step with the scalar registers.
        mode: the MODE register.
    """

    def __init__(self, mode: Mode) -> None:
        """Start with zeros, all lanes inactive."""
        self.sgprs: Words = np.zeros(_SCALAR_REGISTERS, dtype=np.uint32)
        self.vgprs: Words = np.zeros((256, WAVE), dtype=np.uint32)
        self.agprs: Words = np.zeros((256, WAVE), dtype=np.uint32)
        self.active: Bools = np.zeros(WAVE, dtype=np.bool_)
        self._all_active = False
        self.scc = False
        self._mode = mode

    @property
    def mode(self) -> Mode:
        """The MODE register."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._mode = mode

    def constant(self, kind: Kind, number: float) -> Value:
        """Return a constant."""
        return constant(kind, number)

    def decided(self, value: Value, what: str) -> int:  # noqa: ARG002 - for who tracks values
        """Return a scalar that decides how the wave goes on, and not only what it computes: ``what`` says how."""
        return int(array_of(value)[0])

    def lane_numbers(self) -> Value:
        """Return 0 to 63."""
        return _LANE_NUMBERS

    def static_mask(self, lanes: Sequence[bool]) -> Value:
        """Return a mask that is known from the instruction."""
        return Lanes(BOOL, np.array(lanes, dtype=np.bool_))

    def file(self, operand: Operand) -> Words:
        """Return the vector registers that an operand counts in."""
        return self.agprs if operand.file is RegisterFile.AGPR else self.vgprs

    def read(self, operand: Operand, kind: Kind) -> Value:
        """Return registers as one value of 32 or 64 bits."""
        index = operand.index
        if operand.file is RegisterFile.SGPR:
            return Lanes(kind, self.sgprs[index : index + kind.registers].view(DTYPES[kind]))
        file = self.file(operand)
        if kind in _WIDE:
            both = file[index].astype(np.uint64) | file[index + 1].astype(np.uint64) << np.uint64(32)
            return Lanes(kind, both.view(DTYPES[kind]))
        return Lanes(kind, file[index].view(DTYPES[kind]))

    def special(self, index: int, kind: Kind) -> Value:
        """Return apertures and conditions."""
        if index in APERTURES:
            return constant(kind, APERTURES[index])
        conditions = {
            VCCZ: lambda: not self.sgprs[VCC : VCC + 2].any(),
            EXECZ: lambda: not self.sgprs[EXEC : EXEC + 2].any(),
            SCC: lambda: self.scc,
        }
        return constant(kind, int(conditions[index]()))

    def write(self, operand: Operand, value: Value, lanes: Value | None = None) -> None:
        """Write registers: scalar ones, or vector ones in active lanes."""
        array = array_of(value)
        index = operand.index
        if operand.file is RegisterFile.SGPR:
            words = np.ascontiguousarray(array).view(np.uint32)
            self.sgprs[index : index + value.kind.registers] = words
            if index + value.kind.registers > EXEC:
                self._refresh()
            return
        file = self.file(operand)
        if value.kind in _WIDE:
            whole = array.view(np.uint64)
            self._write_register(file[index], whole.astype(np.uint32), lanes)
            self._write_register(file[index + 1], (whole >> np.uint64(32)).astype(np.uint32), lanes)
        else:
            self._write_register(file[index], array.view(np.uint32), lanes)

    def _write_register(self, register: Words, words: Words, lanes: Value | None) -> None:
        if lanes is not None:
            np.copyto(register, words, where=self.active & array_of(lanes))
        elif self._all_active:
            register[:] = words
        else:
            np.copyto(register, words, where=self.active)

    def _refresh(self) -> None:
        self.active = np.unpackbits(self.sgprs[EXEC : EXEC + 2].view(np.uint8), bitorder="little").view(np.bool_)
        self._all_active = bool(self.active.all())

    def set_exec(self, active: Bools) -> None:
        """Set the active lanes."""
        self.sgprs[EXEC : EXEC + 2] = np.packbits(active, bitorder="little").view(np.uint32)
        self._refresh()

    def read_mask(self, operand: Operand) -> Value:
        """Return a lane mask from two SGPRs; a constant is 64 bits with its sign extended."""
        if operand.file is RegisterFile.CONSTANT:
            return self._constant_mask(operand)
        octets = self.sgprs[operand.index : operand.index + 2].view(np.uint8)
        return Lanes(BOOL, np.unpackbits(octets, bitorder="little").view(np.bool_))

    def _constant_mask(self, operand: Operand) -> Value:
        from rocmatrix.emulator.semantics.operands import integer_constant  # noqa: PLC0415 - both need `Lanes`

        number = integer_constant(operand.index)
        if number is None:
            raise TypeError("the decoder gives lane masks as registers or integers")
        octets = array_of(constant(U64, number)).view(np.uint8)
        return Lanes(BOOL, np.unpackbits(octets, bitorder="little").view(np.bool_))

    def write_mask(self, operand: Operand, value: Value) -> None:
        """Write a lane mask to two SGPRs; bits of inactive lanes become zero."""
        bits = np.packbits(array_of(value) & self.active, bitorder="little").view(np.uint32)
        self.sgprs[operand.index : operand.index + 2] = bits
        if operand.index + 2 > EXEC:
            self._refresh()

    def mask_bits(self, mask: Value) -> Value:
        """Return a lane mask as a scalar."""
        lanes = np.broadcast_to(array_of(mask), (WAVE,))
        return Lanes(U64, np.packbits(lanes, bitorder="little").view(np.uint64))

    def read_scc(self) -> Value:
        """Return SCC."""
        return constant(BOOL, self.scc)

    def write_scc(self, value: Value) -> None:
        """Set SCC."""
        self.scc = bool(array_of(value)[0])

    def read_exec(self) -> Value:
        """Return the active lanes."""
        return Lanes(BOOL, self.active)

    def write_exec(self, value: Value) -> None:
        """Set the active lanes among those that are active."""
        self.set_exec(array_of(value) & self.active)

    def permute(self, value: Value, lanes: Value) -> Value:
        """Return for each lane the value of another one."""
        array = np.broadcast_to(array_of(value), (WAVE,))
        return Lanes(value.kind, array[np.broadcast_to(array_of(lanes), (WAVE,))])

    def scatter(self, value: Value, lanes: Value) -> Value:
        """Return the values of active lanes moved to other lanes."""
        array = np.broadcast_to(array_of(value), (WAVE,))
        result = np.zeros_like(array)
        targets = np.broadcast_to(array_of(lanes), (WAVE,))
        result[targets[self.active]] = array[self.active]
        return Lanes(value.kind, result)

    def pick(self, value: Value, lane: Value) -> Value:
        """Return the value of one lane as a scalar."""
        array = np.broadcast_to(array_of(value), (WAVE,))
        return Lanes(value.kind, array[array_of(lane)])

    def write_lane(self, operand: Operand, value: Value, lane: Value) -> None:
        """Write a scalar to one lane."""
        self.file(operand)[operand.index, array_of(lane)] = array_of(value)
