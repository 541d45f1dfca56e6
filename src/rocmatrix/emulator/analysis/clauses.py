"""Memory clauses that could not be replayed after a page fault.

Memory instructions of one kind that follow each other directly form a clause. With XNACK on, all of a clause may be
executed again; so none of it may write a register that another one of it reads, and no store may follow a load. LLVM
keeps that with ``s_nop`` (GCNHazardRecognizer.cpp, ``checkSoftClauseHazards``) where the target has XNACK on or leaves
it open, and looks back as many instructions as here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocmatrix.emulator.analysis.code import Step
from rocmatrix.emulator.analysis.effects import FIRST_AGPR, NONE, Unit, is_vector_memory, register_name
from rocmatrix.emulator.analysis.flow_graph import Graph
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.reports import Fault, FaultKind

_LOOK_BACK, _LOOK_BACK_WITH_AGPRS = 5, 19
"""``MaxLookAhead``: more where a function uses the first AGPR."""


def find_broken_clauses(graph: Graph) -> Iterator[Fault]:
    """Find memory instructions that must not be in the clause that they are in."""
    steps = {step.instruction.address: step for step in graph.steps}
    before = {step.instruction.next_address: step for step in steps.values()}
    look_back = _look_back(graph, steps.values())
    for step in steps.values():
        kind = _kind(step)
        clause: list[Step] = []
        previous = before.get(step.instruction.address)
        while kind is not None and previous is not None and _kind(previous) is kind and len(clause) < look_back:
            clause.append(previous)
            previous = before.get(previous.instruction.address)
        detail = _problem(step, clause)
        if detail is not None:
            yield Fault(
                kind=FaultKind.HAZARD, kernel=graph.kernel, instruction=step.instruction, wave=None, detail=detail
            )


def _look_back(graph: Graph, steps: Iterable[Step]) -> int:
    """Return how far LLVM looks; of several functions it looks back differently, and the least counts."""
    if graph.calls:
        return _LOOK_BACK
    uses_agprs = any(FIRST_AGPR in step.effects.everything for step in steps)
    return _LOOK_BACK_WITH_AGPRS if uses_agprs else _LOOK_BACK


def _kind(step: Step) -> bool | None:
    """Return which kind of memory instruction it is, if it is one: scalar or vector."""
    if step.effects.unit is Unit.SMEM:
        return True
    return False if is_vector_memory(step.effects.unit) else None


def _stores(instruction: Instruction) -> bool:
    writes_lds = instruction.memory is not None and instruction.memory.lds
    return "_store_" in instruction.name or "_atomic_" in instruction.name or writes_lds


def _problem(step: Step, clause: list[Step]) -> str | None:
    """Return what is wrong with an instruction behind the others of its clause."""
    written = NONE.union(*(other.effects.writes for other in clause))
    if not written:
        return None
    if _stores(step.instruction):
        return f"it stores in one clause with the load {clause[0].instruction}, which may be replayed [xnack-clause]"
    read = step.effects.reads.union(*(other.effects.reads for other in clause))
    both = (written | step.effects.writes) & read
    if not both:
        return None
    start = clause[-1].instruction
    what = f"the clause that begins at {start} writes {register_name(min(both))} and reads it"
    return f"{what}, so that it cannot be replayed [xnack-clause]"
