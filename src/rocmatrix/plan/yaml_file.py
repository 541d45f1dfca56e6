"""YAML as configuration: strings, numbers, lists and mappings with their lines, and none of YAML's surprises.

The events of PyYAML's parser are turned into nodes here instead of into Python objects, because a message needs the
line and the text as written (``2.10``, which YAML turns into the number 2.1). Tags are refused, duplicate keys are
refused, depth is bounded, and what aliases repeat is counted, so that nothing in a file can run or explode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from rocmatrix.errors import InputError
from rocmatrix.plan.file_text import decode
from rocmatrix.plan.node import Kind, Node
from rocmatrix.plan.text import quote

LARGEST_YAML = 1 << 18
"""Bytes of YAML that are read: PyYAML with libyaml needs up to half a second for them."""

_DEEPEST = 16
_MOST_NODES = 100_000

_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,60}")
"""Keys that a path of keys shows as they are; all others are quoted, since they may be anything."""

_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML 1.1 allows in no file (section 5.1, ``c-printable``); PyYAML says no line for it."""

_KINDS = {
    "tag:yaml.org,2002:str": Kind.STRING,
    "tag:yaml.org,2002:int": Kind.INTEGER,
    "tag:yaml.org,2002:float": Kind.FLOAT,
    "tag:yaml.org,2002:bool": Kind.BOOLEAN,
    "tag:yaml.org,2002:null": Kind.NULL,
    "tag:yaml.org,2002:timestamp": Kind.DATE,
    "tag:yaml.org,2002:merge": Kind.STRING,
    "tag:yaml.org,2002:value": Kind.STRING,
}

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it, ten times as fast; both report the same events."""


def read_yaml(content: bytes, where: str) -> Node:
    """Return the one document of a YAML file.

    Raises:
        InputError: the file is not UTF-8, not YAML, empty, larger or deeper than anybody writes by hand, has several
            documents, tags, keys that are not strings or a key twice, or its aliases repeat too much.
    """
    text = decode(content, where, largest=LARGEST_YAML)
    _require_printable(text, where)
    try:
        return _Tree(where=where, events=yaml.parse(text, Loader=_PARSER)).document()
    except yaml.MarkedYAMLError as err:
        last = text.count("\n") + 1
        line = f":{min(err.problem_mark.line + 1, last)}" if err.problem_mark else ""
        begun = f" {err.context} that begins in line {err.context_mark.line + 1}" if err.context_mark else ""
        if "nesting depth" in (err.problem or ""):  # libyaml's own limit, far beyond ours
            raise _too_deep(where + line) from err
        problem = ascii(f"{err.problem or 'syntax error'}{begun}")[1:-1]
        raise InputError(f"this is not YAML: {problem}", where=where + line, fix="Correct the line.") from err
    except yaml.YAMLError as err:
        problem = ascii(str(err).splitlines()[0])[1:-1]
        raise InputError(f"this is not YAML: {problem}", where=where, fix="Correct the file.") from err


def _require_printable(text: str, where: str) -> None:
    if found := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        what = f"the character {found[0]!a} is not allowed in YAML"
        raise InputError(what, where=f"{where}:{line}", fix="Remove it, or write it escaped within double quotes.")


@dataclass(kw_only=True)
class _Tree:
    """Builds nodes from events; ``count`` is how many there would be if every alias were written out.

    ``open`` has the anchor, if any, of every value around the one that is read.
    """

    where: str
    events: Iterator[yaml.Event]
    resolver: yaml.resolver.Resolver = field(default_factory=yaml.resolver.Resolver)
    anchors: dict[str, tuple[Node, int]] = field(default_factory=dict)
    open: list[str | None] = field(default_factory=list)
    count: int = 0

    def document(self) -> Node:
        """Return the root of the only document."""
        next(self.events)  # the start of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise InputError("the file is empty", where=self.where, fix="Write it, or give the right file.")
        root = self._node(next(self.events), key="", depth=0)
        next(self.events)  # the end of the document
        after = next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise InputError("a second document begins here", where=self._at(after), fix="Remove the line ---.")
        return root

    def _node(self, event: yaml.Event, *, key: str, depth: int, where: str | None = None) -> Node:
        where = where or self._at(event)
        if depth > _DEEPEST:
            raise _too_deep(where)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self.count
        self._add(1, where)
        if not isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent):
            raise InputError("this is not YAML: a value is missing", where=where, fix="Write the value.")
        if event.tag is not None:
            raise InputError(f"the tag {quote(event.tag)} is not allowed", where=where, fix="Remove the tag.")
        self.open.append(event.anchor)
        node = self._made(event, key=key, depth=depth, where=where)
        self.open.pop()
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, self.count - before)
        return node

    def _made(self, event: yaml.NodeEvent, *, key: str, depth: int, where: str) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            # types-PyYAML has no signature for this method
            tag = self.resolver.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
            return Node(kind=_KINDS[tag], where=where, key=key, text=event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(inner := next(self.events), yaml.SequenceEndEvent):
                items.append(self._node(inner, key=f"{key}[{len(items)}]", depth=depth + 1))
            return Node(kind=Kind.LIST, where=where, key=key, items=tuple(items))
        entries: dict[str, Node] = {}
        while not isinstance(inner := next(self.events), yaml.MappingEndEvent):
            name = self._name(inner, depth=depth)
            if name in entries:
                fix = f"Remove one; the first is at {entries[name].where}."
                raise InputError(f"the key {quote(name)} is there twice", where=self._at(inner), fix=fix)
            path = f"{key}.{_shown(name)}" if key else _shown(name)
            entries[name] = self._node(next(self.events), key=path, depth=depth + 1, where=self._at(inner))
        return Node(kind=Kind.MAPPING, where=where, key=key, entries=entries)

    def _name(self, event: yaml.Event, *, depth: int) -> str:
        node = self._node(event, key="", depth=depth + 1)
        if node.kind is Kind.STRING:
            return node.text
        fix = "Put it in quotes." if node.text else "A key is a string."
        raise InputError(f"a key must be a string, found {node.describe()}", where=node.where, fix=fix)

    def _alias(self, event: yaml.AliasEvent) -> Node:
        if event.anchor in self.open:
            what = f"the alias {quote(str(event.anchor))} stands within the value of its own anchor"
            raise InputError(what, where=self._at(event), fix="Write the value itself: it cannot hold itself.")
        if event.anchor is None or event.anchor not in self.anchors:
            what = f"the alias {quote(str(event.anchor))} has no anchor before it"
            raise InputError(what, where=self._at(event), fix="Write the value itself, or put a text in quotes.")
        node, size = self.anchors[event.anchor]
        self._add(size, self._at(event))
        return node

    def _add(self, more: int, where: str) -> None:
        self.count += more
        if self.count > _MOST_NODES:
            raise InputError(f"more than {_MOST_NODES} values", where=where, fix="Use fewer aliases and shorter lists.")

    def _at(self, event: yaml.Event) -> str:
        return f"{self.where}:{event.start_mark.line + 1}" if event.start_mark else self.where


def _too_deep(where: str) -> InputError:
    return InputError(f"nested more than {_DEEPEST} deep", where=where, fix="Nothing here needs that depth.")


def _shown(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote(name)
