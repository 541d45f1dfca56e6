"""Two programs that differ in one instruction, executed side by side over terms: a proof that nobody tells them apart.

Both start where control last came from one place only, with registers of which only ``facts`` are known. They are
followed along every path until all registers that differ are dead. On the way every access, condition and stored value
must be provably equal. A proof that needs more than that fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import z3

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, effects_of
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import EXEC, Instruction, RegisterFile
from rocmatrix.emulator.interpreter import handler_of
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.control import CONDITIONS, FLOWS, Flow
from tests.mutation.equivalence import Prover, following
from tests.mutation.knowledge import Knowledge, register_of
from tests.mutation.operators import Listing, Mutant
from tests.mutation.questions import Questions
from tests.mutation.symbolic import SCC_PLACE, Place, SymbolicMachine
from tests.mutation.symbols import Event, Symbols
from tests.mutation.ways import Ways

_LONGEST, _DEEPEST = 800, 6
"""Instructions of all paths, and branches on one, where more than constants differ."""
_ORDER = ("buffer_wbl2", "buffer_inv", "s_dcache", "s_icache", "s_setreg", "s_sendmsg")
"""Instructions that mean something to other waves or later ones, which no term says."""


class _NotProvedError(Exception):
    """The proof does not work out."""


@dataclass
class _Path:
    """Both programs at one place."""

    place: int
    first: SymbolicMachine
    second: SymbolicMachine
    budget: list[int]
    depth: int = 0
    same_lanes: bool = True
    differing: set[Place] = field(default_factory=set)


class Lockstep:
    """Proofs about one kernel."""

    def __init__(self, listing: Listing, mode: Mode, prover: Prover, work_items: int) -> None:
        """Take a kernel's code, its MODE, what knows which registers are dead, and what launchers promise.

        Args:
            listing: the code.
            mode: MODE when a wave begins.
            prover: of the same code.
            work_items: of a workgroup, along its only axis: v0 is less.
        """
        self._mode = mode
        self._prover = prover
        self._work_items = work_items
        self._instructions = {each.address: each for each in listing.instructions}
        self._skipped = {
            each.address for each in listing.instructions if each.name == "s_cbranch_execz" and prover.skips(each)
        }
        self._ways = Ways(listing.instructions, prover.entries, self._following)

    def is_same(self, mutant: Mutant) -> bool:
        """Say whether a mutant is proved to do the same as the original."""
        changed = _decoded(mutant.after, mutant.offset)
        original = _decoded(mutant.before, mutant.offset)
        for each in (*original, *changed):
            if (each.name in FLOWS and each.name != "s_nop") or each.name.startswith(_ORDER):
                return False
        return any(
            all(self._is_same_after(ways, mutant.offset, original, changed) for ways in several)
            for several in self._ways.to(mutant.offset)
        )

    def _is_same_after(
        self, before: Sequence[int], place: int, original: Sequence[Instruction], changed: Sequence[Instruction]
    ) -> bool:
        """Say whether both programs are proved to do the same where control came to a place on one way."""
        self._begin()
        try:
            return self._proved(before, place, original, changed)
        except (_NotProvedError, UnsupportedError, AttributeError, KeyError, z3.Z3Exception):
            return False  # something that terms do not model: no proof

    def is_idle(self, place: int) -> bool:
        """Say whether no lane is ever active at a place."""
        return any(all(self._is_idle_after(way, place) for way in several) for several in self._ways.to(place))

    def _is_idle_after(self, before: Sequence[int], place: int) -> bool:
        self._begin()
        try:
            machine = self._machine_at(before, place)
        except (UnsupportedError, AttributeError, KeyError, z3.Z3Exception):
            return False
        return self._questions.are_equal(machine.lane_bit(EXEC), z3.BoolVal(val=False))

    def _begin(self) -> None:
        """Begin a proof."""
        self._symbols = Symbols()
        self._knowledge = Knowledge(self._prover.facts, self._symbols, self._work_items)
        self._visited: set[object] = set()
        self._questions = Questions(self._symbols)

    # -- the two programs --------------------------------------------------------------------------------------------

    def _proved(
        self, before: Sequence[int], place: int, original: Sequence[Instruction], changed: Sequence[Instruction]
    ) -> bool:
        first = self._machine_at(before, place)
        second = self._copy(first)
        path = _Path(place=place + sum(each.size for each in original), first=first, second=second, budget=[_LONGEST])
        self._step(path, original, changed)
        return self._followed(path)

    def _machine_at(self, before: Sequence[int], place: int) -> SymbolicMachine:
        """Return a machine that has come to a place on some way, from where nothing but facts is known."""
        machine = SymbolicMachine(self._symbols, self._mode, self._questions.are_always_equal)
        self._knowledge.give(before[0] if before else place, machine)
        for address, further in zip(before, [*before[1:], place], strict=False):
            self._execute(machine, [self._instructions[address]])
            self._symbols.facts.all += self._condition(machine, self._instructions[address], further)
        return machine

    def _followed(self, path: _Path) -> bool:
        """Follow a path until nothing that is read again differs."""
        while path.differing:
            registers = {register_of(place) for place in path.differing}
            if self._prover.dead_at(registers, path.place, same_lanes=path.same_lanes):
                return True
            instruction = self._instructions[path.place]
            path.budget[0] -= 1
            if path.budget[0] < 0 or FLOWS.get(instruction.name) in (Flow.JUMP, Flow.TRAP):
                return False
            if instruction.name == "s_endpgm":
                return True
            if FLOWS.get(instruction.name) is Flow.BRANCH and instruction.address not in self._skipped:
                return self._branched(path, instruction)
            path.place = instruction.next_address
            self._step(path, [instruction], [instruction])
        return True

    def _condition(self, machine: SymbolicMachine, branch: Instruction, place: int) -> list[z3.BoolRef]:
        """Return what holds where a branch has led to a place: nothing if it leads there whatever holds."""
        condition, jumps = CONDITIONS.get(branch.name), place == branch.branch_target
        if condition is None or (branch.address in self._skipped and not jumps):
            return []
        term = condition(machine).term  # type: ignore[attr-defined]
        return [term if jumps else z3.Not(term)]

    def _branched(self, path: _Path, branch: Instruction) -> bool:
        condition = CONDITIONS.get(branch.name)
        if condition is not None:
            one, other = (condition(machine).term for machine in (path.first, path.second))  # type: ignore[attr-defined]
            if not self._questions.are_equal(one, other):
                return False
        self._forget_dead(path)
        constants = _constants(path)
        if constants is not None:
            return all(self._begun_again(path, place, constants) for place in following(branch))
        if path.depth >= _DEEPEST:
            return False
        outside = self._questions.where
        for place in following(branch):
            copies = [self._copy(machine) for machine in (path.first, path.second)]
            further = _Path(
                place=place, first=copies[0], second=copies[1], budget=path.budget, depth=path.depth + 1,
                same_lanes=path.same_lanes, differing=set(path.differing),
            )  # fmt: skip
            self._questions.where = [*outside, *self._condition(path.first, branch, place)]
            if not self._followed(further):
                return False
        self._questions.where = outside
        return True

    def _forget_dead(self, path: _Path) -> None:
        """Take what differs and is never read again for the same."""
        for place in list(path.differing):
            if self._prover.dead_at([register_of(place)], path.place, same_lanes=path.same_lanes):
                path.second.registers[place] = path.first.word(place)
                path.differing.discard(place)

    def _begun_again(self, path: _Path, place: int, constants: Mapping[Place, tuple[int, int]]) -> bool:
        """Follow a path on which constants differ, and nothing else is known; each place with each of them once."""
        key = (place, path.same_lanes, frozenset(constants.items()))
        if key in self._visited:
            return True
        self._visited.add(key)
        outside, self._questions.where = self._questions.where, []
        generation = len(self._visited)
        first, second = (
            SymbolicMachine(self._symbols, self._mode, self._questions.are_always_equal, generation=generation)
            for _ in range(2)
        )
        self._knowledge.give(place, first)
        second.registers = dict(first.registers)
        for where, (one, other) in constants.items():
            first.registers[where], second.registers[where] = z3.BitVecVal(one, 32), z3.BitVecVal(other, 32)
        further = _Path(
            place=place, first=first, second=second, budget=path.budget,
            same_lanes=path.same_lanes, differing=set(constants),
        )  # fmt: skip
        proved = self._followed(further)
        self._questions.where = outside
        return proved

    def _copy(self, machine: SymbolicMachine) -> SymbolicMachine:
        made = SymbolicMachine(
            self._symbols, self._mode, self._questions.are_always_equal, generation=machine.generation
        )
        made.registers, made.accesses = dict(machine.registers), machine.accesses
        return made

    def _step(self, path: _Path, original: Sequence[Instruction], changed: Sequence[Instruction]) -> None:
        """Execute one instruction of each, and hold what they did against each other.

        Raises:
            _NotProvedError: they may do something else.
        """
        first, second = path.first, path.second
        old = dict(first.registers), dict(second.registers)
        self._execute(first, original)
        second.hints = first.opaque
        self._execute(second, changed)
        self._compare(first.events, second.events)
        touched = {place for place, term in first.registers.items() if old[0].get(place) is not term}
        touched |= {place for place, term in second.registers.items() if old[1].get(place) is not term}
        path.same_lanes = path.same_lanes and not writes_of((*original, *changed)) & EXEC_PAIR
        for place in touched:
            one, other = first.word(place), second.word(place)
            if self._questions.are_equal(one, other) or self._is_same_mask(place, first, second):
                second.registers[place] = one
                path.differing.discard(place)
            else:
                path.differing.add(place)

    def _execute(self, machine: SymbolicMachine, instructions: Sequence[Instruction]) -> None:
        machine.events, machine.opaque = [], []
        for instruction in instructions:
            if instruction.name not in FLOWS:
                handler_of(instruction)(machine, instruction)  # type: ignore[arg-type]

    def _compare(self, one: Sequence[Event], other: Sequence[Event]) -> None:
        if len(one) != len(other):
            one, other = (
                [event for event in events if not self._questions.are_equal(event.happens, z3.BoolVal(val=False))]
                for events in (one, other)
            )
        if len(one) != len(other):
            raise _NotProvedError
        for event, same in zip(one, other, strict=True):
            if event.what != same.what or len(event.words) != len(same.words):
                raise _NotProvedError
            pairs = [(event.happens, same.happens), *zip(event.words, same.words, strict=True)]
            for number, (left, right) in enumerate(pairs):
                if not self._questions.are_equal(left, right, event.happens if number else None):
                    raise _NotProvedError

    # -- what is proved ----------------------------------------------------------------------------------------------

    def _is_same_mask(self, place: Place, first: SymbolicMachine, second: SymbolicMachine) -> bool:
        """Say whether two scalars have the same bit for the lane, which stands for every lane."""
        file, index = place
        if file is not RegisterFile.SGPR or place == SCC_PLACE:
            return False
        one, other = (machine.lane_bit(index - index % 2) for machine in (first, second))
        return self._questions.are_equal(one, other)

    def _following(self, instruction: Instruction) -> tuple[int, ...]:
        return (instruction.next_address,) if instruction.address in self._skipped else following(instruction)


def _decoded(code: bytes, address: int) -> list[Instruction]:
    made, place = [], 0
    while place < len(code):
        made.append(decode(code[place:] + bytes(16), address + place))
        place += made[-1].size
    return made


def _constants(path: _Path) -> Mapping[Place, tuple[int, int]] | None:
    """Return what differs on a path, if it is a constant in each program."""
    found = {}
    for place in path.differing:
        one, other = (z3.simplify(machine.word(place)) for machine in (path.first, path.second))
        if not (z3.is_bv_value(one) and z3.is_bv_value(other)):
            return None
        found[place] = one.as_long(), other.as_long()
    return found


def writes_of(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Return the registers that instructions write."""
    return frozenset[int]().union(*(effects_of(each).writes for each in instructions))
