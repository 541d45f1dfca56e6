"""Registers that decide something although no path writes them before.

Only what is certain is reported: a register counts as written as soon as any path may have written any part of it.
Compilers read undefined registers where nothing depends on them; so only addresses, conditions, the active lanes and
values that go to memory are looked at. What goes to scratch or LDS is no result yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.emulator.analysis.code import Step
from rocmatrix.emulator.analysis.effects import (
    EXEC_PAIR,
    FIRST_VGPR,
    LAST,
    Unit,
    register_name,
    union,
)
from rocmatrix.emulator.analysis.flow_graph import Graph, Worklist
from rocmatrix.emulator.code_object import Kernel
from rocmatrix.emulator.instruction import FLAT_SCRATCH, Encoding
from rocmatrix.emulator.reports import Fault, FaultKind
from rocmatrix.emulator.semantics.control import CONDITIONS

_EVERYTHING = (1 << LAST) - 1
_VECTORS = _EVERYTHING ^ (1 << FIRST_VGPR) - 1
_RESULTS = (Encoding.GLOBAL, Encoding.FLAT, Encoding.MUBUF)


def find_unwritten(graph: Graph, kernel: Kernel) -> Iterator[Fault]:
    """Find instructions that depend on registers which no path writes, each at most once."""
    written = _settle(graph, _mask(written_at_entry(kernel)))
    for start, at_start in written.items():
        mask = at_start
        for step in graph.blocks[start].steps:
            for what, registers in _sinks(step):
                missing = [register for register in sorted(registers) if not mask >> register & 1]
                if missing:
                    yield Fault(
                        kind=FaultKind.UNWRITTEN,
                        kernel=graph.kernel,
                        instruction=step.instruction,
                        wave=None,
                        detail=f"{what} {register_name(missing[0])}, which nothing writes before",
                    )
                    break
            mask |= _written_by(step)


def written_at_entry(kernel: Kernel) -> frozenset[int]:
    """Return registers that hold something when a wave starts (AMDGPUUsage, "Initial Kernel Execution State")."""
    descriptor = kernel.descriptor
    scalars = descriptor.user_sgprs + sum(descriptor.workgroup_ids) + descriptor.workgroup_info
    return frozenset((*range(scalars), FLAT_SCRATCH, FLAT_SCRATCH + 1, *EXEC_PAIR, FIRST_VGPR))


def _mask(registers: frozenset[int]) -> int:
    return sum(1 << register for register in registers)


def _written_by(step: Step) -> int:
    """Return what an instruction may write; where registers are indexed that may be any."""
    if step.instruction.name == "s_set_gpr_idx_on":
        return _VECTORS | _mask(step.effects.writes)
    return _mask(step.effects.writes)


def _settle(graph: Graph, at_entry: int) -> dict[int, int]:
    """Return what may be written where each block begins."""
    added: dict[int, int] = {}
    for block in graph.blocks.values():
        mask = _EVERYTHING if block.forgets else 0
        for step in block.steps:
            mask |= _written_by(step)
        added[block.start] = mask
    known = dict.fromkeys(graph.entries, at_entry)
    waiting = Worklist(known)
    while (start := waiting.take()) is not None:
        mask = known[start] | added[start]
        for successor in graph.blocks[start].successors:
            before = known.get(successor)
            if before is None or mask | before != before:
                known[successor] = mask | (before or 0)
                waiting.add(successor)
    return known


def _sinks(step: Step) -> Iterator[tuple[str, frozenset[int]]]:
    """Return what an instruction lets depend on registers, and the registers."""
    instruction, effects = step.instruction, step.effects
    if effects.address:
        yield "an address is made of", effects.address
    if instruction.name in CONDITIONS:
        yield "a branch depends on", effects.reads
    if instruction.name in ("s_setpc_b64", "s_swappc_b64"):
        yield "a jump goes to", effects.sources
    if effects.unit is Unit.SALU and effects.writes & EXEC_PAIR:
        yield "active lanes depend on", union(instruction.sources)
    if instruction.encoding in _RESULTS:
        yield "a result is", effects.data
