"""Hazards: two instructions that are closer, on some path, than the hardware needs them to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rocmatrix.emulator.analysis.code import Block, Step
from rocmatrix.emulator.analysis.effects import register_name
from rocmatrix.emulator.analysis.flow_graph import Graph, Worklist
from rocmatrix.emulator.analysis.hazard_roles import Role, Roles, roles_of
from rocmatrix.emulator.analysis.hazard_rules import Match, Rule, hazard_table
from rocmatrix.emulator.reports import Fault, FaultKind, UnsupportedError


@dataclass(frozen=True, kw_only=True, slots=True)
class Danger:
    """What an instruction leaves behind: a rule, and how long it holds.

    Attributes:
        rule: what the table says.
        role: the part that the instruction plays.
        needed: wait states.
    """

    rule: Rule
    role: Role
    needed: int


@lru_cache(maxsize=1 << 16)
def dangers_of(encoding: bytes) -> tuple[Danger, ...]:
    """Return what an instruction leaves behind, by its bytes."""
    roles = roles_of(encoding)
    return tuple(
        Danger(rule=rule, role=role, needed=rule.needed(roles.passes))
        for role in roles.produces
        for rule in hazard_table().by_producer(role.name)
        if rule.needed(roles.passes)
    )


Recent = dict[int, int]
"""Instructions that left something behind: address -> wait states since, at least."""


def find_hazards(graph: Graph) -> Iterator[Fault]:
    """Find every instruction that comes too close behind another, each at most once."""
    return _Finder(graph).find()


class _Finder:
    """Follows recent instructions through a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._steps = {step.instruction.address: step for step in graph.steps}
        self._roles: dict[int, Roles] = {address: self._roles_of(step) for address, step in self._steps.items()}
        self._lasts = {
            address: max(danger.needed for danger in dangers)
            for address, step in self._steps.items()
            if (dangers := dangers_of(step.encoding))
        }

    def _roles_of(self, step: Step) -> Roles:
        try:
            return roles_of(step.encoding)
        except UnsupportedError as err:
            raise err.located(self._graph.kernel, step.instruction) from err

    def find(self) -> Iterator[Fault]:
        """Settle what is recent where blocks begin, then look at every instruction."""
        for start, recent in self._settle().items():
            yield from self._report(self._graph.blocks[start], recent)

    def _settle(self) -> dict[int, Recent]:
        known: dict[int, Recent] = {entry: {} for entry in self._graph.entries}
        waiting = Worklist(known)
        while (start := waiting.take()) is not None:
            block = self._graph.blocks[start]
            recent = {} if block.forgets else self._through(block, dict(known[start]))
            for successor in block.successors:
                if successor not in known:
                    known[successor] = dict(recent)
                    waiting.add(successor)
                elif self._merge(known[successor], recent):
                    waiting.add(successor)
        return known

    def _merge(self, known: Recent, other: Recent) -> bool:
        changed = False
        for address, age in other.items():
            if age < known.get(address, age + 1):
                known[address] = age
                changed = True
        return changed

    def _through(self, block: Block, recent: Recent) -> Recent:
        """Return what is recent behind a block; only its last instructions can matter."""
        for step in block.steps:
            recent = self._advance(step, recent)
        return recent

    def _advance(self, step: Step, recent: Recent) -> Recent:
        address = step.instruction.address
        passed = self._roles[address].wait_states
        aged = {other: age + passed for other, age in recent.items() if age + passed < self._lasts[other]}
        if address in self._lasts:
            aged[address] = 0
        return aged

    def _report(self, block: Block, recent: Recent) -> Iterator[Fault]:
        for step in block.steps:
            if recent and (fault := self._check(step, recent)) is not None:
                yield fault
            recent = self._advance(step, recent)

    def _check(self, step: Step, recent: Recent) -> Fault | None:
        """Return the worst hazard of an instruction, if it has one."""
        roles = self._roles[step.instruction.address]
        worst: tuple[int, Step, Danger, frozenset[int]] | None = None
        for address, age in recent.items():
            producer = self._steps[address]
            for danger in dangers_of(producer.encoding):
                missing = danger.needed - age
                if missing <= (worst[0] if worst else 0):
                    continue
                for role in roles.consumes:
                    if role.name == danger.rule.consumer and _match(producer, danger, role, step):
                        worst = (missing, producer, danger, role.registers & danger.role.registers)
        return None if worst is None else self._fault(step, *worst)

    def _fault(self, step: Step, missing: int, producer: Step, danger: Danger, registers: frozenset[int]) -> Fault:
        about = f" ({register_name(min(registers))})" if registers and danger.rule.match is not Match.ID else ""
        has = danger.needed - missing
        what = f"it needs {danger.needed} wait states behind {producer.instruction}{about} and has {has}"
        return Fault(
            kind=FaultKind.HAZARD,
            kernel=self._graph.kernel,
            instruction=step.instruction,
            wave=None,
            detail=f"{what} [{danger.rule.id}]",
        )


def _match(producer: Step, danger: Danger, role: Role, step: Step) -> bool:
    match, produced = danger.rule.match, danger.role
    if match is Match.ANY:
        return True
    if produced.registers.isdisjoint(role.registers):
        return False
    if match in (Match.SAME, Match.PARTIAL):
        return (produced.operand == role.operand) == (match is Match.SAME)
    same = producer.instruction.name == step.instruction.name
    return same if match is Match.SAME_OPCODE else not (match is Match.OTHER_OPCODE and same)
