"""The control-flow graph of a kernel: every block that can be reached from its entry, through calls and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from rocmatrix.emulator.analysis import constants
from rocmatrix.emulator.analysis.code import Block, Code, Step
from rocmatrix.emulator.code_object import CodeObject, Kernel
from rocmatrix.emulator.descriptor import PRELOAD_ENTRY
from rocmatrix.emulator.instruction import Instruction, Operand
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.control import CONDITIONS

_CALLS = ("s_swappc_b64", "s_call_b64")
_ENDS = ("s_endpgm", "s_endpgm_saved")
_DEBUG_TRAP = 3
"""The trap behind which a wave goes on; any other one ends it (AMDGPUUsage, "Trap Handler ABI")."""
_FORKS = ("s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "s_rfe_b64", "s_sethalt")
_ROUNDS = 64


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A kernel's code.

    Attributes:
        kernel: its name.
        entries: where waves start.
        blocks: by their start.
        remarks: what is not part of the graph though it may be executed, one sentence each.
    """

    kernel: str
    entries: tuple[int, ...]
    blocks: Mapping[int, Block]
    remarks: tuple[str, ...]

    @property
    def calls(self) -> bool:
        """Whether there is more than one function."""
        return any(step.instruction.name in _CALLS for step in self.steps)

    @property
    def steps(self) -> Iterator[Step]:
        """Every instruction, block by block."""
        for block in self.blocks.values():
            yield from block.steps


def read_graph(code_object: CodeObject, kernel: Kernel) -> Graph:
    """Return the graph of a kernel.

    Raises:
        UnsupportedError: what can be reached is no code: it ends, it does not decode, or a branch goes to the middle of
            an instruction.
    """
    entries = [kernel.entry]
    if kernel.descriptor.preload_length:
        entries.append(kernel.entry + PRELOAD_ENTRY)
    return _Reader(code_object, kernel.name, tuple(entries)).read()


