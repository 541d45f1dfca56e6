"""Code that a compiler has put at two places: what is executed from either is the same."""

from __future__ import annotations

from rocmatrix.emulator.instruction import Instruction
from tests.mutation.operators import Listing

_LONGEST = 40
"""Instructions of a copy, at most, for a proof."""
_WHERE_IT_IS = ("s_getpc", "s_call", "s_swappc", "s_setpc", "s_rfe", "s_trap", "s_endpgm", "s_cbranch")
"""Instructions that depend on where they are, or that end; conditional branches are compared by where they go."""


class Copies:
    """Finds copies in a kernel's code."""

    def __init__(self, listing: Listing) -> None:
        """Take the code."""
        self._code = listing.code
        self._instructions = {each.address: each for each in listing.instructions}

    def are_same(self, one: int, other: int) -> bool:
        """Say whether the same instructions are executed from two places, on all paths, until both are at one place."""
        return self.compared(one, other) is not None

    def compared(self, one: int, other: int) -> frozenset[int] | None:
        """Return the places of all instructions of two copies; ``None`` if they are none."""
        places = set[int]()
        return frozenset(places) if self._are_same(one, other, set(), places) else None

    def _are_same(self, one: int, other: int, seen: set[tuple[int, int]], places: set[int]) -> bool:
        while True:
            one, other = self._behind_jumps(one, places), self._behind_jumps(other, places)
            if one == other or (one, other) in seen:
                return True
            seen.add((one, other))
            places |= {one, other}
            first, second = self._instructions.get(one), self._instructions.get(other)
            if first is None or second is None or len(seen) > _LONGEST:
                return False
            ways, same = _ways(first), _ways(second)
            if ways is not None and same is not None:
                both = ways.keys() == same.keys()
                return both and all(self._are_same(ways[key], same[key], seen, places) for key in ways)
            if first.name.startswith(_WHERE_IT_IS) or self._bytes(first) != self._bytes(second):
                return False
            one, other = first.next_address, second.next_address

    def _behind_jumps(self, place: int, places: set[int]) -> int:
        """Return where control goes on from a place behind branches that are always taken, and note these."""
        for _ in range(_LONGEST):
            instruction = self._instructions.get(place)
            if instruction is None or instruction.name != "s_branch":
                break
            places.add(place)
            place = instruction.branch_target
        return place

    def _bytes(self, instruction: Instruction) -> bytes:
        return self._code[instruction.address : instruction.next_address]


def _ways(branch: Instruction) -> dict[str, int] | None:
    """Return where a conditional branch goes when its condition holds or not, whichever form of it asks for it."""
    for condition, opposite in (("scc1", "scc0"), ("vccnz", "vccz"), ("execnz", "execz")):
        if branch.name == f"s_cbranch_{condition}":
            return {condition: branch.branch_target, opposite: branch.next_address}
        if branch.name == f"s_cbranch_{opposite}":
            return {condition: branch.next_address, opposite: branch.branch_target}
    return None
