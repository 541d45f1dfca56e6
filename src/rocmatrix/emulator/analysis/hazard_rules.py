"""The table of hazards: which two instructions need how many wait states between them; ``hazards.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

_PASSES = (2, 4, 8, 16)


class Match(StrEnum):
    """How registers of a producer and of a consumer belong together."""

    OVERLAP = "overlap"
    SAME = "same"
    PARTIAL = "partial"
    ANY = "any"
    ID = "id"
    SAME_OPCODE = "same opcode"
    OTHER_OPCODE = "other opcode"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One hazard.

    Attributes:
        id: its name in the table.
        producer: the role of the first instruction.
        consumer: the role of the second one.
        match: how their registers belong together.
        wait: wait states that must lie between, unless the passes of the first decide.
        passes: wait states by passes of the first: 2, 4, 8 and 16.
        source: where it is from, for people.
    """

    id: str
    producer: str
    consumer: str
    match: Match
    wait: int
    passes: tuple[int, ...]
    source: str

    def needed(self, passes: int) -> int:
        """Return the wait states behind a producer that takes so many passes."""
        return self.passes[_PASSES.index(passes)] if self.passes else self.wait


@dataclass(frozen=True, kw_only=True)
class MatrixKind:
    """What hazards know of a matrix instruction: passes of 4 cycles, and ``xdl``, ``sgemm``, ``dgemm ...``."""

    passes: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """Everything in the file."""

    rules: tuple[Rule, ...]
    patterns: tuple[tuple[re.Pattern[str], MatrixKind], ...]
    transcendental: frozenset[str]

    def matrix_kind(self, name: str) -> MatrixKind | None:
        """Return what is known of a matrix instruction."""
        return next((kind for pattern, kind in self.patterns if pattern.fullmatch(name)), None)

    def by_producer(self, role: str) -> tuple[Rule, ...]:
        """Return the rules whose first instruction plays a part."""
        return tuple(rule for rule in self.rules if rule.producer == role)


@cache
def hazard_table() -> Table:
    """Return the table."""
    data = tomllib.loads(files(__package__).joinpath("hazards.toml").read_text())
    rules = tuple(
        Rule(
            id=entry["id"],
            producer=entry["producer"],
            consumer=entry["consumer"],
            match=Match(entry.get("match", "overlap")),
            wait=entry.get("wait", 0),
            passes=tuple(entry.get("passes", ())),
            source="; ".join(entry[key] for key in ("llvm", "isa") if key in entry),
        )
        for entry in data["rule"]
    )
    patterns = tuple(
        (re.compile(entry["pattern"]), MatrixKind(passes=entry["passes"], kind=entry["kind"]))
        for entry in data["matrix"]
    )
    return Table(rules=rules, patterns=patterns, transcendental=frozenset(data["trans"]["names"]))
