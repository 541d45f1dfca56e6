"""Mutants: machine code with one instruction removed or altered in place, by a closed list of operators.

Every operator keeps the size of the instruction, so that all other addresses stay as they are. An alteration is a
change of one bit, found by decoding: among all bits of an instruction those count that change what the operator is
about, and nothing else. Of several the one is taken that changes least, and tuples of registers stay aligned, so that
a mutant is a plausible slip and not nonsense that any executor would refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from rocmatrix.emulator.decoder import decode
from rocmatrix.emulator.instruction import Encoding, Instruction, Operand, RegisterFile
from rocmatrix.emulator.reports import UnsupportedError

NOTHING = bytes.fromhex("000080bf")
"""``s_nop 0``: takes the place of each dword of an instruction that is removed."""
_ALIGNED = (RegisterFile.SGPR, RegisterFile.VGPR, RegisterFile.AGPR)
_LONGEST_NOP = 0xF


class Operator(StrEnum):
    """What is done to an instruction."""

    REMOVE = "remove"
    """Any instruction but ``s_nop`` is gone."""
    WEAKER_WAIT = "weaker wait"
    """A counter of ``s_waitcnt`` may be one higher."""
    SHORTER_NOP = "shorter s_nop"
    """``s_nop`` takes one wait state less; one of a single wait state changes places with the instruction before it."""
    SOURCE = "other source"
    """A register that is read is another one."""
    DESTINATION = "other destination"
    """A register that is written is another one."""
    OFFSET = "other offset"
    """The offset of a memory access is another one."""
    CONSTANT = "other constant"
    """An inline constant, a literal or an immediate is another one."""
    INVERTED_BRANCH = "inverted branch"
    """A conditional branch is taken where it was not."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of a kernel's code.

    Attributes:
        offset: where the first changed instruction lies, in bytes from the kernel's entry.
        operator: what was done.
        index: which of several operands or counters it was done to.
        before: the bytes that are replaced.
        after: the bytes in their place.
        instruction: the instruction as it was.
    """

    offset: int
    operator: Operator
    index: int
    before: bytes
    after: bytes
    instruction: Instruction

    @property
    def key(self) -> str:
        """What tells it from the other mutants of its kernel."""
        return f"{self.offset:x} {self.operator} {self.index}"

    @property
    def places(self) -> frozenset[int]:
        """Offsets of the dwords that are replaced."""
        return frozenset(range(self.offset, self.offset + len(self.before), 4))

    def __str__(self) -> str:
        """Return place, operator and both forms."""
        return f"{self.offset:#x} {self.instruction.name}: {self.operator} ({self.before.hex()} -> {self.after.hex()})"


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A kernel's instructions in their order, with addresses from its entry, and their bytes."""

    code: bytes
    instructions: tuple[Instruction, ...]

    @property
    def targets(self) -> frozenset[int]:
        """Offsets that branches go to."""
        return frozenset(each.branch_target for each in self.instructions if _is_branch(each))


def list_kernel(code: bytes) -> Listing:
    """Decode a kernel up to the last ``s_endpgm`` that something of it reaches.

    Args:
        code: from its entry to the end of its section; other kernels may follow.
    """
    instructions: list[Instruction] = []
    place = furthest = 0
    while True:
        instruction = decode(code[place : place + 16], place)
        instructions.append(instruction)
        place = instruction.next_address
        if _is_branch(instruction):
            furthest = max(furthest, instruction.branch_target)
        if instruction.name in {"s_endpgm", "s_branch", "s_setpc_b64"} and place > furthest:
            return Listing(code=code[:place], instructions=tuple(instructions))


