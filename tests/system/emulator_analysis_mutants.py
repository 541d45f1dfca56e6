"""Waits and wait states of compiled code, each weakened in the bytes of a code object; and the reasons for which that
may rightly go unseen: a closed list, each with a proof that is computed for the mutant at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rocmatrix.emulator import analysis
from rocmatrix.emulator.analysis.code import Step
from rocmatrix.emulator.analysis.effects import FIRST_VGPR
from rocmatrix.emulator.analysis.flow_graph import Graph, read_graph
from rocmatrix.emulator.analysis.hazards import find_hazards
from rocmatrix.emulator.analysis.waits import WaitFinder
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.instruction import Encoding, Instruction
from rocmatrix.emulator.reports import Detector, Fault
from rocmatrix.emulator.wait_counts import MAX_LGKMCNT, MAX_VMCNT, wait_of
from tests.system.emulator_analysis_paths import is_complete_before_use

_NOP, _WAIT = 0xBF800000, 0xBF8C0000
_NO_EXPCNT = 7 << 4
_SPILL_PARTS = 32
"""Registers of the largest tuple that is spilled at once."""

NOTHING_TO_WAIT_FOR = "the wait completes nothing that the weakened one does not: on no path is there anything"
WAITED_LATER = "what only the original completes is complete, on every path, before anything needs it"
LOADED_TO_LDS = "whether anybody reads too early what is loaded to LDS is for the race detector, which sees addresses"
LOOP_END = (
    "LLVM measured across the end of a loop before it had put wait states there, which are now far more than enough"
)
SPILLED_TUPLE = "LLVM takes the first part of a spilled register tuple for a write of the whole tuple; it only reads it"
PACKED_SOURCE = "LLVM takes op_sel_hi of a packed operation's first source for op_sel of its result: it is the same bit"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One weakened instruction: other bytes at its address."""

    instruction: Instruction
    change: str
    data: bytes

    @property
    def detector(self) -> Detector:
        """Who should see it."""
        return Detector.HAZARDS if self.instruction.name == "s_nop" else Detector.WAITS


def patched(code_object: CodeObject, mutant: Mutant) -> CodeObject:
    """Return the code object with a mutant's bytes."""
    address, segments = mutant.instruction.address, []
    for segment in code_object.segments:
        first = address - segment.address
        if 0 <= first < len(segment.data):
            data = segment.data[:first] + mutant.data + segment.data[first + len(mutant.data) :]
            segments.append(replace(segment, data=data))
        else:
            segments.append(segment)
    return replace(code_object, segments=tuple(segments))


def found(code_object: CodeObject, kernel: str, mutant: Mutant) -> tuple[Fault, ...]:
    """Return what the detector of a mutant finds in it."""
    return analysis.analyze(patched(code_object, mutant), kernel, frozenset((mutant.detector,))).findings


def mutants_of(graph: Graph) -> Iterator[Mutant]:
    """Return every ``s_nop`` lowered by one, or moved behind its consumer; every counter of every wait raised by one;
    every wait without effect."""
    steps = ordered(graph)
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        instruction = step.instruction
        if instruction.name == "s_nop":
            if instruction.immediate:
                data = (_NOP | instruction.immediate - 1).to_bytes(4, "little")
                yield Mutant(instruction=instruction, change="lowered", data=data)
            elif following is not None and following.instruction.address not in graph.blocks:
                yield Mutant(instruction=instruction, change="moved", data=following.encoding + step.encoding)
        elif (wait := wait_of(instruction)) is not None:
            if wait.vm < MAX_VMCNT:
                yield Mutant(instruction=instruction, change="vmcnt", data=_wait(wait.vm + 1, wait.lgkm))
            if wait.lgkm < MAX_LGKMCNT:
                yield Mutant(instruction=instruction, change="lgkmcnt", data=_wait(wait.vm, wait.lgkm + 1))
            yield Mutant(instruction=instruction, change="removed", data=_wait(MAX_VMCNT, MAX_LGKMCNT))


def ordered(graph: Graph) -> list[Step]:
    """Return the instructions of a graph by address."""
    return sorted(graph.steps, key=lambda step: step.instruction.address)


def _wait(vmcnt: int, lgkmcnt: int) -> bytes:
    bits = vmcnt & 0xF | vmcnt >> 4 << 14 | _NO_EXPCNT | lgkmcnt << 8
    return (_WAIT | bits).to_bytes(4, "little")


# -- reasons -------------------------------------------------------------------------------------------------------


