"""Whether one memory access is complete before anything needs it, by trying every path: no merging of states.

The detectors follow all accesses at once and merge what paths agree on; this follows a single access and keeps paths
apart. It serves as the proof for waits that a compiler made longer than they need to be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rocmatrix.emulator.analysis.code import Step
from rocmatrix.emulator.analysis.effects import is_vector_memory
from rocmatrix.emulator.analysis.flow_graph import Graph
from rocmatrix.emulator.analysis.scoreboard import Event, Order, Touch, event_of
from rocmatrix.emulator.wait_counts import MAX_LGKMCNT, MAX_VMCNT, wait_of

_COUNTERS = {Order.FLAT: 3, Order.WRITEBACK: 1, Order.SCALAR: 2}


@dataclass(frozen=True, kw_only=True)
class State:
    """One access on one path.

    Attributes:
        behind: accesses of its order that were issued since.
        counters: those that must still come to zero: 1 vmcnt, 2 lgkmcnt.
        passed: whether a barrier was passed.
    """

    behind: int = 0
    counters: int = 0
    passed: bool = False


def is_complete_before_use(graph: Graph, started: Step) -> bool:
    """Say whether, on every path from an access, it is complete before anything needs it."""
    event = event_of(started.instruction, started.effects)
    assert event is not None
    waiting = []
    for start, block in graph.blocks.items():
        for index, step in enumerate(block.steps):
            if step.instruction.address == started.instruction.address:
                waiting.append((start, index + 1, State(counters=_COUNTERS.get(event.order, 0))))
    seen = set(waiting)
    while waiting:
        start, index, state = waiting.pop()
        block = graph.blocks[start]
        if index == len(block.steps):
            following = [] if block.forgets else [(successor, 0, state) for successor in block.successors]
        else:
            step = block.steps[index]
            if _needs(step, event, state):
                return False
            changed = _after(step, event, state)
            following = [] if changed is None else [(start, index + 1, changed)]
        for place in following:
            if place not in seen:
                seen.add(place)
                waiting.append(place)
    return True


def _needs(step: Step, event: Event, state: State) -> bool:
    """Say whether an instruction needs the access to be complete."""
    own = event_of(step.instruction, step.effects)
    touched = step.effects.everything & event.results
    in_order = own is not None and own.order is event.order and event.order is not Order.SCALAR
    if touched and not (in_order and not step.effects.reads & event.results):
        return True
    if state.passed and own is not None and own.lds and (own.lds | event.lds) & Touch.WRITES:
        return True
    if step.instruction.name.startswith("buffer_inv") and event.loads:
        return True
    memory = step.instruction.memory
    releases = "_atomic_" in step.instruction.name or ("_store_" in step.instruction.name and memory and memory.sc1)
    return event.order is Order.WRITEBACK and bool(releases) and is_vector_memory(step.effects.unit)


def _after(step: Step, event: Event, state: State) -> State | None:
    """Return the access behind an instruction; ``None`` if it is complete or begins anew."""
    instruction = step.instruction
    if instruction.address == event.instruction.address:
        return None
    if (wait := wait_of(instruction)) is not None:
        return _waited(wait.vm, wait.lgkm, event, state)
    if instruction.name == "s_barrier":
        return replace(state, passed=state.passed or bool(event.lds))
    own = event_of(instruction, step.effects)
    if own is not None and own.order is event.order and event.order in (Order.MEMORY, Order.LDS):
        return replace(state, behind=min(state.behind + 1, MAX_VMCNT))
    return state


def _waited(vmcnt: int, lgkmcnt: int, event: Event, state: State) -> State | None:
    if event.order is Order.MEMORY:
        return None if vmcnt < MAX_VMCNT and state.behind >= vmcnt else state
    if event.order is Order.LDS:
        return None if lgkmcnt < MAX_LGKMCNT and state.behind >= lgkmcnt else state
    left = state.counters & ~(1 if vmcnt == 0 else 0) & ~(2 if lgkmcnt == 0 else 0)
    return replace(state, counters=left) if left else None
