"""Natural loops by their definition, instruction by instruction: slow, and plain enough to be believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocmatrix.audit.loops import Code


def by_definition(code: Sequence[Code]) -> set[tuple[int, tuple[int, ...]]]:
    """Return entry and instructions of each natural loop; whether a block dominates is tried by leaving it out."""
    places = {line.address: number for number, line in enumerate(code)}

    def after(number: int) -> Iterable[int]:
        line = code[number]
        if line.name not in ("s_endpgm", "s_branch", "s_setpc_b64") and number + 1 < len(code):
            yield number + 1
        if line.name.startswith(("s_branch", "s_cbranch")) and line.branch_target in places:
            yield places[line.branch_target]

    def reached(without: int | None, start: int = 0) -> set[int]:
        found, waiting = set(), [start]
        while waiting:
            number = waiting.pop()
            if number != without and number not in found:
                found.add(number)
                waiting += after(number)
        return found

    everything = reached(None)
    bodies: dict[int, set[int]] = {}
    for latch in everything:
        for head in after(latch):
            if head == latch or latch not in reached(head):  # the head dominates: without it the latch is not reached
                inside = {n for n in everything if n != head and latch in reached(head, n)} | {head, latch}
                bodies.setdefault(head, set()).update(inside)
    return {(head, tuple(sorted(body))) for head, body in bodies.items()}