class _Reader:
    """Finds blocks and the targets of jumps in turns, until there are no more."""

    def __init__(self, code_object: CodeObject, kernel: str, entries: tuple[int, ...]) -> None:
        self._code = Code(code_object, kernel)
        self._kernel = kernel
        self._entries = entries
        self._table = constants.Table(words={word.address: word.addend for word in code_object.relocations})
        self._targets: dict[int, int] = {}
        self._runs: dict[int, tuple[Step, ...]] = {}

    def read(self) -> Graph:
        """Return the graph."""
        for _ in range(_ROUNDS):
            self._find_runs()
            found = self._resolve() if self._jumps() else {}
            if found.keys() <= self._targets.keys():
                return self._graph()
            self._targets |= found
        raise UnsupportedError(f"code with more than {_ROUNDS} computed jumps in a row", kernel=self._kernel)

    # -- blocks without their successors -------------------------------------------------------------------------

    def _find_runs(self) -> None:
        """Cut what can be reached into runs of instructions."""
        leaders: set[int] = set()
        waiting = [*self._entries, *self._targets.values()]
        reached: dict[int, int] = {}
        while waiting:
            address = waiting.pop()
            if address in leaders:
                continue
            leaders.add(address)
            while address not in reached:
                step = self._code.at(address)
                reached[address] = address = step.instruction.next_address
                if _leaves(step.instruction):
                    waiting += self._within(step.instruction)
                    break
        self._check(reached)
        ordered = sorted(leaders)
        self._runs = {leader: self._run(leader, leaders) for leader in ordered}

    def _run(self, leader: int, leaders: set[int]) -> tuple[Step, ...]:
        steps, address = [], leader
        while True:
            step = self._code.at(address)
            steps.append(step)
            address = step.instruction.next_address
            if _leaves(step.instruction) or address in leaders:
                return tuple(steps)

    def _check(self, reached: Mapping[int, int]) -> None:
        """Refuse code in which one instruction begins inside another."""
        end, last = 0, 0
        for address in sorted(reached):
            if address < end:
                inside = self._code.at(last).instruction
                what = f"control flow to {address:#x}, in the middle of the instruction {inside}"
                raise UnsupportedError(what, kernel=self._kernel)
            end, last = reached[address], address

    def _within(self, instruction: Instruction) -> list[int]:
        """Return where control may go on in the same function, calls having returned."""
        name, after = instruction.name, instruction.next_address
        if name in CONDITIONS:
            return [instruction.branch_target, after]
        if name == "s_branch":
            return [instruction.branch_target]
        if name == "s_setpc_b64":
            return [self._targets[instruction.address]] if instruction.address in self._targets else []
        if name in _CALLS:
            return [after, *([instruction.branch_target] if name == "s_call_b64" else [])]
        return [] if name in _ENDS or name == "s_trap" else [after]

    # -- where computed jumps go ---------------------------------------------------------------------------------

    def _jumps(self) -> bool:
        return any(run[-1].instruction.name in ("s_setpc_b64", *_CALLS) for run in self._runs.values())

    def _functions(self) -> tuple[int, ...]:
        calls = (run[-1].instruction for run in self._runs.values() if run[-1].instruction.name in _CALLS)
        callees = (self._callee(call) for call in calls)
        return tuple(dict.fromkeys([*self._entries, *(callee for callee in callees if callee is not None)]))

    def _callee(self, call: Instruction) -> int | None:
        return call.branch_target if call.name == "s_call_b64" else self._targets.get(call.address)

    def _resolve(self) -> dict[int, int]:
        """Return targets of jumps and calls that are the same on all paths."""
        known: dict[int, constants.Values] = {entry: {} for entry in self._functions()}
        waiting = list(known)
        found: dict[int, int] = {}
        while waiting:
            start = waiting.pop()
            values = dict(known[start])
            for step in self._runs[start]:
                last = step.instruction
                if last.name in ("s_setpc_b64", "s_swappc_b64"):
                    target = constants.address_of(values, last.sources[0])
                    found.pop(last.address, None)
                    if target is not None:
                        found[last.address] = target
                constants.advance(values, step, self._table)
            if last.name in _CALLS:
                values = constants.after_call(values)
            for successor in self._next_in_function(start):
                merged = constants.join((known[successor], values)) if successor in known else values
                if successor not in known or merged != known[successor]:
                    known[successor] = merged
                    waiting.append(successor)
        return found

    def _next_in_function(self, start: int) -> list[int]:
        last = self._runs[start][-1].instruction
        if last.name == "s_call_b64":
            return [last.next_address]
        return self._within(last) if _leaves(last) else [last.next_address]

    # -- the graph -----------------------------------------------------------------------------------------------

    def _graph(self) -> Graph:
        owners = self._owners()
        links, returns = self._calls()
        blocks, remarks = {}, []
        for start, run in self._runs.items():
            last = run[-1].instruction
            successors, forgets = tuple(self._next_in_function(start)), False
            callee = self._callee(last) if last.name in _CALLS else None
            if callee is not None:
                successors = (callee,)
            elif last.name in _CALLS:
                forgets = True
                remarks.append(f"what {last} calls is not covered: the address is known only when the code runs")
            elif last.name == "s_setpc_b64" and not successors:
                functions = owners[start]
                if functions and all(last.sources[0] in links.get(function, ()) for function in functions):
                    successors = tuple(sorted({place for function in functions for place in returns[function]}))
                else:
                    remarks.append(f"where {last} goes is not covered: the address is known only when the code runs")
            blocks[start] = Block(start=start, steps=run, successors=successors, forgets=forgets)
        return Graph(kernel=self._kernel, entries=self._entries, blocks=blocks, remarks=tuple(remarks))

    def _owners(self) -> dict[int, set[int]]:
        """Return for each block the functions that it is part of; a kernel's own blocks have its entry too."""
        owners: dict[int, set[int]] = {start: set() for start in self._runs}
        for function in self._functions():
            waiting = [function]
            while waiting:
                start = waiting.pop()
                if function not in owners[start]:
                    owners[start].add(function)
                    waiting += self._next_in_function(start)
        return owners

    def _calls(self) -> tuple[dict[int, set[Operand]], dict[int, set[int]]]:
        """Return for each function the registers that hold the return address, and where it may return to."""
        links: dict[int, set[Operand]] = {}
        returns: dict[int, set[int]] = {}
        for run in self._runs.values():
            call = run[-1].instruction
            callee = self._callee(call) if call.name in _CALLS else None
            if callee is not None:
                links.setdefault(callee, set()).add(call.destinations[0])
                returns.setdefault(callee, set()).add(call.next_address)
        return links, returns


def _leaves(instruction: Instruction) -> bool:
    """Say whether control may go elsewhere than to the next instruction.

    Raises:
        UnsupportedError: it goes where nothing here can follow.
    """
    name = instruction.name
    if name in _FORKS:
        raise UnsupportedError(f"the control flow of {name}", instruction=instruction)
    if name == "s_trap":
        return instruction.immediate & 0xFF != _DEBUG_TRAP
    return name in CONDITIONS or name in ("s_branch", "s_setpc_b64", *_CALLS, *_ENDS)


class Worklist:
    """Blocks to look at again, those of lower addresses first: that is nearly the order in which they are executed."""

    def __init__(self, starts: Iterable[int]) -> None:
        """Begin with some blocks."""
        self._waiting = set(starts)
        self._ordered = sorted(self._waiting)

    def add(self, start: int) -> None:
        """Look at a block again."""
        if start not in self._waiting:
            self._waiting.add(start)
            heappush(self._ordered, start)

    def take(self) -> int | None:
        """Return the next block; ``None`` if there is no more."""
        if not self._ordered:
            return None
        start = heappop(self._ordered)
        self._waiting.discard(start)
        return start
