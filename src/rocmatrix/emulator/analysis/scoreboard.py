"""What is under way at a point of the code, on the worst of all paths to it.

Each memory instruction is an event, known by its address; the event of a loop's next turn replaces that of the one
before, which came before it in order. Of events that complete in their order the scoreboard knows how many such events
were issued since, at least: waiting until ``n`` are left completes those with ``n`` or more behind them. Everything
else is complete only when its counter is zero.

Source: CDNA 3 ISA document, section 4.4 "Data Dependency Resolution" and 10.2.2 "Important Timing Consideration".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntFlag, auto

from rocmatrix.emulator.analysis.effects import NONE, Effects, Unit
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.wait_counts import MAX_LGKMCNT, MAX_VMCNT


class Order(Enum):
    """How an event completes with respect to others."""

    MEMORY = auto()
    """vmcnt, in order of issue, loads and stores alike."""
    LDS = auto()
    """lgkmcnt, in order of issue among LDS instructions."""
    SCALAR = auto()
    """lgkmcnt, in any order: scalar memory, messages, the global data share."""
    FLAT = auto()
    """On both counters, on each of them in any order."""
    WRITEBACK = auto()
    """A write-back of caches: done when vmcnt is zero, and no memory access."""


class Touch(IntFlag):
    """What an event does with LDS."""

    NOTHING = 0
    READS = auto()
    WRITES = auto()


_NO_LDS = ("ds_bpermute", "ds_permute", "ds_swizzle", "ds_nop", "ds_gws")
_MESSAGES = ("s_sendmsg", "s_sendmsghalt")


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that an instruction starts and that goes on behind it.

    Attributes:
        instruction: what started it.
        order: how it completes.
        results: registers that it will write.
        lds: what an LDS instruction does with LDS.
        loads: whether memory is read: a load, or an atomic.
    """

    instruction: Instruction
    order: Order
    results: frozenset[int]
    lds: Touch
    loads: bool

    @property
    def matters(self) -> bool:
        """Whether anything may come too early for it; a store to memory only counts."""
        return self.loads or bool(self.results or self.lds)


def event_of(instruction: Instruction, effects: Effects) -> Event | None:
    """Return what an instruction starts, if anything."""
    order = _order(instruction, effects.unit)
    if order is None:
        return None
    results = NONE if order is Order.WRITEBACK else effects.writes
    loads = "_load_" in instruction.name or "_atomic_" in instruction.name
    return Event(
        instruction=instruction,
        order=order,
        results=results,
        lds=_touch(instruction, effects.unit),
        loads=loads and order in (Order.MEMORY, Order.FLAT),
    )


def _order(instruction: Instruction, unit: Unit) -> Order | None:
    name = instruction.name
    if unit is Unit.VMEM:
        if name.startswith("buffer_wbl2"):
            return Order.WRITEBACK
        return None if name.startswith("buffer_inv") else Order.MEMORY
    if unit is Unit.LDS:
        is_global = instruction.memory is not None and instruction.memory.gds
        return Order.SCALAR if is_global or name.startswith("ds_gws") else Order.LDS
    if unit is Unit.FLAT:
        return Order.FLAT
    return Order.SCALAR if unit is Unit.SMEM or name in _MESSAGES else None


def _touch(instruction: Instruction, unit: Unit) -> Touch:
    """Return what an LDS instruction does there.

    Loads to LDS do not count: code that loads the next tile while it reads another one passes barriers with them under
    way, and only the addresses tell whether that is right.
    """
    name = instruction.name
    if unit is not Unit.LDS or name.startswith(_NO_LDS):
        return Touch.NOTHING
    if name.startswith("ds_read"):
        return Touch.READS
    return Touch.WRITES if name.startswith("ds_write") else Touch.READS | Touch.WRITES


