"""Ways on which control comes to a place: what was executed last before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rocmatrix.emulator.instruction import Instruction
from tests.mutation.equivalence import following

_LONGEST, _MOST, _SHORT = 160, 4, 24
"""Instructions of one way; ways that are looked at apart where they meet; instructions of a way that is tried first,
because a solver may lose itself in what led to its beginning."""
_BEGINNING = -1


class Ways:
    """Ways through a kernel's code, back from any place."""

    def __init__(
        self,
        instructions: Sequence[Instruction],
        entries: Sequence[int],
        following_of: Callable[[Instruction], Sequence[int]],
    ) -> None:
        """Take the code.

        Args:
            instructions: of it.
            entries: where waves begin.
            following_of: returns where an instruction leads; branches that may as well be never taken do not jump.
        """
        self._instructions = {each.address: each for each in instructions}
        self._sources = self._sources_of(following_of, entries)
        for place, sources in self._sources_of(following, entries).items():
            self._sources.setdefault(place, sources)  # what only such a branch leads to

    def _sources_of(
        self, following_of: Callable[[Instruction], Sequence[int]], entries: Sequence[int]
    ) -> dict[int, list[int]]:
        """Return what leads to each place that is reached from the beginning, as far as it is reached itself."""
        sources: dict[int, list[int]] = {entry: [_BEGINNING] for entry in entries}
        waiting = [*sources]
        while waiting:
            instruction = self._instructions.get(waiting.pop())
            if instruction is None:
                continue
            for place in following_of(instruction):
                if place not in sources:
                    sources[place] = []
                    waiting.append(place)
                sources[place].append(instruction.address)
        return sources

    def to(self, place: int) -> Iterator[list[list[int]]]:
        """Return what was executed before a place, the latest last: on the only way, then on each of a few that meet.

        Every path to the place ends with one of the ways. Of a long way its end is returned first.
        """
        way = self._only(place)
        if len(way) > _SHORT:
            yield [way[-_SHORT:]]
        yield [way]
        sources = self._sources.get(way[0] if way else place, [])
        if 1 < len(sources) <= _MOST and _BEGINNING not in sources:
            yield [[*self._only(source), source, *way] for source in sources]

    def _only(self, place: int) -> list[int]:
        """Return what was executed before a place on every path to it."""
        before: list[int] = []
        while len(before) < _LONGEST:
            sources = self._sources.get(place, [])
            if len(sources) != 1 or sources[0] == _BEGINNING or sources[0] in before:
                break
            place = sources[0]
            before.append(place)
        return before[::-1]