def mutants(listing: Listing) -> Iterator[Mutant]:
    """Return every mutant of a kernel, in the order of its code."""
    for number, instruction in enumerate(listing.instructions):
        before = listing.code[instruction.address : instruction.next_address]
        if instruction.name == "s_nop":
            yield from _nops(listing, number)
            continue
        yield _mutant(instruction, Operator.REMOVE, before, NOTHING * (len(before) // 4))
        if instruction.name == "s_waitcnt":
            yield from _waits(instruction, before)
        elif instruction.name.startswith("s_cbranch"):
            yield _mutant(instruction, Operator.INVERTED_BRANCH, before, _flipped(before, 16))
        elif instruction.encoding is not Encoding.SOPP:
            yield from _alterations(instruction, before)


def _mutant(instruction: Instruction, operator: Operator, before: bytes, after: bytes, index: int = 0) -> Mutant:
    return Mutant(
        offset=instruction.address, operator=operator, index=index, before=before, after=after, instruction=instruction
    )


def _is_branch(instruction: Instruction) -> bool:
    return instruction.name == "s_branch" or instruction.name.startswith("s_cbranch")


def _nops(listing: Listing, number: int) -> Iterator[Mutant]:
    instruction = listing.instructions[number]
    before = listing.code[instruction.address : instruction.next_address]
    states = instruction.immediate & _LONGEST_NOP
    if states:
        after = (int.from_bytes(before, "little") - 1).to_bytes(4, "little")
        yield _mutant(instruction, Operator.SHORTER_NOP, before, after)
        return
    previous = listing.instructions[number - 1] if number else None
    if previous is None or previous.encoding is Encoding.SOPP or instruction.address in listing.targets:
        return  # nothing is before it on every path
    both = listing.code[previous.address : instruction.next_address]
    made = _mutant(previous, Operator.SHORTER_NOP, both, before + both[: previous.size])
    yield replace(made, instruction=instruction)


_COUNTERS = (((0, 4), (14, 2)), ((4, 3),), ((8, 4),))
"""Fields of ``s_waitcnt`` on GFX9, first bit and width, lower part first: vmcnt, expcnt, lgkmcnt (LLVM)."""


def _waits(instruction: Instruction, before: bytes) -> Iterator[Mutant]:
    immediate = instruction.immediate
    for index, parts in enumerate(_COUNTERS):
        value, width = 0, 0
        for first, bits in parts:
            value |= (immediate >> first & (1 << bits) - 1) << width
            width += bits
        if value == (1 << width) - 1:
            continue  # this counter is not waited for
        changed, shift = immediate, 0
        for first, bits in parts:
            mask = (1 << bits) - 1
            changed = changed & ~(mask << first) | (((value + 1) >> shift) & mask) << first
            shift += bits
        yield _mutant(instruction, Operator.WEAKER_WAIT, before, changed.to_bytes(2, "little") + before[2:], index)


def _alterations(instruction: Instruction, before: bytes) -> Iterator[Mutant]:
    """Return at most one mutant for each operand, offset and immediate."""
    found: dict[tuple[Operator, int], tuple[int, bytes]] = {}
    for bit in range(8 * len(before)):
        after = _flipped(before, bit)
        try:
            changed = decode(after + bytes(16 - len(after)), instruction.address)
        except (UnsupportedError, ValueError):
            continue
        what = _difference(instruction, changed)
        if what is None:
            continue
        operator, index, distance = what
        if (operator, index) not in found or distance < found[operator, index][0]:
            found[operator, index] = distance, after
    for (operator, index), (_distance, after) in found.items():
        yield _mutant(instruction, operator, before, after, index)


def _flipped(code: bytes, bit: int) -> bytes:
    return (int.from_bytes(code, "little") ^ 1 << bit).to_bytes(len(code), "little")


def _difference(old: Instruction, new: Instruction) -> tuple[Operator, int, int] | None:
    """Say what one instruction has otherwise than another, how far off it is; ``None`` if it is not one such thing."""
    if (new.name, new.encoding, new.size) != (old.name, old.encoding, old.size):
        return None
    if replace(new, sources=old.sources) == old:
        return _operand(old.sources, new.sources, Operator.SOURCE)
    if replace(new, destinations=old.destinations) == old:
        return _operand(old.destinations, new.destinations, Operator.DESTINATION)
    if replace(new, immediate=old.immediate) == old:
        return Operator.CONSTANT, -1, abs(new.immediate - old.immediate)
    if replace(new, memory=old.memory) == old:
        return _offset(old, new)
    same = replace(new, sources=old.sources, destinations=old.destinations) == old
    return _shared(old, new) if same else None


def _operand(
    old: tuple[Operand, ...], new: tuple[Operand, ...], operator: Operator
) -> tuple[Operator, int, int] | None:
    places = [place for place, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    if len(places) != 1:
        return None
    before, after = old[places[0]], new[places[0]]
    if replace(after, index=before.index) != before:
        return None
    distance = _distance(before, after)
    if before.file in _ALIGNED:
        return None if before.count > 1 and distance % 2 else (operator, places[0], distance)
    return Operator.CONSTANT, places[0], distance


def _distance(old: Operand, new: Operand) -> int:
    return abs(new.index - old.index)


def _shared(old: Instruction, new: Instruction) -> tuple[Operator, int, int] | None:
    """Say how far a destination that is read too moved, as that of an accumulating instruction."""
    moved = [pair for pair in zip(old.destinations, new.destinations, strict=True) if pair[0] != pair[1]]
    read = [pair for pair in zip(old.sources, new.sources, strict=True) if pair[0] != pair[1]]
    aligned = all(pair[0].count == 1 or _distance(*pair) % 2 == 0 for pair in moved)
    return (Operator.DESTINATION, 0, _distance(*moved[0])) if len(moved) == 1 and read == moved and aligned else None


def _offset(old: Instruction, new: Instruction) -> tuple[Operator, int, int] | None:
    """Offsets move by whole words where the access is one, so that it stays as aligned as it was."""
    if old.memory is None or new.memory is None:
        return None
    for index, field in enumerate(("offset", "offset1")):
        if replace(new.memory, **{field: getattr(old.memory, field)}) == old.memory:
            distance = abs(getattr(new.memory, field) - getattr(old.memory, field))
            return (Operator.OFFSET, index, distance) if distance >= _least(old) else None
    return None


def _least(instruction: Instruction) -> int:
    small: Callable[[str], bool] = instruction.name.__contains__
    if any(map(small, ("read2", "write2", "ubyte", "sbyte", "_u8", "_i8", "_b8", "byte"))):
        return 1
    return 2 if any(map(small, ("short", "16"))) else 4
