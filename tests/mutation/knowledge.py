"""What dataflow has proved of registers, as terms for a symbolic machine that begins somewhere in the code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import z3

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_AGPR, FIRST_VGPR, registers_of
from rocmatrix.emulator.instruction import Instruction, RegisterFile
from rocmatrix.emulator.interpreter import handler_of
from tests.mutation.bounds import Bounds
from tests.mutation.fact_kinds import Compared, Fact, Known, Lanes, Made, Result, State, made_key
from tests.mutation.symbolic import SymbolicMachine
from tests.mutation.symbolic_registers import Place
from tests.mutation.symbols import LANES, Symbols
from tests.mutation.terms import is_quiet

_ALL_BITS = 0xFFFFFFFF
_LANE_BITS = LANES - 1
"""Of a work item's number: a whole wave is of as many neighbours, the first of which is a multiple of it."""
_FILES = ((FIRST_AGPR, RegisterFile.AGPR), (FIRST_VGPR, RegisterFile.VGPR), (0, RegisterFile.SGPR))


class Knowledge:
    """Gives machines what is known at a place."""

    def __init__(
        self,
        instructions: Mapping[int, Instruction],
        facts: Mapping[int, State],
        bounds: Mapping[int, Bounds],
        symbols: Symbols,
        work_items: int,
    ) -> None:
        """Take what is known.

        Args:
            instructions: of the code, by address.
            facts: before each instruction.
            bounds: before each instruction.
            symbols: of the proof.
            work_items: of a workgroup, along its only axis: v0 is less.
        """
        self._instructions = instructions
        self._facts = facts
        self._bounds = bounds
        self._symbols = symbols
        self._work_items = work_items

    def give(self, place: int, machine: SymbolicMachine) -> None:
        """Give a machine that begins at a place what is known there."""
        facts = self._symbols.facts.all
        known = self._facts.get(place, {})
        facts += self._made(known, machine)
        for register, fact in known.items():
            if isinstance(fact, Made):
                continue
            where = _place_of(register)
            if isinstance(fact, int):
                machine.registers[where] = z3.BitVecVal(fact, 32)
            elif fact is Known.QUIET:
                facts.append(is_quiet(machine.word(where), 32))
            elif fact is Known.WORK_ITEM:
                facts.append(z3.ULT(machine.word(where), self._work_items))
                if self._work_items % LANES == 0:
                    self._symbols.facts.are_uniform(machine.word(where), ~_LANE_BITS & _ALL_BITS)
            elif isinstance(fact, Result):
                machine.registers[where] = self._result(fact, machine.generation)
            elif isinstance(fact, Compared):  # pairs begin at even numbers
                machine.registers[where] = self._compared(fact, machine.generation)[register % 2]
            else:
                machine.registers[where] = self._lanes(fact, register % 2, machine.generation)
        self.bound(place, machine, [_place_of(register) for register in self._bounds.get(place, {})])

    def bound(self, place: int, machine: SymbolicMachine, registers: Iterable[Place]) -> None:
        """Note how large registers of the original can be at a place; of others nothing is known."""
        bounds = self._bounds.get(place, {})
        for each in registers:
            bound = bounds.get(register_of(each))
            word = machine.word(each)
            if bound is not None and not z3.is_bv_value(word):
                unset = bound.bits ^ _ALL_BITS
                self._symbols.facts.all += [z3.ULE(word, bound.largest), word & unset == 0]

    def _made(self, known: State, machine: SymbolicMachine) -> list[z3.BoolRef]:
        """Return what is known of results that registers hold, and of those they were made of."""
        said, seen = list[z3.BoolRef](), set[Result]()
        waiting = [fact for fact in known.values() if isinstance(fact, Result)]
        while waiting:
            result = waiting.pop()
            made = known.get(made_key(result.place))
            if result in seen or result.part or not isinstance(made, Made):
                continue
            seen.add(result)
            waiting += [each for each in made.operands if isinstance(each, Result)]
            said.append(self._result(result, machine.generation) == self._executed(made, machine))
        return said

    def _executed(self, made: Made, machine: SymbolicMachine) -> z3.BitVecRef:
        """Return what an instruction gives to its register, where all lanes are active."""
        instruction, alone = self._instructions[made.place], machine.copy()
        for half in sorted(EXEC_PAIR):
            alone.registers[_place_of(half)] = z3.BitVecVal(-1, 32)
        for operand, fact in zip(instruction.sources, made.operands, strict=True):
            for register in registers_of(operand):
                term = self._result(fact, machine.generation) if isinstance(fact, Result) else z3.BitVecVal(fact, 32)
                alone.registers[_place_of(register)] = term
        handler_of(instruction)(alone, instruction)  # type: ignore[arg-type]  # stands for a wave
        (register,) = registers_of(instruction.destinations[0])
        return alone.word(_place_of(register))

    @staticmethod
    def _result(fact: Result, generation: int) -> z3.BitVecRef:
        return z3.BitVec(f"{generation} {fact}", 32)

    def _compared(self, fact: Compared, generation: int) -> tuple[z3.BitVecRef, z3.BitVecRef]:
        """Return both halves of a mask, and note what its bits say."""
        low, high = (z3.BitVec(f"{generation} {fact} {half}", 32) for half in range(2))
        bit = z3.Extract(0, 0, z3.LShR(z3.Concat(high, low), self._symbols.lane)) == 1
        constant, result = z3.BitVecVal(fact.constant, 32), self._result(fact.result, generation)
        self._symbols.facts.all.append(bit == _holds(fact.name, constant, result))
        return low, high

    def _lanes(self, fact: Fact, half: int, generation: int) -> z3.BitVecRef:
        """Return half of a mask, the same symbol for the same lanes, and note what it is a part of."""
        made = z3.BitVec(f"{generation} {fact} {half}", 32)
        if not isinstance(fact, Lanes):
            return z3.BitVecVal(-1, 32) if self._work_items % LANES == 0 else made
        around = self._lanes(fact.within, half, generation)
        self._symbols.facts.all.append(made & ~around == 0)
        if fact.others:
            stay = self._lanes(replace(fact, others=False), half, generation)
            self._symbols.facts.all.append(made == around & ~stay)
        return made


def _holds(name: str, one: z3.BitVecRef, other: z3.BitVecRef) -> z3.BoolRef:
    """Return an integer comparison as the instruction makes it."""
    condition, kind = name.removeprefix("v_cmp_").split("_")
    if condition in ("eq", "ne"):
        return one == other if condition == "eq" else one != other
    signed = {"lt": one < other, "le": one <= other, "gt": one > other, "ge": one >= other}
    unsigned = {"lt": z3.ULT, "le": z3.ULE, "gt": z3.UGT, "ge": z3.UGE}
    return signed[condition] if kind == "i32" else unsigned[condition](one, other)


def _place_of(register: int) -> Place:
    first, file = next((first, file) for first, file in _FILES if register >= first)
    return file, register - first


def register_of(place: Place) -> int:
    """Return a register's number in ``analysis.effects``."""
    file, index = place
    return next(first for first, each in _FILES if each is file) + index
