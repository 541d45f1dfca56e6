"""A value in a user's file together with the place where it stands, whatever the file's format.

Both matrix.yaml and build.toml are turned into nodes first; everything that reads them asks a node for what it expects,
and the node says in one message where something else was found and what is allowed there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rocmatrix.errors import InputError
from rocmatrix.plan.text import allowed, in_words, quote

_PLAIN_DIGITS = "Write plain decimal digits, at most 18, and no zero in front."
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


class Kind(StrEnum):
    """What a value is, in the words of a message."""

    STRING = "a string"
    INTEGER = "a whole number"
    FLOAT = "a number"
    BOOLEAN = "true or false"
    NULL = "nothing"
    DATE = "a date"
    LIST = "a list"
    MAPPING = "a mapping"


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One value.

    Attributes:
        where: file, and line where the format has one, e.g. ``matrix.yaml:12``.
        key: path of keys that leads here, e.g. ``kernel.gemm.src[2]``; ``""`` for the whole file.
        text: a scalar as it is written in the file.
        items: what a list holds.
        entries: what a mapping holds.
    """

    kind: Kind
    where: str
    key: str
    text: str = ""
    items: tuple[Node, ...] = ()
    entries: Mapping[str, Node] = field(default_factory=dict)

    def error(self, what: str, fix: str | None = None) -> InputError:
        """Return an input error about this value, for the caller to raise."""
        return InputError(f"{self.key}: {what}" if self.key else what, where=self.where, fix=fix)

    def string(self, fix: str | None = None) -> str:
        """Return a string; raises ``InputError``, with ``fix``, for anything else, and for an empty one."""
        self._require(Kind.STRING, fix)
        if not self.text:
            raise self.error("is empty", "Write a value, or leave the key out.")
        return self.text

    def require_string(self) -> None:
        """Refuse anything but a string, an empty one included; raises ``InputError``."""
        self._require(Kind.STRING)

    def integer(self, lowest: int, fix: str | None = None) -> int:
        """Return a plain decimal whole number of at least ``lowest``; raises ``InputError`` for anything else."""
        self._require(Kind.INTEGER, fix)
        if not _WHOLE_NUMBER.fullmatch(self.text) or int(self.text) < lowest:
            raise self.error(f"{quote(self.text)} is not a whole number from {lowest} on", fix or _PLAIN_DIGITS)
        return int(self.text)

    def elements(self, fix: str | None = None) -> tuple[Node, ...]:
        """Return what a list holds; raises ``InputError``, with ``fix``, for anything else."""
        self._require(Kind.LIST, fix)
        return self.items

    def strings(self) -> tuple[str, ...]:
        """Return a list of strings, none of them empty; raises ``InputError`` for anything else."""
        return tuple(item.string() for item in self.elements())

    def choice(self, choices: Sequence[str]) -> str:
        """Return a string that is one of the choices; raises ``InputError`` with the nearest spelling otherwise."""
        found = self.string()
        if found not in choices:
            raise self.error(f"{quote(found)} is not known", allowed(found, choices))
        return found

    def mapping(self, known: Sequence[str], required: Sequence[str] = ()) -> Mapping[str, Node]:
        """Return what a mapping holds.

        Raises:
            InputError: this is not a mapping, it has a key that is not known, or a required one is missing.
        """
        self._require(Kind.MAPPING)
        for name, entry in self.entries.items():
            if name not in known:
                place = self.key or "the file"
                raise InputError(f"unknown key {quote(name)} in {place}", where=entry.where, fix=allowed(name, known))
        if missing := [name for name in required if name not in self.entries]:
            raise self.error(f"lacks {in_words(missing)}", f"Add it. Keys of this mapping: {', '.join(known)}.")
        return self.entries

    def table(self) -> Mapping[str, Node]:
        """Return what a mapping with keys of the author's own choice holds; raises ``InputError`` for anything else."""
        self._require(Kind.MAPPING)
        return self.entries

    def describe(self) -> str:
        """Return what was found here, for a message."""
        if self.kind in {Kind.LIST, Kind.MAPPING, Kind.NULL}:
            return self.kind.value
        return (
            f"{self.kind.value}, {quote(self.text)}" if self.kind is not Kind.STRING else f"string {quote(self.text)}"
        )

    def _require(self, kind: Kind, fix: str | None = None) -> None:
        if self.kind is kind:
            return
        words = kind is Kind.STRING and self.kind in {Kind.INTEGER, Kind.FLOAT, Kind.BOOLEAN, Kind.DATE}
        quotes = "Put it in quotes to make it a string." if words else None
        raise self.error(f"expected {kind.value}, found {self.describe()}", fix or quotes)


def require_distinct(nodes: Sequence[Node]) -> None:
    """Refuse a list that names the same thing twice.

    Raises:
        InputError: at the second one.
    """
    seen: dict[str, Node] = {}
    for node in nodes:
        if node.text in seen:
            raise node.error(
                f"{quote(node.text)} is named twice", f"Remove one; the first is at {seen[node.text].where}."
            )
        seen[node.text] = node
