"""Two programs that differ in one instruction, executed side by side over terms: a proof that nobody tells them apart.

Both start where control last came from one place only, with registers of which only ``facts`` are known. They are
followed along every path until all registers that differ are dead. On the way every access, condition and stored value
must be provably equal. A proof that needs more than that fails.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import z3

from rocmatrix.emulator.analysis.effects import EXEC_PAIR
from rocmatrix.emulator.instruction import EXEC, Instruction, RegisterFile
from rocmatrix.emulator.interpreter import handler_of
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.control import CONDITIONS, FLOWS, Flow
from tests.mutation.bounds import Arguments
from tests.mutation.change import change_of
from tests.mutation.equivalence import Prover, following, ignores_lanes
from tests.mutation.events import are_same_events
from tests.mutation.idle import Leads
from tests.mutation.knowledge import Knowledge, register_of
from tests.mutation.lds_floats import lds_is_quiet
from tests.mutation.operators import Listing, Mutant
from tests.mutation.paths import Path, constants_of, writes_of
from tests.mutation.questions import EFFORT, Questions
from tests.mutation.symbolic import SymbolicMachine
from tests.mutation.symbolic_registers import SCC_PLACE, Place
from tests.mutation.symbols import Symbols
from tests.mutation.terms import SELECTS, is_nan
from tests.mutation.ways import Ways

_LONGEST, _DEEPEST = 1200, 6
"""Instructions of all paths, and branches on one, where more than constants differ."""
_ORDER = ("buffer_wbl2", "buffer_inv", "s_dcache", "s_icache", "s_setreg", "s_sendmsg")
"""Instructions that mean something to other waves or later ones, which no term says."""


class _NotProvedError(Exception):
    """The proof does not work out."""


class Lockstep:
    """Proofs about one kernel."""

    def __init__(self, listing: Listing, prover: Prover, arguments: Arguments) -> None:
        """Take a kernel's code, what knows which registers are dead, and what launchers promise."""
        self._mode = arguments.mode
        self._prover = prover
        self._work_items = arguments.work_items
        self._listing = listing
        self._instructions = {each.address: each for each in listing.instructions}
        self._all_leads = Leads(listing.instructions, prover.idle)
        self._leads: Mapping[int, int] = {}
        self._bounds = prover.bounds(arguments)
        self._lds_is_quiet = lds_is_quiet(self._instructions, prover, self._bounds, ieee=self._mode.ieee)
        self._whichever_nan = False

    def is_same(self, mutant: Mutant, *, whichever_nan: bool = False) -> bool:
        """Say whether a mutant is proved to do the same as the original.

        Args:
            mutant: the change.
            whichever_nan: the larger or smaller one of several NaN may be another one of them.
        """
        if self._prover.may_go_anywhere:
            return False
        self._whichever_nan = whichever_nan
        self._change = change_of(mutant, self._prover)
        for each in (*self._change.original, *self._change.changed):
            if (each.name in FLOWS and each.name != "s_nop") or each.name.startswith(_ORDER):
                return False
        nowhere: list[list[list[int]]] = [[[]]]
        ways = self._ways(mutant.places, self._change.reads_more | self._change.keeps).to(mutant.offset)
        several_ways = nowhere if whichever_nan else ways  # what numbers are there makes no difference
        return any(all(self._is_same_after(way) for way in several) for several in several_ways)

    def _ways(self, changed: frozenset[int], read: frozenset[int] = frozenset()) -> Ways:
        """Return ways through code that is changed at some places, and reads other registers there."""
        self._leads = self._all_leads.without(changed, read)
        return Ways(self._listing.instructions, self._prover.entries, self._following)

    def _is_same_after(self, before: Sequence[int]) -> bool:
        """Say whether both programs are proved to do the same where control came to the change on one way."""
        self._begin()
        try:
            return self._proved(before) and not self._is_contradicted()
        except (_NotProvedError, UnsupportedError, AttributeError, KeyError, z3.Z3Exception):
            return False  # something that terms do not model: no proof

    def is_idle(self, place: int) -> bool:
        """Say whether no lane is ever active at a place."""
        ways = self._ways(frozenset({place})).to(place)
        return not self._prover.may_go_anywhere and any(
            all(self._is_idle_after(way, place) for way in several) for several in ways
        )

    def _is_idle_after(self, before: Sequence[int], place: int) -> bool:
        self._begin()
        try:
            machine = self._machine_at(before, place)
        except (UnsupportedError, AttributeError, KeyError, z3.Z3Exception):
            return False
        return self._questions.are_equal(machine.lane_bit(EXEC), z3.BoolVal(val=False)) and not self._is_contradicted()

    def _is_contradicted(self) -> bool:
        """Say whether what is known on all ways contradicts itself: of that everything follows."""
        solver = z3.Solver()
        solver.set("rlimit", EFFORT)
        solver.add(*(fact for fact in self._symbols.facts.all if not any(fact.eq(each) for each in self._met)))
        return bool(solver.check() == z3.unsat)

    def _begin(self) -> None:
        """Begin a proof."""
        self._symbols = Symbols(lds_is_quiet=self._lds_is_quiet)
        self._knowledge = Knowledge(
            self._instructions, self._prover.facts, self._bounds, self._symbols, self._work_items
        )
        self._met: list[z3.BoolRef] = []
        self._visited: set[object] = set()
        self._questions = Questions(self._symbols)

    # -- the two programs --------------------------------------------------------------------------------------------

    def _proved(self, before: Sequence[int]) -> bool:
        first = self._machine_at(before, self._change.place)
        path = Path(place=self._change.place, first=first, second=first.copy(), budget=[_LONGEST])
        self._go_on(path)
        return self._followed(path)

    def _go_on(self, path: Path) -> None:
        """Execute what is at a path's place, in each program what it has there."""
        change, instruction = self._change, self._instructions[path.place]
        if path.place == change.place:
            path.place = change.behind
            self._step(path, change.original, change.changed)
        else:
            path.place = self._leads.get(instruction.address, instruction.next_address)
            self._step(path, [instruction], [instruction])

    def _is_dead(self, registers: Collection[int], path: Path) -> bool:
        """Say whether neither program reads again what registers hold."""
        if self._change.comes_again and not self._change.reads_more.isdisjoint(registers):
            return False
        return self._prover.dead_at(registers, path.place, same_lanes=path.same_lanes)

    def _machine_at(self, before: Sequence[int], place: int) -> SymbolicMachine:
        """Return a machine that has come to a place on some way, from where nothing but facts is known."""
        machine = SymbolicMachine(self._symbols, self._mode, self._questions.are_always_equal)
        self._knowledge.give(before[0] if before else place, machine)
        for address, further in zip(before, [*before[1:], place], strict=False):
            self._execute(machine, [self._instructions[address]])
            met = self._condition(machine, self._instructions[address], further)
            self._symbols.facts.all += met
            self._met += met
        self._knowledge.bound(place, machine, list(machine.registers))
        return machine

    def _followed(self, path: Path) -> bool:
        """Follow a path until nothing that is read again differs."""
        while path.differing:
            if self._is_dead({register_of(place) for place in path.differing}, path):
                return True
            instruction = self._instructions[path.place]
            path.budget[0] -= 1
            if path.budget[0] < 0 or FLOWS.get(instruction.name) in (Flow.JUMP, Flow.TRAP):
                return False
            if instruction.name == "s_endpgm":
                return True
            if FLOWS.get(instruction.name) is Flow.BRANCH and instruction.address not in self._leads:
                return self._branched(path, instruction)
            self._go_on(path)
        return True

    def _condition(self, machine: SymbolicMachine, branch: Instruction, place: int) -> list[z3.BoolRef]:
        """Return what holds where a branch has led to a place: nothing if it leads there whatever holds."""
        condition, jumps = CONDITIONS.get(branch.name), place == branch.branch_target
        if condition is None or place == self._leads.get(branch.address) or len(set(following(branch))) == 1:
            return []
        term = condition(machine).term  # type: ignore[attr-defined]
        return [term if jumps else z3.Not(term)]

    def _branched(self, path: Path, branch: Instruction) -> bool:
        condition = CONDITIONS.get(branch.name)
        if condition is not None:
            one, other = (condition(machine).term for machine in (path.first, path.second))  # type: ignore[attr-defined]
            if not self._questions.must_be_equal(one, other):
                return False
        self._forget_dead(path)
        constants = constants_of(path)
        if constants is not None:
            return all(self._begun_again(path, place, constants) for place in following(branch))
        deeper = len(following(branch)) - 1  # a branch that is always taken makes no more paths
        if path.depth + deeper > _DEEPEST:
            return False
        outside = self._questions.where
        for place in following(branch):
            copies = [machine.copy() for machine in (path.first, path.second)]
            further = Path(
                place=place, first=copies[0], second=copies[1], budget=path.budget, depth=path.depth + deeper,
                same_lanes=path.same_lanes, differing=set(path.differing),
            )  # fmt: skip
            self._questions.where = [*outside, *self._condition(path.first, branch, place)]
            if not self._followed(further):
                return False
        self._questions.where = outside
        return True

    def _forget_dead(self, path: Path) -> None:
        """Take what differs and is never read again for the same."""
        for place in list(path.differing):
            if self._is_dead({register_of(place)}, path):
                path.second.registers[place] = path.first.word(place)
                path.differing.discard(place)

    def _begun_again(self, path: Path, place: int, constants: Mapping[Place, tuple[int, int]]) -> bool:
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
        further = Path(
            place=place, first=first, second=second, budget=path.budget,
            same_lanes=path.same_lanes, differing=set(constants),
        )  # fmt: skip
        proved = self._followed(further)
        self._questions.where = outside
        return proved

    def _step(self, path: Path, original: Sequence[Instruction], changed: Sequence[Instruction]) -> None:
        """Execute one instruction of each, and hold what they did against each other.

        Raises:
            _NotProvedError: they may do something else.
        """
        first, second = path.first, path.second
        old = dict(first.registers), dict(second.registers)
        self._execute(first, original)
        second.hints = first.opaque
        self._execute(second, changed)
        if not are_same_events(first.events, second.events, self._questions):
            raise _NotProvedError
        touched = {place for place, term in first.registers.items() if old[0].get(place) is not term}
        touched |= {place for place, term in second.registers.items() if old[1].get(place) is not term}
        path.same_lanes = path.same_lanes and not writes_of((*original, *changed)) & EXEC_PAIR
        self._knowledge.bound(path.place, first, touched)
        selects = self._whichever_nan and all(each.name in SELECTS for each in (*original, *changed))
        same = [place for place in touched if self._is_same_place(place, first, second, selects=selects)]
        if touched - set(same) and any(map(ignores_lanes, (*original, *changed))):
            path.same_lanes = False
        path.differing |= touched
        for place in same:
            second.registers[place] = first.word(place)
            path.differing.discard(place)

    def _execute(self, machine: SymbolicMachine, instructions: Sequence[Instruction]) -> None:
        machine.events, machine.opaque = [], []
        for instruction in instructions:
            if instruction.name not in FLOWS:
                handler_of(instruction)(machine, instruction)  # type: ignore[arg-type]

    # -- what is proved ----------------------------------------------------------------------------------------------

    def _is_same_place(self, place: Place, first: SymbolicMachine, second: SymbolicMachine, *, selects: bool) -> bool:
        one, other = first.word(place), second.word(place)
        if self._questions.are_equal(one, other) or self._is_same_mask(place, first, second):
            return True
        return selects and self._questions.hold(z3.Or(one == other, z3.And(is_nan(one, 32), is_nan(other, 32))))

    def _is_same_mask(self, place: Place, first: SymbolicMachine, second: SymbolicMachine) -> bool:
        """Say whether two scalars have the same bit for the lane, which stands for every lane."""
        file, index = place
        if file is not RegisterFile.SGPR or place == SCC_PLACE:
            return False
        pair = index - index % 2
        one, other = (machine.lane_bit(pair) for machine in (first, second))
        ask = self._questions.must_be_equal if pair == EXEC else self._questions.are_equal
        return ask(one, other)

    def _following(self, instruction: Instruction) -> tuple[int, ...]:
        lead = self._leads.get(instruction.address)
        return following(instruction) if lead is None else (lead,)
