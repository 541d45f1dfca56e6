"""Loops of machine code: basic blocks, dominators, natural loops. Pure functions over decoded instructions.

A loop is what a jump back to a dominating block closes (Aho, Sethi, Ullman: "Compilers", 10.4); loops with one entry
are one. Jumps through registers lead nowhere here: where they go is not in the code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

_ENDS = ("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_setpc_b64", "s_rfe_b64")
_CONDITIONAL = ("s_cbranch_scc", "s_cbranch_vcc", "s_cbranch_exec", "s_cbranch_cdbg")


class Code(Protocol):
    """What is asked of a decoded instruction."""

    @property
    def name(self) -> str:
        """Its mnemonic."""

    @property
    def address(self) -> int:
        """Where it lies, in bytes."""

    @property
    def branch_target(self) -> int:
        """Where it jumps, if it is a branch."""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A natural loop: the number of the instruction that it is entered at, and those of all in it, sorted."""

    head: int
    instructions: tuple[int, ...]

    def holds(self, other: Loop) -> bool:
        """Say whether another loop is inside of this one."""
        return other.head != self.head and other.head in self.instructions


def find_loops(code: Sequence[Code]) -> tuple[Loop, ...]:
    """Return the loops of a kernel, in the order of the instructions that they are entered at.

    Args:
        code: its instructions in order, without gaps, the entry first.
    """
    if not code:
        return ()
    blocks = _blocks(code)
    following = _following(code, blocks)
    order = _postorder(following)
    above = _dominators(following, order)
    bodies: dict[int, set[int]] = {}
    before: list[list[int]] = [[] for _ in blocks]
    for block in order:
        for after in following[block]:
            before[after].append(block)
    for block in order:
        for after in following[block]:
            if _dominates(after, block, above):
                bodies.setdefault(after, {after}).update(_reaching(block, after, before))
    return tuple(
        Loop(
            head=blocks[head].start,
            instructions=tuple(number for block in sorted(bodies[head]) for number in blocks[block]),
        )
        for head in sorted(bodies)
    )


def _blocks(code: Sequence[Code]) -> list[range]:
    """Return the basic blocks as ranges of instruction numbers, in order."""
    numbers = {instruction.address: number for number, instruction in enumerate(code)}
    starts = {0}
    for number, instruction in enumerate(code):
        if _jumps(instruction.name) or instruction.name in _ENDS:
            starts.add(number + 1)
        if _jumps(instruction.name) and instruction.branch_target in numbers:
            starts.add(numbers[instruction.branch_target])
    edges = sorted(start for start in starts if start < len(code))
    return [range(start, end) for start, end in zip(edges, [*edges[1:], len(code)], strict=True)]


def _jumps(name: str) -> bool:
    return name == "s_branch" or name.startswith(_CONDITIONAL)


def _following(code: Sequence[Code], blocks: Sequence[range]) -> list[tuple[int, ...]]:
    """Return for each block the numbers of those that may come after it."""
    places = {code[block.start].address: number for number, block in enumerate(blocks)}
    found: list[tuple[int, ...]] = []
    for number, block in enumerate(blocks):
        last, after = code[block.stop - 1], []
        if last.name not in _ENDS and last.name != "s_branch" and number + 1 < len(blocks):
            after.append(number + 1)
        if _jumps(last.name) and last.branch_target in places:
            after.append(places[last.branch_target])
        found.append(tuple(after))
    return found


def _postorder(following: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the blocks that can be reached from the first, those before which all that follows them comes."""
    order: list[int] = []
    seen = {0}
    stack: list[tuple[int, Iterator[int]]] = [(0, iter(following[0]))] if following else []
    while stack:
        block, rest = stack[-1]
        after = next((number for number in rest if number not in seen), None)
        if after is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(after)
            stack.append((after, iter(following[after])))
    return order


def _dominators(following: Sequence[tuple[int, ...]], order: Sequence[int]) -> dict[int, int]:
    """Return the immediate dominator of each block (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm")."""
    rank = {block: number for number, block in enumerate(order)}
    before: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for after in following[block]:
            before[after].append(block)
    above = {order[-1]: order[-1]} if order else {}
    changed = True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            known = [other for other in before[block] if other in above]
            found = known[0]
            for other in known[1:]:
                found = _common(found, other, above, rank)
            changed |= above.get(block) != found
            above[block] = found
    return above


def _common(one: int, other: int, above: dict[int, int], rank: dict[int, int]) -> int:
    while one != other:
        while rank[one] < rank[other]:
            one = above[one]
        while rank[other] < rank[one]:
            other = above[other]
    return one


def _dominates(block: int, other: int, above: dict[int, int]) -> bool:
    while other != block and above[other] != other:
        other = above[other]
    return other == block


def _reaching(latch: int, head: int, before: Sequence[Sequence[int]]) -> set[int]:
    """Return the blocks from which the latch is reached without passing the head."""
    found, waiting = {latch}, [latch] if latch != head else []
    while waiting:
        for block in before[waiting.pop()]:
            if block != head and block not in found:
                found.add(block)
                waiting.append(block)
    return found
