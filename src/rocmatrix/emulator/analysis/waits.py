"""Missing waits: registers and LDS that are used while an access to them may still be under way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rocmatrix.emulator.analysis.code import Block, Step
from rocmatrix.emulator.analysis.effects import Unit, register_name
from rocmatrix.emulator.analysis.flow_graph import Graph, Worklist
from rocmatrix.emulator.analysis.scoreboard import Event, Order, Scoreboard, Touch, event_of
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.reports import Fault, FaultKind
from rocmatrix.emulator.wait_counts import WAITCNT, wait_of

_INVALIDATES, _BARRIER = "buffer_inv", "s_barrier"


def find_missing_waits(graph: Graph) -> Iterator[Fault]:
    """Find every use that may come too early, each instruction at most once."""
    finder = WaitFinder(graph)
    if finder.events:
        entry = finder.settle()
        for start, scoreboard in entry.items():
            yield from finder.report(graph.blocks[start], scoreboard)


class WaitFinder:
    """Follows the scoreboard through a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        started = ((step, event_of(step.instruction, step.effects)) for step in graph.steps)
        self.events: dict[int, Event] = {step.instruction.address: event for step, event in started if event}
        self._relevant = {
            block.start: tuple(step for step in block.steps if self._matters(step.instruction))
            for block in graph.blocks.values()
        }

    def _matters(self, instruction: Instruction) -> bool:
        return instruction.address in self.events or instruction.name in (WAITCNT, _BARRIER)

    def settle(self) -> dict[int, Scoreboard]:
        """Return what may be under way where each block begins."""
        known = {entry: Scoreboard() for entry in self._graph.entries}
        waiting = Worklist(known)
        while (start := waiting.take()) is not None:
            block = self._graph.blocks[start]
            scoreboard = known[start].copy()
            for step in self._relevant[start]:
                self.advance(scoreboard, step.instruction)
            if block.forgets:
                scoreboard = Scoreboard()
            for successor in block.successors:
                if successor not in known:
                    known[successor] = scoreboard.copy()
                    waiting.add(successor)
                elif known[successor].merge(scoreboard):
                    waiting.add(successor)
        return known

    def advance(self, scoreboard: Scoreboard, instruction: Instruction) -> None:
        """Let an instruction change what is under way."""
        event = self.events.get(instruction.address)
        if event is not None:
            scoreboard.start(event)
        elif (wait := wait_of(instruction)) is not None:
            scoreboard.wait(wait.vm, wait.lgkm)
        elif instruction.name == _BARRIER:
            scoreboard.pass_barrier(instruction.address, self.events)

    def report(self, block: Block, scoreboard: Scoreboard) -> Iterator[Fault]:
        """Walk through a block with what may be under way at its start; what is reported counts as complete then."""
        writers: dict[int, set[int]] = defaultdict(set)
        for address in scoreboard.pending:
            self._expect(writers, self.events[address])
        for step in block.steps:
            found = [*self._registers(step, scoreboard, writers), *self._local(step, scoreboard)]
            found += self._caches(step, scoreboard)
            if found:
                detail = found[0][1]
                for address, _ in found:
                    scoreboard.complete(address)
                yield Fault(
                    kind=FaultKind.WAIT,
                    kernel=self._graph.kernel,
                    instruction=step.instruction,
                    wave=None,
                    detail=detail,
                )
            if self._matters(step.instruction):
                self.advance(scoreboard, step.instruction)
            if (event := self.events.get(step.instruction.address)) is not None:
                self._expect(writers, event)

    def _expect(self, writers: dict[int, set[int]], event: Event) -> None:
        for register in event.results:
            writers[register].add(event.instruction.address)

    def _registers(self, step: Step, scoreboard: Scoreboard, writers: dict[int, set[int]]) -> Iterator[tuple[int, str]]:
        """Find registers that are read or overwritten too early."""
        if writers.keys().isdisjoint(step.effects.everything):
            return
        own = self.events.get(step.instruction.address)
        for register in sorted(step.effects.everything & writers.keys()):
            for address in sorted(writers[register]):
                if address not in scoreboard:
                    writers[register].discard(address)
                    continue
                writer = self.events[address]
                if register in step.effects.reads:
                    yield (
                        address,
                        f"{register_name(register)} is read while {writer.instruction} may still be about to write it",
                    )
                elif own is None or own.order is not writer.order or own.order is Order.SCALAR:
                    yield (
                        address,
                        f"{register_name(register)} is overwritten while {writer.instruction} may still write it",
                    )

    def _local(self, step: Step, scoreboard: Scoreboard) -> Iterator[tuple[int, str]]:
        """Find accesses to LDS that meet one of another wave, which passed a barrier before it was complete."""
        own = self.events.get(step.instruction.address)
        if own is None or not own.lds:
            return
        for address, barrier in sorted(scoreboard.behind.items()):
            pending = self.events[address]
            if (pending.lds | own.lds) & Touch.WRITES:
                verb = "written" if pending.lds & Touch.WRITES else "read"
                what = f"what {pending.instruction} has {verb} may not be complete in another wave"
                yield address, f"LDS is accessed behind the barrier at {barrier:#x}, where {what}"

    def _caches(self, step: Step, scoreboard: Scoreboard) -> Iterator[tuple[int, str]]:
        """Find cache operations and the accesses that they order too close together (AMDGPUUsage, "Memory Model")."""
        instruction = step.instruction
        if instruction.name.startswith(_INVALIDATES):
            for address in scoreboard.pending:
                pending = self.events[address]
                if pending.loads:
                    yield address, f"caches are invalidated before {pending.instruction} is complete"
        elif _releases(step):
            for address in scoreboard.unordered:
                pending = self.events[address]
                if pending.order is Order.WRITEBACK:
                    yield address, f"memory is released while {pending.instruction} may still write caches back"


def _releases(step: Step) -> bool:
    """Say whether an instruction may tell others that memory is ready: an atomic, or a store for other CUs."""
    instruction = step.instruction
    if step.effects.unit not in (Unit.VMEM, Unit.FLAT) or instruction.memory is None:
        return False
    return "_atomic_" in instruction.name or ("_store_" in instruction.name and instruction.memory.sc1)
