"""What moves the program counter or the wave's life, as data: each executor has its own way to follow it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from rocmatrix.emulator.algebra import U32, Value
from rocmatrix.emulator.instruction import EXECZ, SCC, VCCZ, Encoding, Instruction
from rocmatrix.emulator.semantics.machine import Machine


class Flow(Enum):
    """What happens after an instruction."""

    NEXT = auto()
    """The next instruction; the instruction itself did nothing that this emulator models."""
    BRANCH = auto()
    """To ``branch_target`` if a condition holds, which there always is but for ``s_branch``."""
    JUMP = auto()
    """To an address in registers, or a call: the destination gets the address of the next instruction."""
    BARRIER = auto()
    END = auto()
    TRAP = auto()
    YIELD = auto()
    """The next instruction, after other waves had their turn."""


FLOWS = {
    "s_nop": Flow.NEXT,
    "s_waitcnt": Flow.NEXT,
    "s_setprio": Flow.NEXT,
    "s_wakeup": Flow.NEXT,
    "s_icache_inv": Flow.NEXT,
    "s_incperflevel": Flow.NEXT,
    "s_decperflevel": Flow.NEXT,
    "s_ttracedata": Flow.NEXT,
    "s_sleep": Flow.YIELD,
    "s_barrier": Flow.BARRIER,
    "s_endpgm": Flow.END,
    "s_trap": Flow.TRAP,
    "s_branch": Flow.BRANCH,
    "s_cbranch_scc0": Flow.BRANCH,
    "s_cbranch_scc1": Flow.BRANCH,
    "s_cbranch_vccz": Flow.BRANCH,
    "s_cbranch_vccnz": Flow.BRANCH,
    "s_cbranch_execz": Flow.BRANCH,
    "s_cbranch_execnz": Flow.BRANCH,
    "s_setpc_b64": Flow.JUMP,
    "s_swappc_b64": Flow.JUMP,
    "s_call_b64": Flow.JUMP,
}
"""Control instructions. Waits do nothing here: who lets loads arrive late sees to them (``pending``)."""

CONDITIONS: dict[str, Callable[[Machine], Value]] = {
    "s_cbranch_scc0": lambda machine: machine.special(SCC, U32) == 0,
    "s_cbranch_scc1": lambda machine: machine.special(SCC, U32) != 0,
    "s_cbranch_vccz": lambda machine: machine.special(VCCZ, U32) != 0,
    "s_cbranch_vccnz": lambda machine: machine.special(VCCZ, U32) == 0,
    "s_cbranch_execz": lambda machine: machine.special(EXECZ, U32) != 0,
    "s_cbranch_execnz": lambda machine: machine.special(EXECZ, U32) == 0,
}
"""When a branch is taken, as a scalar BOOL; a name that is not here is always taken."""


def ends_block(instruction: Instruction) -> bool:
    """Say whether the program counter may go elsewhere than to the next instruction, or the wave may stop here."""
    return FLOWS.get(instruction.name, Flow.NEXT) is not Flow.NEXT and instruction.encoding in (
        Encoding.SOPP,
        Encoding.SOP1,
        Encoding.SOPK,
    )
