"""pins.toml written anew: the same file for the same pins, comments at its beginning kept."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable

from rocmatrix.images.recipe_file import BaseEntry, PinsEntry, PinsFile

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def written(pins: PinsFile, before: str = "") -> str:
    """Return the text of a pins.toml; ``before`` is the one that it replaces."""
    head = "".join(f"{line}\n" for line in itertools.takewhile(lambda one: one.startswith("#"), before.splitlines()))
    parts = [f"{head}schema = {pins.schema}\n", *map(_base, pins.bases), *map(_set, pins.sets)]
    return "\n".join(parts)


def _base(base: BaseEntry) -> str:
    digest = [("digest", base.digest)] if base.digest else []
    return _table("bases", [("name", base.name), ("reference", base.reference), *digest, *_provenance(base)])


def _set(one: PinsEntry) -> str:
    address = [("address", one.address)] if one.address else []
    head = _table("sets", [("name", one.name), ("kind", str(one.kind)), *address, *_provenance(one)])
    rows = "".join(f"{_key(name)} = {_text(version)}\n" for name, version in one.packages.items())
    return f"{head}\n[sets.packages]\n{rows}"


def _provenance(entry: BaseEntry | PinsEntry) -> list[tuple[str, str | bool]]:
    return [("source", entry.source), ("date", entry.date), ("verified", entry.verified)]


def _table(name: str, rows: Iterable[tuple[str, str | bool]]) -> str:
    lines = (f"{key} = {_text(value) if isinstance(value, str) else str(value).lower()}\n" for key, value in rows)
    return f"[[{name}]]\n{''.join(lines)}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    """Return a basic string of TOML, which is JSON's but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
