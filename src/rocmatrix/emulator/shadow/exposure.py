"""What a block of generated code reads before it writes it: all of that must be defined when the block begins."""

from __future__ import annotations

from collections.abc import Iterable

from rocmatrix.emulator.instruction import EXEC

EVERYWHERE = (1 << 64) - 1
"""All lanes, as bits."""


class Exposure:
    """What a block needs to be defined when it begins, and what it defines.

    Attributes:
        active: vector registers that are read in active lanes.
        lanes: vector register -> lanes that are read whether active or not.
        inactive: the same, where the block itself has written the active lanes.
        scalars: scalar registers that are read.
        scc: whether SCC is read.
        first: whether lane 0 is read where none is active.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.active: set[int] = set()
        self.lanes: dict[int, int] = {}
        self.inactive: dict[int, int] = {}
        self.scalars: set[int] = set()
        self.scc = False
        self.first = False
        self._written: set[int] = set()
        self._written_everywhere: set[int] = set()
        self._scalars_written: set[int] = {EXEC, EXEC + 1}
        self._scc_written = False

    def read(self, number: int) -> None:
        """Note that active lanes of a vector register are read."""
        if number not in self._written:
            self.active.add(number)

    def read_lanes(self, number: int, lanes: int) -> None:
        """Note that some lanes of a vector register are read, active or not."""
        if number in self._written_everywhere:
            return
        needed = self.inactive if number in self._written else self.lanes
        needed[number] = needed.get(number, 0) | lanes

    def write(self, number: int, *, everywhere: bool = False) -> None:
        """Note that the active lanes of a vector register, or all of them, are written."""
        self._written.add(number)
        if everywhere:
            self._written_everywhere.add(number)

    def is_written(self, number: int) -> bool:
        """Say whether the active lanes of a vector register are written."""
        return number in self._written

    def read_scalar(self, index: int) -> None:
        """Note that a scalar register is read."""
        if index not in self._scalars_written:
            self.scalars.add(index)

    def write_scalar(self, index: int) -> None:
        """Note that a scalar register is written."""
        self._scalars_written.add(index)

    def read_scc(self) -> None:
        """Note that SCC is read."""
        self.scc = self.scc or not self._scc_written

    def write_scc(self) -> None:
        """Note that SCC is written."""
        self._scc_written = True

    def text(self) -> str:
        """Return the C that stops in front of a block unless all that it reads is defined."""
        lines = ["  const s_u64 exec_ = W->s[EXEC] | (s_u64)W->s[EXEC + 1] << 32;"]
        active = "(exec_ ? exec_ : ~0ull)" if self.first else "exec_"
        everywhere = [number for number, lanes in self.inactive.items() if lanes == EVERYWHERE]
        single = {number: lanes for number, lanes in self.inactive.items() if lanes != EVERYWHERE}
        conditions = []
        for name, registers, mask in (("active_", self.active, active), ("inactive_", everywhere, "~exec_")):
            if registers:
                lines.append(f"  {declared_list(name, registers)}")
                conditions.append(f"undefined_lanes(W, {name}, {len(registers)}) & {mask}")
        for chosen, mask in ((self.lanes, ""), (single, " & ~exec_")):
            conditions += [f"W->shadow->lanes[{n}] & {lanes:#x}ull{mask}" for n, lanes in sorted(chosen.items())]
        if self.scalars:
            lines.append(f"  {declared_list('scalars_', self.scalars)}")
            conditions.append(f"undefined_scalars(W, scalars_, {len(self.scalars)})")
        if self.scc:
            conditions.append("W->shadow->scc")
        if not conditions:
            return ""
        return "\n".join([*lines, f"  if ({' || '.join(f'({text})' for text in conditions)}) return UNWRITTEN;\n"])


def declared_list(name: str, numbers: Iterable[int]) -> str:
    """Return the C of a list of registers."""
    return f"static const s_u16 {name}[] = {{{', '.join(map(str, sorted(numbers)))}}};"
