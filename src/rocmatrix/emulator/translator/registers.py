"""Registers of a wave while code for it is written: what they hold by now, and which of them must be stored."""

from __future__ import annotations

from collections.abc import Sequence

from rocmatrix.emulator.algebra import BOOL, U32, U64, Kind, Op, Value, bitcast, convert, where
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import EXEC, EXECZ, SCC, VCC, VCCZ, Operand, RegisterFile
from rocmatrix.emulator.registers import APERTURES
from rocmatrix.emulator.semantics.operands import integer_constant
from rocmatrix.emulator.translator.body import Body, Expression, expression

_WORD = 32
_FILES = {RegisterFile.VGPR: "v", RegisterFile.AGPR: "a"}


class Untranslatable(Exception):  # noqa: N818 - no error of anybody: the reference executes the instruction
    """An instruction that generated code does not execute."""


class Registers:
    """The register half of the translator's ``Machine``.

    Vector registers are cached within one region and stored at its end; scalar ones for the whole block.
    """

    def __init__(self, body: Body, mode: Mode) -> None:
        """Write into a body; MODE is what it is when the code runs."""
        self.body = body
        self._mode = mode
        self._scalars: dict[int, Expression] = {}
        self._pairs: dict[int, Expression] = {}
        self._masks: dict[int, Expression] = {}
        self._written: set[int] = set()
        self._scc: Expression | None = None
        self._scc_written = False
        self._vectors: dict[tuple[str, int], Expression] = {}
        self._vectors_written: set[tuple[str, int]] = set()
        body.before_new_region = self._store_vectors

    @property
    def mode(self) -> Mode:
        """The MODE register."""
        return self._mode

    def constant(self, kind: Kind, number: float) -> Expression:
        """Return a constant."""
        return self.body.constant(kind, number)

    def lane_numbers(self) -> Expression:
        """Return 0 to 63."""
        return self.body.on_lanes(U32, "lane_numbers(g)")

    def static_mask(self, lanes: Sequence[bool]) -> Expression:
        """Return a mask that is known from the instruction."""
        return self.body.lanes_of(self.constant(U64, sum(1 << lane for lane, isset in enumerate(lanes) if isset)))

    def read(self, operand: Operand, kind: Kind) -> Value:
        """Return registers as one value of 32 or 64 bits."""
        index = operand.index
        if operand.file is RegisterFile.SGPR:
            return bitcast(self._pair(index) if kind.bits > _WORD else self._scalar(index), kind)
        name = self.file(operand)
        if kind.bits == _WORD:
            return bitcast(self._vector(name, index), kind)
        low, high = (convert(self._vector(name, number), U64) for number in (index, index + 1))
        return bitcast(low | high << _WORD, kind)

    def file(self, operand: Operand) -> str:
        """Return the name of the vector registers that an operand counts in.

        Raises:
            Untranslatable: it is no vector register.
        """
        if operand.file not in _FILES:
            raise Untranslatable(f"a vector operand in {operand.file.name}")
        return _FILES[operand.file]

    def _scalar(self, index: int) -> Expression:
        found = self._scalars.get(index)
        if found is None:
            found = self._scalars[index] = self.body.scalar(U32, f"W->s[{index}]")
        return found

    def _pair(self, index: int) -> Expression:
        found = self._pairs.get(index)
        if found is None:
            low, high = convert(self._scalar(index), U64), convert(self._scalar(index + 1), U64)
            found = self._pairs[index] = expression(low | high << _WORD)
        return found

    def _vector(self, name: str, index: int) -> Expression:
        found = self._vectors.get((name, index))
        if found is None:
            found = self.body.on_lanes(U32, f"((const v_u32*)W->{name}[{index}])[g]")
            self._vectors[name, index] = found  # a new region may have begun
        return found

    def special(self, index: int, kind: Kind) -> Value:
        """Return apertures and conditions."""
        if index in APERTURES:
            return self.constant(kind, APERTURES[index])
        conditions = {VCCZ: lambda: self._pair(VCC) == 0, EXECZ: lambda: self._pair(EXEC) == 0, SCC: self.read_scc}
        return convert(conditions[index](), kind)

    def write(self, operand: Operand, value: Value, lanes: Value | None = None) -> None:
        """Write registers: scalar ones, or vector ones in active lanes."""
        bits = expression(bitcast(value, U64 if value.kind.bits > _WORD else U32))
        if operand.file is RegisterFile.SGPR:
            self._write_scalar(operand.index, bits)
            return
        name = self.file(operand)
        parts = (
            [bits] if bits.kind is U32 else [expression(convert(bits, U32)), expression(convert(bits >> _WORD, U32))]
        )
        for number, part in enumerate(parts):
            chosen = None if lanes is None else expression(lanes)
            self.body.reach(self.exec_bits(), part, *(() if chosen is None else (chosen,)))
            mask: Value = self.read_exec() if chosen is None else self.read_exec() & chosen
            self._write_vector(name, operand.index + number, part, mask)

    def _write_vector(self, name: str, index: int, value: Expression, mask: Value) -> None:
        old = self._vector(name, index)
        self._vectors[name, index] = expression(where(mask, value, old))
        self._vectors_written.add((name, index))

    def _write_scalar(self, index: int, value: Expression) -> None:
        if value.lanes:
            raise Untranslatable("a scalar register gets a value of lanes")
        words = (
            [value]
            if value.kind is U32
            else [expression(convert(value, U32)), expression(convert(value >> _WORD, U32))]
        )
        for number, word in enumerate(words, index):
            self._scalars[number] = word
            self._written.add(number)
            for first in (number - 1, number):
                self._pairs.pop(first, None)
                self._masks.pop(first, None)
        if value.kind is U64:
            self._pairs[index] = value

    def exec_bits(self) -> Expression:
        """Return EXEC as a scalar."""
        return self._pair(EXEC)

    def read_exec(self) -> Expression:
        """Return the active lanes."""
        return self.body.lanes_of(self.exec_bits())

    def write_exec(self, value: Value) -> None:
        """Set the active lanes among those that are active."""
        self._write_scalar(EXEC, expression(self.mask_bits(value) & self.exec_bits()))

    def read_mask(self, operand: Operand) -> Expression:
        """Return a lane mask from two SGPRs, or an integer constant of 64 bits."""
        if operand.file is RegisterFile.CONSTANT:
            number = integer_constant(operand.index)
            if number is None:
                raise Untranslatable("a lane mask that is a float")
            return self.body.lanes_of(self.constant(U64, number))
        kept = self._masks.get(operand.index)
        if kept is not None and kept.ready[0] == self.body.current:
            return kept
        return self.body.lanes_of(self._pair(operand.index))

    def write_mask(self, operand: Operand, value: Value) -> None:
        """Write a lane mask to two SGPRs; bits of inactive lanes become zero."""
        mask = expression(value)
        active = self.exec_bits()
        self._write_scalar(operand.index, expression(self.mask_bits(mask) & active))
        if mask.lanes and mask.ready[0] == self.body.current:
            self.body.reach(active)
            self._masks[operand.index] = expression(mask & self.body.lanes_of(active))

    def mask_bits(self, mask: Value) -> Expression:
        """Return a lane mask as a scalar."""
        return self.body.bits_of(expression(mask))

    def read_scc(self) -> Expression:
        """Return SCC."""
        if self._scc is None:
            self._scc = self.body.scalar(BOOL, "(s_bool)W->scc")
        return self._scc

    def write_scc(self, value: Value) -> None:
        """Set SCC."""
        self._scc = expression(value)
        self._scc_written = True

    def _store_vectors(self) -> None:
        for name, index in sorted(self._vectors_written):
            self.body.store_lanes(f"((v_u32*)W->{name}[{index}])[g] = {{0}}", self._vectors[name, index])
        self._vectors.clear()
        self._vectors_written.clear()

    def store_all(self) -> None:
        """Write everything back that is not yet in the wave."""
        self.body.new_region()
        for index in sorted(self._written):
            self.body.in_order(f"W->s[{index}] = {{0}}", self._scalars[index])
        if self._scc_written and self._scc is not None:
            self.body.in_order("W->scc = {0}", self._scc)
        self._written.clear()
        self._scc_written = False

    def permute(self, value: Value, lanes: Value) -> Value:
        """Return for each lane the value of another one."""
        source, chosen = expression(value), expression(lanes)
        if not source.lanes:
            return source
        if not chosen.lanes:
            return self.pick(source, chosen)
        words = expression(bitcast(source, _words(source.kind)))
        self.body.reach(chosen)
        moved = self.body.on_lanes(words.kind, f"gather_{words.kind.label}({{0}}, {{1}})", words, chosen, arrays=[0])
        return bitcast(moved, source.kind)

    def scatter(self, value: Value, lanes: Value) -> Value:
        """Return the values of active lanes moved to other lanes."""
        words = self.body.spread(expression(bitcast(value, _words(value.kind))))
        chosen = self.body.spread(expression(lanes))
        label = words.kind.label
        name = self.body.fresh("sc")
        self.body.declarations.append(f"ALIGNED s_{label} {name}[LANES];")
        self.body.in_order(
            f"scatter_{label}({{0}}, {{1}}, {{2}}, {name})", words, chosen, self.exec_bits(), arrays=[0, 1]
        )
        return bitcast(self.body.array(words.kind, name), value.kind)

    def pick(self, value: Value, lane: Value) -> Value:
        """Return the value of one lane as a scalar."""
        source, number = expression(value), expression(lane)
        if number.lanes:
            raise Untranslatable("the number of a lane differs between lanes")
        return self.body.scalar(source.kind, "{0}[{1} & 63]", source, number, arrays=[0]) if source.lanes else source

    def write_lane(self, operand: Operand, value: Value, lane: Value) -> None:
        """Write a scalar to one lane."""
        word, number = expression(bitcast(value, U32)), expression(lane)
        self.body.reach(word, number)
        mask = self.body.apply(Op.EQ, (self.lane_numbers(), number), BOOL)
        self._write_vector(self.file(operand), operand.index, word, mask)


def _words(kind: Kind) -> Kind:
    return U64 if kind.bits > _WORD else U32
