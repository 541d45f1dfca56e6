"""Registers that know which of their bits nothing wrote, and what undefined bits decide without memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import BOOL, Kind, Value
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import EXEC, SCC, VCC, VCCZ, Instruction, MatrixBits, Operand, RegisterFile
from rocmatrix.emulator.memory import LocalMemory, Memory
from rocmatrix.emulator.observer import Observer
from rocmatrix.emulator.registers import Bools, array_of
from rocmatrix.emulator.reports import WaveId
from rocmatrix.emulator.semantics.machine import WAVE
from rocmatrix.emulator.semantics.matrix import MATRIX
from rocmatrix.emulator.shadow.matrix import Words, undefined_results
from rocmatrix.emulator.shadow.origin import Findings, Origin
from rocmatrix.emulator.shadow.registers import RegisterShadow
from rocmatrix.emulator.shadow.rules import undefined_dtype
from rocmatrix.emulator.shadow.values import Shadowed, defined, origin_of, undefined_of
from rocmatrix.emulator.wave import Wave

_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


class WaveParts(TypedDict):
    """What a wave is made of; see ``Wave``."""

    identity: WaveId
    kernel: str
    mode: Mode
    pc: int
    lds: LocalMemory
    scratch: LocalMemory
    memory: Memory
    observer: Observer | None


class RegisterTracking(Wave):
    """The register half of a tracked wave: what the reference does, and the undefined bits beside it.

    Attributes:
        shadow: undefined bits of the registers.
        findings: where undefined bits mattered.
    """

    def __init__(self, *, findings: Findings, **wave: Unpack[WaveParts]) -> None:
        """Start with all registers undefined but for EXEC; whoever dispatches defines those that it sets."""
        super().__init__(**wave)
        self.findings = findings
        self.shadow = RegisterShadow()
        self.shadow.sgprs[EXEC : EXEC + 2] = 0

    # -- what undefined bits decide ------------------------------------------------------------------------------

    def matters(self, value: Value, subject: str, lanes: Bools | None = None, addresses: Array | None = None) -> None:
        """Report a value with undefined bits, in some lanes only where those are given."""
        undefined = undefined_of(value)
        if undefined is None:
            return
        some = undefined if undefined.dtype == np.bool_ else undefined != 0
        each = np.broadcast_to(some, (WAVE,)) & (True if lanes is None else lanes)
        if not each.any():
            return
        first = int(each.argmax())
        lane = first if len(some) == WAVE else None
        address = None if addresses is None else int(np.broadcast_to(addresses, (WAVE,))[first])
        self.findings.report(self, subject, origin_of(value), lane=lane, address=address)

    def decided(self, value: Value, what: str) -> int:
        """Return a scalar that decides how the wave goes on."""
        self.matters(value, what)
        return super().decided(value, what)

    def require(self, condition: Value, what: str) -> None:
        """Refuse to go on where a condition does not hold."""
        self.matters(condition, "whether the access can be modelled", self.active)
        super().require(condition, what)

    # -- values --------------------------------------------------------------------------------------------------

    def constant(self, kind: Kind, number: float) -> Value:
        """Return a constant."""
        return defined(super().constant(kind, number))

    def lane_numbers(self) -> Value:
        """Return 0 to 63."""
        return defined(super().lane_numbers())

    def static_mask(self, lanes: Sequence[bool]) -> Value:
        """Return a mask that is known from the instruction."""
        return defined(super().static_mask(lanes))

    def read(self, operand: Operand, kind: Kind) -> Value:
        """Return registers as one value."""
        array = array_of(super().read(operand, kind))
        index, count = operand.index, kind.registers
        if operand.file is RegisterFile.SGPR:
            words = self.shadow.sgprs[index : index + count]
            if not words.any():
                return Shadowed(kind, array)
            first = index + int(words.astype(np.bool_).argmax())
            return Shadowed(kind, array, words.copy().view(undefined_dtype(kind)), self.shadow.scalar_origin(first))
        file = self.shadow.file(operand.file)
        parts = [file.read(number) for number in range(index, index + count)]
        touched = next((number for number, part in enumerate(parts, index) if part is not None), None)
        if touched is None:
            return Shadowed(kind, array)
        low, *rest = [np.zeros(WAVE, dtype=np.uint32) if part is None else part for part in parts]
        undefined: Array = low.astype(np.uint64) | rest[0].astype(np.uint64) << _WORD if rest else low
        return Shadowed(kind, array, undefined, file.origin(touched))

    def special(self, index: int, kind: Kind) -> Value:
        """Return apertures and conditions."""
        array = array_of(super().special(index, kind))
        one = undefined_dtype(kind).type(1)
        if index == SCC and self.shadow.scc:
            return Shadowed(kind, array, np.array([one]), self.shadow.scalar_origin(SCC))
        undefined = self.shadow.sgprs[VCC : VCC + 2]
        if index == VCCZ and undefined.any() and not (self.sgprs[VCC : VCC + 2] & ~undefined).any():
            origin = self.shadow.scalar_origin(VCC if undefined[0] else VCC + 1)
            return Shadowed(kind, array, np.array([one]), origin)
        return Shadowed(kind, array)

    def write(self, operand: Operand, value: Value, lanes: Value | None = None) -> None:
        """Write registers."""
        undefined, origin, count = undefined_of(value), origin_of(value), value.kind.registers
        if operand.file is RegisterFile.SGPR:
            words = np.zeros(count, np.uint32) if undefined is None else undefined.view(np.uint32)
            self._write_scalars(operand.index, words, origin)
            super().write(operand, value, lanes)
            return
        where = self.active if lanes is None else self.active & array_of(lanes)
        super().write(operand, value, lanes)
        for number in range(count):
            part = undefined
            if undefined is not None and count > 1:
                part = (undefined >> _WORD * np.uint64(number) & _LOW).astype(np.uint32)
            self.shadow.file(operand.file).write(operand.index + number, part, origin, where)

    def _write_scalars(self, index: int, undefined: Words, origin: Origin | None) -> None:
        for number, bits in enumerate(undefined.tolist(), index):
            if bits and number >= EXEC:
                self.findings.report(self, "which lanes are active", origin)
                bits = 0  # noqa: PLW2901 - what follows from it would be reported everywhere
            self.shadow.sgprs[number] = bits
            if bits and origin is not None:
                self.shadow.scalar_origins[number] = origin

    def read_mask(self, operand: Operand) -> Value:
        """Return a lane mask from two SGPRs."""
        array = array_of(super().read_mask(operand))
        if operand.file is not RegisterFile.SGPR or not self.shadow.sgprs[operand.index : operand.index + 2].any():
            return Shadowed(BOOL, array)
        words = self.shadow.sgprs[operand.index : operand.index + 2]
        undefined = np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_)
        return Shadowed(BOOL, array, undefined, self.shadow.scalar_origin(operand.index + (0 if words[0] else 1)))

    def write_mask(self, operand: Operand, value: Value) -> None:
        """Write a lane mask to two SGPRs."""
        self._write_scalars(operand.index, self._packed(value, self.active).view(np.uint32), origin_of(value))
        super().write_mask(operand, value)

    def _packed(self, mask: Value, among: Bools) -> Array:
        """Return the undefined lanes of a mask as bits."""
        undefined = undefined_of(mask)
        lanes = np.zeros(WAVE, np.bool_) if undefined is None else np.broadcast_to(undefined, (WAVE,)) & among
        return np.packbits(lanes, bitorder="little")

    def mask_bits(self, mask: Value) -> Value:
        """Return a lane mask as a scalar."""
        value = super().mask_bits(mask)
        undefined = self._packed(mask, np.ones(WAVE, np.bool_)).view(np.uint64)
        return Shadowed(value.kind, array_of(value), undefined, origin_of(mask))

    def read_scc(self) -> Value:
        """Return SCC."""
        value = super().read_scc()
        return Shadowed(BOOL, array_of(value), np.array([self.shadow.scc]), self.shadow.scalar_origin(SCC))

    def write_scc(self, value: Value) -> None:
        """Set SCC."""
        undefined, origin = undefined_of(value), origin_of(value)
        self.shadow.scc = undefined is not None
        if origin is not None:
            self.shadow.scalar_origins[SCC] = origin
        super().write_scc(value)

    def read_exec(self) -> Value:
        """Return the active lanes."""
        return defined(super().read_exec())

    def write_exec(self, value: Value) -> None:
        """Set the active lanes among those that are active."""
        self.matters(value, "which lanes are active", self.active)
        super().write_exec(value)

    # -- lanes ---------------------------------------------------------------------------------------------------

    def permute(self, value: Value, lanes: Value) -> Value:
        """Return for each lane the value of another one; an undefined lane number gives an undefined value."""
        moved = super().permute(value, lanes)
        from_lanes = np.broadcast_to(array_of(lanes), (WAVE,))
        return self._moved(value, moved, lanes, lambda undefined: undefined[from_lanes])

    def scatter(self, value: Value, lanes: Value) -> Value:
        """Return the values of active lanes moved to other lanes."""
        moved = super().scatter(value, lanes)
        targets = np.broadcast_to(array_of(lanes), (WAVE,))
        wrong = undefined_of(lanes)
        if wrong is not None and (np.broadcast_to(wrong != 0, (WAVE,)) & self.active).any():
            return Shadowed(value.kind, array_of(moved), _whole(value.kind), origin_of(lanes))

        def placed(undefined: Array) -> Array:
            result = np.zeros_like(undefined)
            result[targets[self.active]] = undefined[self.active]
            return result

        return self._moved(value, moved, defined(lanes), placed)

    def _moved(self, value: Value, moved: Value, lanes: Value, move: Callable[[Array], Array]) -> Value:
        undefined, wrong = undefined_of(value), undefined_of(lanes)
        array = array_of(moved)
        if undefined is None and wrong is None:
            return Shadowed(value.kind, array)
        dtype = undefined_dtype(value.kind)
        bits = np.zeros(WAVE, dtype) if undefined is None else move(np.broadcast_to(undefined, (WAVE,)))
        if wrong is not None:
            bits = np.where(wrong != 0, _whole(value.kind), bits)
        return Shadowed(value.kind, array, bits, origin_of(value) or origin_of(lanes))

    def pick(self, value: Value, lane: Value) -> Value:
        """Return the value of one lane as a scalar."""
        self.matters(lane, "which lane is read")
        picked = super().pick(value, lane)
        undefined = undefined_of(value)
        bits = None if undefined is None else np.broadcast_to(undefined, (WAVE,))[array_of(lane)]
        return Shadowed(value.kind, array_of(picked), bits, origin_of(value))

    def write_lane(self, operand: Operand, value: Value, lane: Value) -> None:
        """Write a scalar to one lane."""
        self.matters(lane, "which lane is written")
        super().write_lane(operand, value, lane)
        where = np.arange(WAVE) == int(array_of(lane)[0])
        self.shadow.file(operand.file).write(operand.index, undefined_of(value), origin_of(value), where)

    def matrix(self, instruction: Instruction) -> None:
        """Execute a matrix instruction; it reads and writes all lanes."""
        operation = MATRIX[instruction.name]
        touched = [operand for operand in instruction.sources if operand.is_vector and self._undefined_in(operand)]
        undefined = None
        if touched:
            counts = zip(instruction.sources, operation.registers, strict=True)
            a, b, c = (self._bits(operand, count) for operand, count in counts)
            undefined = undefined_results(operation, instruction.matrix or MatrixBits(), a, b, c)
        origin = self._origin(touched[0]) if touched else None
        super().matrix(instruction)
        destination, everywhere = instruction.destinations[0], np.ones(WAVE, np.bool_)
        for number in range(operation.registers[2]):
            part = undefined[number] if undefined is not None and undefined[number].any() else None
            self.shadow.file(destination.file).write(destination.index + number, part, origin, everywhere)

    def _undefined_in(self, operand: Operand) -> bool:
        lanes = self.shadow.file(operand.file).lanes[operand.index : operand.index + operand.count]
        return bool(lanes.any())

    def _origin(self, operand: Operand) -> Origin:
        file = self.shadow.file(operand.file)
        lanes = file.lanes[operand.index : operand.index + operand.count]
        return file.origin(operand.index + int((lanes != 0).argmax()))

    def _bits(self, operand: Operand, count: int) -> Words:
        if not operand.is_vector:
            return np.zeros((count, WAVE), dtype=np.uint32)
        return self.shadow.file(operand.file).bits[operand.index : operand.index + operand.count]


def _whole(kind: Kind) -> Array:
    return np.full(WAVE, (1 << kind.bits) - 1, dtype=undefined_dtype(kind))
