"""What instructions a kernel and its hot loop are made of. Pure functions over decoded instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rocmatrix.audit.loops import Loop, find_loops
from rocmatrix.audit.steps import Step
from rocmatrix.binary.kernel_facts import HotLoop, InstructionMix
from rocmatrix.emulator.instruction import VECTOR_MEMORY, Encoding

_MATRIX = ("v_mfma_", "v_smfmac_")
_BRANCHES = ("s_branch", "s_cbranch", "s_call_b64", "s_setpc_b64", "s_swappc_b64")
_SCALAR = (Encoding.SOP1, Encoding.SOP2, Encoding.SOPC, Encoding.SOPK)


def mix_of(code: Iterable[Step]) -> InstructionMix:
    """Return how many instructions of each class some code has."""
    matrix: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for instruction in code:
        if instruction.name.startswith(_MATRIX):
            matrix[instruction.name] += 1
        else:
            counts[_class_of(instruction)] += 1
    return InstructionMix(
        matrix=dict(sorted(matrix.items())),
        valu=counts["valu"],
        salu=counts["salu"],
        lds=counts["lds"],
        vmem=counts["vmem"],
        smem=counts["smem"],
        barriers=counts["barriers"],
        waits=counts["waits"],
        branches=counts["branches"],
        other=counts["other"],
    )


def hot_loop(code: Sequence[Step]) -> HotLoop | None:
    """Return the loop in which a kernel most likely spends its time; ``None`` if it has no loop.

    Of the loops with matrix instructions that hold no other such loop it is the one with most of them; without any
    matrix instruction, the largest of the loops that hold no other. Of equal ones it is the larger, then the first.
    """
    loops = find_loops(code)
    weights = {loop: sum(code[number].name.startswith(_MATRIX) for number in loop.instructions) for loop in loops}
    heavy = [loop for loop in loops if weights[loop]] or list(loops)
    inner = [loop for loop in heavy if not any(loop.holds(other) for other in heavy)]
    if not inner:
        return None
    chosen = max(inner, key=lambda loop: (weights[loop], len(loop.instructions), -loop.head))
    return _described(code, chosen)


def _described(code: Sequence[Step], loop: Loop) -> HotLoop:
    return HotLoop(
        address=code[loop.instructions[0]].address,
        end=code[loop.instructions[-1]].address,
        instructions=len(loop.instructions),
        mix=mix_of(code[number] for number in loop.instructions),
    )


def _class_of(instruction: Step) -> str:
    name, encoding = instruction.name, instruction.encoding
    by_name = {"s_barrier": "barriers"}.get(name)
    if by_name is None and name.startswith("s_waitcnt"):
        by_name = "waits"
    if by_name is None and name.startswith(_BRANCHES):
        by_name = "branches"
    if by_name is not None:
        return by_name
    if encoding in VECTOR_MEMORY:
        return "vmem"
    by_encoding = {Encoding.DS: "lds", Encoding.SMEM: "smem", Encoding.SOPP: "other"}.get(encoding)
    return by_encoding or ("salu" if encoding in _SCALAR else "valu")