@dataclass(slots=True)
class Queue:
    """Events that complete in the order in which they are issued.

    Attributes:
        limit: waiting until so many are left waits for nothing.
        issued: events so far.
        places: what may be under way, by address: the number of events before it, at most.
    """

    limit: int
    issued: int = 0
    places: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Queue:
        """Return a queue of its own with the same events."""
        return Queue(self.limit, self.issued, dict(self.places))

    def issue(self, address: int | None) -> None:
        """Let an event begin; one that nobody asks for later has no address."""
        self.issued += 1
        if address is not None:
            self.places[address] = self.issued

    def completed(self, left: int) -> list[int]:
        """Return what is complete when at most so many events are left."""
        if left >= self.limit:
            return []
        last = self.issued - left
        return [address for address, place in self.places.items() if place <= last]

    def merge(self, other: Queue) -> bool:
        """Add what may be under way on another path; say whether that was anything new."""
        changed = False
        for address, place in other.places.items():
            behind = min(other.issued - place, self.limit)
            known = self.places.get(address)
            if known is None or behind < min(self.issued - known, self.limit):
                self.places[address] = self.issued - behind
                changed = True
        return changed


@dataclass(slots=True)
class Scoreboard:
    """Events that may be under way.

    Attributes:
        memory: those that count on vmcnt and complete in order.
        lds: those that count on lgkmcnt and complete in order among themselves.
        unordered: events that only a zero completes, with the counters that must still come to it: 1 vmcnt, 2 lgkmcnt.
        behind: LDS instructions that were under way at a barrier: address of the barrier.
    """

    memory: Queue = field(default_factory=lambda: Queue(MAX_VMCNT))
    lds: Queue = field(default_factory=lambda: Queue(MAX_LGKMCNT))
    unordered: dict[int, int] = field(default_factory=dict)
    behind: dict[int, int] = field(default_factory=dict)

    def copy(self) -> Scoreboard:
        """Return a scoreboard of its own with the same events."""
        return Scoreboard(self.memory.copy(), self.lds.copy(), dict(self.unordered), dict(self.behind))

    def merge(self, other: Scoreboard) -> bool:
        """Add what may be under way on another path; say whether that was anything new."""
        changed = self.memory.merge(other.memory) | self.lds.merge(other.lds)
        for address, counters in other.unordered.items():
            known = self.unordered.get(address, 0)
            if counters | known != known:
                self.unordered[address] = counters | known
                changed = True
        for address, barrier in other.behind.items():
            if address not in self.behind:
                self.behind[address] = barrier
                changed = True
        return changed

    def start(self, event: Event) -> None:
        """Let an event begin."""
        address = event.instruction.address
        self.behind.pop(address, None)
        if event.order is Order.MEMORY:
            self.memory.issue(address if event.matters else None)
        elif event.order is Order.LDS:
            self.lds.issue(address)
        else:
            self.unordered[address] = {Order.FLAT: 3, Order.WRITEBACK: 1}.get(event.order, 2)

    def wait(self, vmcnt: int, lgkmcnt: int) -> None:
        """Complete what a wait for these values completes."""
        for address in (*self.memory.completed(vmcnt), *self.lds.completed(lgkmcnt)):
            self.complete(address)
        zero = (1 if vmcnt == 0 else 0) | (2 if lgkmcnt == 0 else 0)
        for address, counters in list(self.unordered.items() if zero else ()):
            if counters & ~zero:
                self.unordered[address] = counters & ~zero
            else:
                self.complete(address)

    def complete(self, address: int) -> None:
        """Take an event off, as if it had been waited for."""
        self.memory.places.pop(address, None)
        self.lds.places.pop(address, None)
        self.unordered.pop(address, None)
        self.behind.pop(address, None)

    def pass_barrier(self, barrier: int, events: dict[int, Event]) -> None:
        """Note which LDS instructions are under way while other waves may go on."""
        for address in self.lds.places:
            if events[address].lds:
                self.behind.setdefault(address, barrier)

    @property
    def pending(self) -> tuple[int, ...]:
        """Addresses of all events that may be under way."""
        return (*self.memory.places, *self.lds.places, *self.unordered)

    def __contains__(self, address: int) -> bool:
        """Say whether the event of an instruction may be under way."""
        return address in self.memory.places or address in self.lds.places or address in self.unordered
