"""Two programs that differ in one instruction, executed side by side over terms: a proof that nobody tells them apart.

Both start where control last came from one place only, with registers of which only ``facts`` are known. They are
followed along every path until all registers that differ are dead. On the way every access, condition and stored value
must be provably equal. A proof that needs more than that fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import z3

from rocmatrix.emulator.analysis.effects import EXEC_PAIR, FIRST_AGPR, FIRST_VGPR, effects_of
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Instruction, RegisterFile
from rocmatrix.emulator.interpreter import handler_of
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.control import CONDITIONS, FLOWS, Flow
from tests.mutation.equivalence import Prover, following
from tests.mutation.facts import Known
from tests.mutation.operators import Listing, Mutant
from tests.mutation.symbolic import Place, SymbolicMachine
from tests.mutation.symbols import LANES, Event, Symbols
from tests.mutation.terms import is_quiet

_EFFORT = 400_000
"""Z3's own measure of work (``rlimit``) for one question: the same on every machine, unlike seconds."""
_LONGEST, _DEEPEST, _BEHIND = 500, 6, 160
"""Instructions of one path, branches on it, and instructions before the change from which both programs start."""
_ORDER = ("buffer_wbl2", "buffer_inv", "s_dcache", "s_icache", "s_setreg", "s_sendmsg")
"""Instructions that mean something to other waves or later ones, which no term says."""
_FILES = ((FIRST_AGPR, RegisterFile.AGPR), (FIRST_VGPR, RegisterFile.VGPR), (0, RegisterFile.SGPR))


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
        self._work_items = work_items
        self._prover = prover
        self._instructions = {each.address: each for each in listing.instructions}
        self._skipped = {
            each.address for each in listing.instructions if each.name == "s_cbranch_execz" and prover.skips(each)
        }
        self._sources: dict[int, list[int]] = {entry: [-1] for entry in prover.entries}
        for instruction in listing.instructions:
            for place in self._following(instruction):
                self._sources.setdefault(place, []).append(instruction.address)

    def is_same(self, mutant: Mutant) -> bool:
        """Say whether a mutant is proved to do the same as the original."""
        changed = _decoded(mutant.after, mutant.offset)
        original = _decoded(mutant.before, mutant.offset)
        for each in (*original, *changed):
            if (each.name in FLOWS and each.name != "s_nop") or each.name.startswith(_ORDER):
                return False
        self._symbols = Symbols()
        self._solver = z3.Solver()
        self._solver.set("rlimit", _EFFORT)
        self._given = 0
        try:
            return self._proved(mutant.offset, original, changed)
        except (_NotProvedError, UnsupportedError, AttributeError, KeyError, z3.Z3Exception):
            return False  # something that terms do not model: no proof

    # -- the two programs --------------------------------------------------------------------------------------------

    def _proved(self, place: int, original: Sequence[Instruction], changed: Sequence[Instruction]) -> bool:
        before = self._before(place)
        first, second = (SymbolicMachine(self._symbols, self._mode, self._equal) for _ in range(2))
        self._know(before[0] if before else place, first)
        for address in before:
            self._execute(first, [self._instructions[address]])
        second.registers = dict(first.registers)
        second.accesses = first.accesses
        path = _Path(place=place + sum(each.size for each in original), first=first, second=second, budget=[_LONGEST])
        self._step(path, original, changed)
        return self._followed(path)

    def _before(self, place: int) -> list[int]:
        """Return the instructions that were executed before a place, on every path to it, the latest last."""
        before: list[int] = []
        while len(before) < _BEHIND:
            sources = self._sources.get(place, [])
            if len(sources) != 1 or sources[0] < 0 or sources[0] in before:
                break
            place = sources[0]
            before.append(place)
        return before[::-1]

    def _know(self, place: int, machine: SymbolicMachine) -> None:
        for register, fact in self._prover.facts.get(place, {}).items():
            where = _place_of(register)
            if isinstance(fact, int):
                machine.registers[where] = z3.BitVecVal(fact, 32)
            elif fact is Known.QUIET:
                self._symbols.facts.all.append(is_quiet(machine.word(where), 32))
            elif fact is Known.WORK_ITEM:
                self._symbols.facts.all.append(z3.ULT(machine.word(where), self._work_items))
            elif fact is Known.ALL_LANES and self._work_items % LANES == 0:
                machine.registers[where] = z3.BitVecVal(-1, 32)
            else:  # the same lanes are the same symbol; pairs begin at even numbers
                machine.registers[where] = z3.BitVec(f"{fact} {register % 2}", 32)

    def _followed(self, path: _Path) -> bool:
        """Follow a path until nothing that is read again differs."""
        while path.differing:
            registers = {_register_of(place) for place in path.differing}
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

    def _branched(self, path: _Path, branch: Instruction) -> bool:
        condition = CONDITIONS.get(branch.name)
        if condition is not None:
            one, other = (condition(machine).term for machine in (path.first, path.second))  # type: ignore[attr-defined]
            if not self._equal(one, other):
                return False
        if path.depth >= _DEEPEST:
            return False
        for place in following(branch):
            copies = [self._copy(machine) for machine in (path.first, path.second)]
            further = _Path(
                place=place, first=copies[0], second=copies[1], budget=path.budget, depth=path.depth + 1,
                same_lanes=path.same_lanes, differing=set(path.differing),
            )  # fmt: skip
            if not self._followed(further):
                return False
        return True

    def _copy(self, machine: SymbolicMachine) -> SymbolicMachine:
        made = SymbolicMachine(self._symbols, self._mode, self._equal)
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
            if one.eq(other) or self._equal(one, other):
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
            raise _NotProvedError
        for event, same in zip(one, other, strict=True):
            if event.what != same.what or len(event.words) != len(same.words):
                raise _NotProvedError
            pairs = [(event.happens, same.happens), *zip(event.words, same.words, strict=True)]
            for number, (left, right) in enumerate(pairs):
                if not self._equal(left, right, event.happens if number else None):
                    raise _NotProvedError

    # -- what is proved ----------------------------------------------------------------------------------------------

    def _equal(self, one: z3.ExprRef, other: z3.ExprRef, where: z3.BoolRef | None = None) -> bool:
        """Say whether two terms are proved to be equal, at least where a condition holds."""
        if one.eq(other):
            return True
        if one.sort() != other.sort():
            return False
        facts = self._symbols.facts.all
        self._solver.add(*facts[self._given :])
        self._given = len(facts)
        self._solver.push()
        if where is not None:
            self._solver.add(where)
        self._solver.add(one != other)
        answer = self._solver.check()
        self._solver.pop()
        return bool(answer == z3.unsat)

    def _following(self, instruction: Instruction) -> tuple[int, ...]:
        return (instruction.next_address,) if instruction.address in self._skipped else following(instruction)


def _decoded(code: bytes, address: int) -> list[Instruction]:
    made, place = [], 0
    while place < len(code):
        made.append(decode(code[place:] + bytes(16), address + place))
        place += made[-1].size
    return made


def _place_of(register: int) -> Place:
    first, file = next((first, file) for first, file in _FILES if register >= first)
    return file, register - first


def _register_of(place: Place) -> int:
    file, index = place
    return next(first for first, each in _FILES if each is file) + index


def writes_of(instructions: Sequence[Instruction]) -> frozenset[int]:
    """Return the registers that instructions write."""
    return frozenset[int]().union(*(effects_of(each).writes for each in instructions))