def excuse(code_object: CodeObject, kernel: str, mutant: Mutant) -> str | None:
    """Return why a mutant is rightly not seen, or ``None`` if there is no reason on the list."""
    graph = read_graph(code_object, code_object.kernel(kernel))
    if mutant.detector is Detector.WAITS:
        left = _left_under_way(graph, mutant)
        changed = read_graph(patched(code_object, mutant), code_object.kernel(kernel))
        started = [step for step in ordered(changed) if step.instruction.address in left]
        if not started:
            return NOTHING_TO_WAIT_FOR
        if any(step.instruction.memory is not None and step.instruction.memory.lds for step in started):
            return LOADED_TO_LDS
        return WAITED_LATER if all(is_complete_before_use(changed, step) for step in started) else None
    if _is_loop_end(graph, code_object, kernel, mutant):
        return LOOP_END
    before, after = _neighbours(graph, mutant)
    if any(_spills_part_of(step, after) for step in before):
        return SPILLED_TUPLE
    return PACKED_SOURCE if _packs_into(before[-1], after) else None


def _left_under_way(graph: Graph, mutant: Mutant) -> set[int]:
    """Return the accesses that the wait completes on some path and the mutant does not, by address."""
    finder = WaitFinder(graph)
    immediate = int.from_bytes(mutant.data, "little") & 0xFFFF
    weaker = replace(mutant.instruction, immediate=immediate)
    found: set[int] = set()
    for start, at_start in finder.settle().items():
        scoreboard = at_start.copy()
        for step in graph.blocks[start].steps:
            if step.instruction.address == mutant.instruction.address:
                original, changed = scoreboard.copy(), scoreboard.copy()
                finder.advance(original, step.instruction)
                finder.advance(changed, weaker)
                more = {
                    address for address, left in changed.unordered.items() if left != original.unordered.get(address)
                }
                found |= more | set(changed.pending) - set(original.pending)
            finder.advance(scoreboard, step.instruction)
    return found


def _is_loop_end(graph: Graph, code_object: CodeObject, kernel: str, mutant: Mutant) -> bool:
    """Say whether the mutant is a hazard without the ``s_nop`` behind it, as LLVM saw it, and the original not."""
    changed = read_graph(patched(code_object, mutant), code_object.kernel(kernel))
    place = mutant.instruction.address
    as_seen = {fault.instruction for fault in find_hazards(_without_nops_behind(changed, place))}
    as_made = {fault.instruction for fault in find_hazards(_without_nops_behind(graph, place))}
    return len(as_seen) > len(as_made)


def _without_nops_behind(graph: Graph, place: int) -> Graph:
    """Return a graph without what keeps instructions of higher addresses apart."""
    blocks = {
        start: replace(
            block,
            steps=tuple(
                step
                for step in block.steps
                if step.instruction.name != "s_nop" or step.instruction.address <= place + _longest(step)
            ),
        )
        for start, block in graph.blocks.items()
    }
    return replace(graph, blocks=blocks)


def _longest(step: Step) -> int:
    """A moved ``s_nop`` lies one instruction further on."""
    return 8 if not step.instruction.immediate else 0


def _neighbours(graph: Graph, mutant: Mutant) -> tuple[list[Step], Step]:
    """Return the instructions just before a mutant, as far as a spill reaches, and the one behind it."""
    steps = ordered(graph)
    place = next(n for n, step in enumerate(steps) if step.instruction.address == mutant.instruction.address)
    return steps[max(0, place - 3) : place], steps[place + 1]


def _spills_part_of(step: Step, after: Step) -> bool:
    """Say whether two instructions save parts of one tuple: SGPRs into lanes, VGPRs into scratch."""
    names = {step.instruction.name, after.instruction.name}
    if names == {"v_writelane_b32"}:
        registers = [other.instruction.sources[0].index for other in (step, after)]
    elif all("_store_" in name for name in names) and step.instruction.encoding is Encoding.SCRATCH:
        registers = [other.instruction.sources[-1].index for other in (step, after)]
    else:
        return False
    return abs(registers[0] - registers[1]) < _SPILL_PARTS


def _packs_into(step: Step, after: Step) -> bool:
    """Say whether a packed operation whose first source has op_sel_hi writes what is used behind it."""
    instruction = step.instruction
    written = {register for register in step.effects.writes if register >= FIRST_VGPR}
    packed = instruction.encoding is Encoding.VOP3P and instruction.op_sel_hi & 1
    return bool(packed and written & after.effects.everything)
