"""Which files a source includes, found by reading, so that a cache entry can be named before anything is compiled.

The answer errs on the side of more: conditions are not evaluated, so that a file which is included under any of them
counts. Where reading cannot tell (``#include MACRO``, ``__has_include``, ``__has_embed``, ``#embed``), every file below
the folders counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*(.*)$", re.MULTILINE)
_NAME = re.compile(rb'(?:"([^"\n]+)"|<([^>\n]+)>)')
_UNREADABLE = re.compile(rb"__has_include|__has_embed|^[ \t]*#[ \t]*embed\b", re.MULTILINE)
_CONTINUED = re.compile(rb"\\\r?\n")
_TOKEN = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
"""A string, a comment to the end of its line, or one in ``/* */``: what begins within another of them is none."""


@dataclass(frozen=True, kw_only=True)
class Include:
    """One ``#include`` that was read.

    Attributes:
        name: as written between the quotes or brackets; ``None`` for ``#include MACRO``.
        quoted: whether it is looked for beside the including file first.
        line: in the file, from 1.
    """

    name: str | None
    quoted: bool
    line: int


def read_includes(text: bytes) -> tuple[Include, ...]:
    """Return the includes of a file in order; those in conditions that may not hold are among them."""
    return tuple(_directives(_TOKEN.sub(_blank, text)))


def included_files(source: Path, folders: Sequence[Path]) -> frozenset[Path]:
    """Return the source and every file below ``folders`` or beside an including file that it may include.

    Files that are found nowhere are left out: they are the compiler's own, or an error that the compiler will report.

    Raises:
        OSError: the source cannot be read.
    """
    seen = {source}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        text = path.read_bytes()
        joined = _CONTINUED.sub(b" ", text)
        includes = (*read_includes(joined), *_directives(joined))  # what only looks like a comment hides no include
        if _UNREADABLE.search(text) or any(include.name is None for include in includes):
            return frozenset({*seen, *_all_files(folders)})
        for include in includes:
            for found in _candidates(path, include, folders):
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return frozenset(seen)


def _blank(token: re.Match[bytes]) -> bytes:
    """Return a string as it is, and of a comment only its lines."""
    return b" " + b"\n" * token[0].count(b"\n") if token[0].startswith(b"/") else token[0]


def _directives(text: bytes) -> Iterator[Include]:
    for match in _DIRECTIVE.finditer(text):
        named = _NAME.match(match[1])
        name = (named[1] or named[2]).decode(errors="replace") if named else None
        quoted = bool(named and named[1] is not None)
        yield Include(name=name, quoted=quoted, line=text.count(b"\n", 0, match.start()) + 1)


def _candidates(includer: Path, include: Include, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield every file that the name could mean: ``include_next`` and shadowed files count as well."""
    beside = (includer.parent,) if include.quoted else ()
    for folder in (*beside, *folders):
        path = Path(folder, include.name or "")
        if path.is_file():
            yield path.resolve()


def _all_files(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from (path.resolve() for path in folder.rglob("*") if path.is_file())
