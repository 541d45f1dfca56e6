"""Which basic blocks code has, and each as a C function."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from rocmatrix.emulator.algebra import U64, Value, convert, where
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.hardware_registers import HARDWARE_REGISTERS
from rocmatrix.emulator.instruction import Instruction, RegisterFile
from rocmatrix.emulator.interpreter import Handler, Program
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics
from rocmatrix.emulator.register_indexing import REGISTER_INDEXING
from rocmatrix.emulator.reports import AccessError, UnsupportedError
from rocmatrix.emulator.semantics.control import CONDITIONS, Flow
from rocmatrix.emulator.semantics.transcendental import APPROXIMATE
from rocmatrix.emulator.translator.body import Body, expression
from rocmatrix.emulator.translator.machine import EmittingMachine
from rocmatrix.emulator.translator.registers import Untranslatable
from rocmatrix.emulator.translator.render import Renderer
from rocmatrix.emulator.wave import Wave

_LONGEST = 100
"""Instructions of a block: longer functions only make the compiler slow."""
_REFERENCE_ONLY = {*HARDWARE_REGISTERS, *REGISTER_INDEXING, "s_memtime", "s_memrealtime"}
"""What depends on more of a wave than generated code knows."""
_STOPS = {Flow.BARRIER: "AT_BARRIER", Flow.END: "ENDED", Flow.YIELD: "SLEEPS"}


@dataclass(frozen=True, kw_only=True)
class Block:
    """One basic block as C.

    Attributes:
        offset: where it begins, in bytes from the beginning of the code.
        last: where its last instruction lies.
        functions: functions that it calls, by name; other blocks may need the same ones.
        text: its own function.
    """

    offset: int
    last: int
    functions: Mapping[str, str]
    text: str


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An instruction that the reference executes: where, and why."""

    offset: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One instruction in a block, with its control flow or what executes it."""

    instruction: Instruction
    flow: Flow | None
    handler: Handler | None


class Translation:
    """The blocks that can be reached from some addresses."""

    def __init__(
        self,
        program: Program,
        base: int,
        mode: Mode,
        known: Collection[int],
        numerics: Numerics = DEFAULT_NUMERICS,
        *,
        machine: type[EmittingMachine] = EmittingMachine,
    ) -> None:
        """Prepare.

        Args:
            program: the decoded code.
            base: address of its first byte.
            mode: MODE when the code runs.
            known: offsets at which blocks begin that are there already.
            numerics: how arithmetic is done where that is not documented to the last bit.
            machine: what writes instructions.
        """
        self._program = program
        self._base = base
        self._mode = mode
        self._known = frozenset(known)
        self._numerics = numerics
        self._machine = machine
        self.blocks: list[Block] = []
        self.refusals: dict[int, Refusal] = {}

    def translate(self, entry: int) -> None:
        """Translate everything that is reached from an offset by branches and by running on."""
        leaders = self._leaders(entry)
        for leader in sorted(leaders - self._known):
            self._block(leader, leaders)

    def _step(self, offset: int) -> Step | None:
        """Return the instruction at an offset, or ``None`` (and a refusal) where only the reference can go on."""
        try:
            instruction, flow, handler = self._program.at(self._base + offset)
        except (AccessError, UnsupportedError) as err:
            self.refusals[offset] = Refusal(offset=offset, reason=str(err))
            return None
        if instruction.name in _REFERENCE_ONLY or flow is Flow.TRAP:
            self.refusals[offset] = Refusal(offset=offset, reason=f"{instruction.name} is left to the reference")
            return None
        return Step(instruction=instruction, flow=flow, handler=handler)

    def _leaders(self, entry: int) -> set[int]:
        """Return the offsets at which blocks begin."""
        leaders: set[int] = set()
        waiting = [entry]
        while waiting:
            offset = waiting.pop()
            if offset in leaders or offset in self._known:
                continue
            leaders.add(offset)
            while (step := self._step(offset)) is not None:
                offset += step.instruction.size
                if step.flow is not None and step.flow is not Flow.NEXT:
                    waiting += self._successors(step)
                    break
                if offset in leaders or offset in self._known:
                    break
            else:
                waiting += self._behind(offset)
        return leaders

    def _behind(self, offset: int) -> list[int]:
        """Return where code goes on behind an instruction that the reference executes, if that is certain."""
        try:
            instruction, flow, _ = self._program.at(self._base + offset)
        except (AccessError, UnsupportedError):
            return []
        changes_mode = instruction.name.startswith("s_setreg")
        return [] if flow is Flow.TRAP or changes_mode else [offset + instruction.size]

    def _successors(self, step: Step) -> list[int]:
        instruction = step.instruction
        after = instruction.next_address - self._base
        if step.flow is Flow.END:
            return []
        if step.flow is Flow.BRANCH:
            target = instruction.branch_target - self._base
            return [target] if instruction.name not in CONDITIONS else [target, after]
        if step.flow is Flow.JUMP:
            known = not instruction.sources or instruction.sources[0].file is not RegisterFile.SGPR
            return [after, *([instruction.branch_target - self._base] if known else [])]
        return [after]

    def _block(self, offset: int, leaders: Collection[int]) -> None:
        """Write the block that begins at an offset, and those that it is cut into."""
        stop: int | None = None
        while True:
            writer = BlockWriter(self._base, offset, self._machine(Body(), self._mode, self._numerics))
            place = offset
            failed = False
            while place != stop and (step := self._step(place)) is not None:
                try:
                    writer.add(step, place)
                except (Untranslatable, UnsupportedError) as err:
                    self.refusals[place] = Refusal(offset=place, reason=str(err))
                    failed = True
                    break
                place += step.instruction.size
                full = writer.full or writer.count >= _LONGEST
                if writer.ended or place in leaders or place in self._known or full:
                    break
            if not failed:
                break
            stop = place
        if writer.count:
            self.blocks.append(writer.finish(place))
        if not writer.ended and place not in leaders and place not in self._known:
            self._go_on(place, stop, leaders)

    def _go_on(self, place: int, stop: int | None, leaders: Collection[int]) -> None:
        """Translate what lies behind a cut or behind an instruction that is refused."""
        if place != stop:
            if place not in self.refusals:
                self._block(place, leaders)
            return
        for behind in self._behind(place):
            if behind not in leaders and behind not in self._known:
                self._block(behind, leaders)


class BlockWriter:
    """Writes one block."""

    def __init__(self, base: int, offset: int, machine: EmittingMachine) -> None:
        """Begin at an offset."""
        self._base = base
        self._offset = offset
        self._last = offset
        self._body = machine.body
        self._machine = machine
        self._approximates = False
        self.count = 0
        self.ended = False

    @property
    def full(self) -> bool:
        """Whether the block must end behind its last instruction."""
        return self._machine.ends_block

    def add(self, step: Step, place: int) -> None:
        """Write one instruction.

        Raises:
            Untranslatable, UnsupportedError: generated code does not execute it; the block cannot be finished.
        """
        self._machine.prepare(step.instruction, self.count)
        self._machine.place = place
        self._approximates = self._approximates or step.instruction.name in APPROXIMATE
        self._machine.begin(step.instruction)
        if step.handler is not None:
            self._execute(step)
        elif step.flow is not Flow.NEXT:
            self._follow(step)
        if not self.ended:
            self._machine.end(step.instruction)
        self._last = place
        self.count += 1

    def _execute(self, step: Step) -> None:
        instruction = step.instruction
        if instruction.name == "s_getpc_b64":
            self._machine.write(instruction.destinations[0], self._address(instruction.next_address))
        elif step.handler is not None:
            # handlers are typed for the reference's wave and ask nothing of it that a machine does not have
            step.handler(cast("Wave", self._machine), instruction)

    def _address(self, address: int) -> Value:
        """Return an address in the code, wherever that lies when it runs."""
        return self._body.scalar(U64, "W->base") + (address - self._base)

    def _follow(self, step: Step) -> None:
        instruction, machine = step.instruction, self._machine
        after = self._address(instruction.next_address)
        target, result = after, "FLOWED"
        if step.flow is Flow.BRANCH:
            target = self._address(instruction.branch_target)
            condition = CONDITIONS.get(instruction.name)
            if condition is not None:
                target = where(condition(machine), target, after)
        elif step.flow is Flow.JUMP:
            target = self._address(instruction.branch_target)
            if instruction.sources and instruction.sources[0].file is RegisterFile.SGPR:
                target = convert(machine.read(instruction.sources[0], U64), U64)
            if instruction.destinations:
                machine.write(instruction.destinations[0], after)
        elif step.flow in _STOPS:
            result = _STOPS[step.flow]
        self._leave(target, result, self.count + 1)
        self.ended = True

    def _leave(self, target: Value, result: str, count: int) -> None:
        self._machine.store_all()
        self._body.in_order(f"W->executed += {count}")
        self._body.in_order("W->pc = {0}", expression(target))
        self._body.in_order(f"return {result}")

    def finish(self, place: int) -> Block:
        """Return the block; one that does not end in control flow goes on at a place."""
        if not self.ended:
            self._leave(self._address(self._base + place), "GO_ON", self.count)
        left = "if (W->at_an_end) return APPROXIMATES;\n" if self._approximates else ""
        body = left + self._machine.prologue() + Renderer(self._body).text()
        text = f"int block_{self._offset:x}(struct wave* W) {{\n{body}}}\n"
        return Block(offset=self._offset, last=self._last, functions=self._machine.functions, text=text)
