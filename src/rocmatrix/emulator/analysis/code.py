"""Decoded code of a kernel, and the blocks that it is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from rocmatrix.emulator.analysis.effects import Effects, effects_of
from rocmatrix.emulator.code_object import CodeObject, Segment
from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.reports import UnsupportedError

_WORD, _LONGEST = 4, 16
_REMEMBERED = 1 << 16
"""Encodings whose meaning is kept: decoding is most of an analysis, and code repeats itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """An instruction, its bytes, and what it does to registers."""

    instruction: Instruction
    encoding: bytes
    effects: Effects


@lru_cache(maxsize=_REMEMBERED)
def step_of(encoding: bytes) -> Step:
    """Return what the bytes of an instruction mean, at address 0."""
    instruction = decode(encoding, 0)
    return Step(instruction=instruction, encoding=encoding, effects=effects_of(instruction))


@lru_cache(maxsize=_REMEMBERED)
def _placed(encoding: bytes, address: int) -> Step:
    """Return what the bytes of an instruction mean at an address."""
    known = step_of(encoding)
    return replace(known, instruction=replace(known.instruction, address=address))


@lru_cache(maxsize=_REMEMBERED)
def _size_of(word: bytes) -> int:
    """Return how long an instruction is that begins with a word; the first word decides."""
    return decode(word.ljust(_LONGEST, b"\0"), 0).size


class Code:
    """The code of a code object, decoded where it is asked for."""

    def __init__(self, code_object: CodeObject, kernel: str) -> None:
        """Take the code of a code object; ``kernel`` is for messages."""
        self._kernel = kernel
        self._segments = tuple(segment for segment in code_object.segments if not segment.writable)
        self._steps: dict[int, Step] = {}

    def at(self, address: int) -> Step:
        """Return the instruction at an address of the image.

        Raises:
            UnsupportedError: there is no code, or it is no instruction.
        """
        found = self._steps.get(address)
        if found is None:
            found = self._steps[address] = self._decode(address)
        return found

    def _decode(self, address: int) -> Step:
        segment = self._segment(address)
        first = address - segment.address
        try:
            size = _size_of(segment.data[first : first + _WORD])
            return _placed(segment.data[first : first + size], address)
        except UnsupportedError:
            decode(segment.data[first : first + _LONGEST], address)  # the same refusal, with the place
            raise

    def _segment(self, address: int) -> Segment:
        for segment in self._segments:
            if segment.address <= address < segment.address + len(segment.data) and address % _WORD == 0:
                return segment
        raise UnsupportedError(f"code at {address:#x}, where the code object has none", kernel=self._kernel)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Instructions that are executed one after the other.

    Attributes:
        start: address of the first.
        steps: all of them; the last one may be control flow.
        successors: starts of the blocks that may be next.
        forgets: whether what happens between this block and the next is not known: a call to somewhere.
    """

    start: int
    steps: tuple[Step, ...]
    successors: tuple[int, ...]
    forgets: bool = False
