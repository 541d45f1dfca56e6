"""A ``Machine`` over terms: one lane of one wave, of which nothing is known, stands for every lane of every wave.

What depends on other lanes (masks as scalars, permutations, matrix products) or on memory is a symbol for each distinct
list of operands: the same operands in all lanes give the same value, and nothing else is said of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from rocmatrix.emulator.algebra import BOOL, U32, U64, Kind, Value, bitcast
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import EXEC, EXECZ, SCC, VCC, VCCZ, Instruction, Operand, RegisterFile
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics
from rocmatrix.emulator.semantics.access import WHOLE, write_now
from rocmatrix.emulator.semantics.machine import Combine, Space
from rocmatrix.emulator.semantics.operands import constant_operand
from tests.mutation.simplified import simplified
from tests.mutation.symbolic_registers import SCC_PLACE, SymbolicRegisters
from tests.mutation.symbols import LANES, Event
from tests.mutation.terms import Term, constant, is_quiet

_VECTORS = (RegisterFile.VGPR, RegisterFile.AGPR)


class SymbolicMachine(SymbolicRegisters):
    """What semantics ask of a machine."""

    # -- what semantics ask ------------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        """The MODE register."""
        return self._mode

    @property
    def numerics(self) -> Numerics:
        """How arithmetic is done where that is not documented to the last bit."""
        return DEFAULT_NUMERICS

    def constant(self, kind: Kind, number: float) -> Term:
        """Return a constant."""
        return constant(kind, number, self._symbols.facts)

    def lane_numbers(self) -> Term:
        """Return the lane's number."""
        return self._term(U32, z3.Extract(31, 0, self._symbols.lane))

    def static_mask(self, lanes: Sequence[bool]) -> Term:
        """Return a mask that is known from the instruction."""
        bits = sum(1 << number for number, lane in enumerate(lanes) if lane)
        return self._term(BOOL, self._bit(z3.BitVecVal(bits, LANES)))

    def read(self, operand: Operand, kind: Kind) -> Value:
        """Return registers as one value."""
        word = self.word((operand.file, operand.index))
        if kind.bits == LANES:
            word = z3.Concat(self.word((operand.file, operand.index + 1)), word)
        unsigned = self._term(U64 if kind.bits == LANES else U32, simplified(word))
        return bitcast(unsigned, kind)

    def special(self, index: int, kind: Kind) -> Value:
        """Return a read-only source."""
        if index == SCC:
            word = self.word(SCC_PLACE)
        elif index in (VCCZ, EXECZ):
            word = z3.If(self._pair(VCC if index == VCCZ else EXEC) == 0, z3.BitVecVal(1, 32), z3.BitVecVal(0, 32))
        else:
            word = z3.BitVec(f"{self.generation} special{index}_{kind.bits}", 32)
        wide = z3.ZeroExt(kind.bits - 32, word) if kind.bits > word.size() else word
        return bitcast(self._term(U64 if kind.bits == LANES else U32, wide), kind)

    def write(self, operand: Operand, value: Value, lanes: Value | None = None) -> None:
        """Write registers."""
        word = _of(value)
        parts = [word] if word.size() <= 32 else [z3.Extract(31, 0, word), z3.Extract(63, 32, word)]
        for number, part in enumerate(parts):
            place = (operand.file, operand.index + number)
            if operand.file in _VECTORS:
                writes = self._active() if lanes is None else simplified(z3.And(self._active(), _of(lanes)))
                assumed = self._symbols.assumed
                new, old = assumed.where(writes, part), assumed.where(z3.Not(writes), self.word(place))
                self.registers[place] = simplified(z3.If(writes, new, old))
            else:
                self.registers[place] = simplified(part)

    def read_mask(self, operand: Operand) -> Term:
        """Return the lane's bit of two SGPRs."""
        if operand.file is RegisterFile.CONSTANT:
            return self._term(BOOL, self._bit(_of(constant_operand(self, _NOTHING, operand.index, U64))))
        return self._term(BOOL, self._bit(self._pair(operand.index)))

    def write_mask(self, operand: Operand, value: Value) -> None:
        """Write a mask."""
        self._set_pair(operand.index, self._mask(z3.And(self._active(), _of(value))))

    def read_scc(self) -> Term:
        """Return SCC."""
        return self._term(BOOL, simplified(self.word(SCC_PLACE) != 0))

    def write_scc(self, value: Value) -> None:
        """Set SCC."""
        self.registers[SCC_PLACE] = simplified(z3.If(_of(value), z3.BitVecVal(1, 32), z3.BitVecVal(0, 32)))

    def read_exec(self) -> Term:
        """Return whether the lane is active."""
        return self._term(BOOL, self._active())

    def write_exec(self, value: Value) -> None:
        """Set the active lanes."""
        self._set_pair(EXEC, self._mask(z3.And(self._active(), _of(value))))

    def permute(self, value: Value, lanes: Value) -> Term:
        """Return another lane's value."""
        return self._term(value.kind, self._moved("permute", _of(value), _of(lanes)))

    def scatter(self, value: Value, lanes: Value) -> Term:
        """Return the value moved to other lanes."""
        operands = (_of(value), _of(lanes), self._pair(EXEC))
        return self._term(value.kind, self._opaque("scatter", operands, [value.kind.bits])[0])

    def pick(self, value: Value, lane: Value) -> Term:
        """Return one lane's value."""
        return self._term(value.kind, self._moved("pick", _of(value), _of(lane)))

    def write_lane(self, operand: Operand, value: Value, lane: Value) -> None:
        """Write one lane."""
        place = (operand.file, operand.index)
        here = z3.Extract(31, 0, self._symbols.lane) == _of(lane)
        self.registers[place] = simplified(z3.If(here, _of(value), self.word(place)))

    def mask_bits(self, mask: Value) -> Term:
        """Return a mask as a scalar."""
        return self._term(U64, self._mask(_of(mask)))

    def require(self, condition: Value, what: str) -> None:
        """Note a condition."""
        met = z3.If(_of(condition), z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        self.events.append(Event(f"require {what}", self._active(), (met,)))

    def load(self, space: Space, address: Value, size: int, lanes: Value | None = None) -> tuple[Value, ...]:
        """Load."""
        happens = self._access(f"load {space} {size}", lanes, (_of(address),))
        words = [self._loaded(_of(address), number) for number in range(max(1, size // 4))]
        if space is Space.LDS and self._symbols.facts.lds_is_quiet:
            self._symbols.facts.all += [is_quiet(word, 32) for word in words]
        if size < 4:  # part of a word
            words = [words[0] & ((1 << 8 * size) - 1)]
        return tuple(self._term(U32, simplified(z3.If(happens, word, z3.BitVecVal(0, 32)))) for word in words)

    def store(
        self, space: Space, address: Value, values: Sequence[Value], size: int, lanes: Value | None = None
    ) -> None:
        """Store."""
        words = tuple(_of(value) for value in values)
        if size < 4:  # part of a word
            words = (z3.Extract(8 * size - 1, 0, words[0]),)
        self._access(f"store {space} {size}", lanes, (_of(address), *words))

    def atomic(
        self,
        space: Space,
        address: Value,
        kind: Kind,
        combine: Combine,
        data: Sequence[Value],
        *,
        lanes: Value | None = None,
    ) -> Term:
        """Replace memory; what was there depends on all lanes, which do the same in both programs or are told apart."""
        del combine  # the instruction's, which is part of the event by its place
        self._access(f"atomic {space} {kind.label}", lanes, (_of(address), *(_of(value) for value in data)))
        return self._term(kind, z3.BitVec(f"{self.generation} atomic{self.accesses}", kind.bits))

    def load_scalar(self, address: Value, count: int) -> tuple[Value, ...]:
        """Load for the whole wave."""
        self.accesses += 1
        self.events.append(Event(f"scalar load {count}", z3.BoolVal(val=True), (_of(address),)))
        return tuple(self._term(U32, self._loaded(_of(address), number)) for number in range(count))

    def load_scalar_or_zero(self, address: Value, inside: Value) -> Term:
        """Load one register or zero."""
        self.accesses += 1
        self.events.append(Event("scalar load 1", _of(inside), (_of(address),)))
        return self._term(U32, z3.If(_of(inside), self._loaded(_of(address), 0), z3.BitVecVal(0, 32)))

    def deliver(self, destination: Operand, values: Sequence[Value], bits: int = WHOLE) -> None:
        """Write what an access found; when it arrives makes no difference to code that waits for it."""
        write_now(self, destination, values, bits)

    def deliver_to_lds(self, address: Value, values: Sequence[Value]) -> None:
        """Store a dword that a load found in LDS."""
        self.store(Space.LDS, address, values, 4)

    def matrix(self, instruction: Instruction) -> None:
        """Execute a matrix instruction: the same operands in all lanes give the same result."""
        operands: list[z3.ExprRef] = []
        for operand in instruction.sources:
            if operand.file in _VECTORS:
                operands += [self.word((operand.file, operand.index + number)) for number in range(operand.count)]
            else:
                operands.append(z3.BitVecVal(operand.index, 32))
        destination = instruction.destinations[0]
        name = f"{instruction.name} {instruction.matrix} {[operand.count for operand in instruction.sources]}"
        results = self._opaque(name, tuple(operands), [32] * destination.count)
        for number, result in enumerate(results):
            self.registers[destination.file, destination.index + number] = result

    # -- parts -------------------------------------------------------------------------------------------------------

    def _access(self, what: str, lanes: Value | None, words: tuple[z3.BitVecRef, ...]) -> z3.BoolRef:
        happens = self._active() if lanes is None else simplified(z3.And(self._active(), _of(lanes)))
        self.accesses += 1
        there = tuple(self._symbols.assumed.where(happens, word) for word in words)
        self.events.append(Event(what, happens, there, words))
        return happens

    def _loaded(self, address: z3.BitVecRef, number: int) -> z3.BitVecRef:
        return self._symbols.facts.unknown(f"memory{self.generation}_{self.accesses}_{number}", (address,), 32)


_NOTHING = Instruction(address=0, size=0, name="", encoding=None)  # type: ignore[arg-type]


def _of(value: Value) -> z3.ExprRef:
    assert isinstance(value, Term)
    return value.term
