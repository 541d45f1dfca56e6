"""Plain offload bundles: a table of entries, and the code objects that it points at.

Layout: ClangOffloadBundler of LLVM's documentation, "Bundled Binary File Layout".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from rocmatrix.binary.facts import CodeObject, UnreadableError

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
MAX_ENTRIES = 1024
"""Entries of one bundle; the largest known have about thirty."""
MAX_ID = 256
"""Bytes of an entry's id."""

OVERLAPS = "some of its bytes belong to another entry, too"
"""The problem of an entry that ``overlapping`` returned."""

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")
_GPU_ENTRY = re.compile(
    r"(?:hip|hipv4)-amdgcn-amd-amdhsa-(?:[a-z]*-)?(gfx[0-9a-z]+(?:-[0-9a-z-]*generic)?)((?::[a-z]+[+-])*)"
)
_HOST = "host-"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the table: id, where the content lies in the bundle, and how many bytes it has."""

    id: str
    offset: int
    size: int

    @property
    def is_host(self) -> bool:
        """Whether it is the entry for the host, which is always there and always empty."""
        return self.id.startswith(_HOST)


def read_table(read: Callable[[int], bytes]) -> tuple[list[Entry], int]:
    """Return the entries of a bundle and the bytes that the table takes.

    Args:
        read: gives the bundle's next bytes, as many as are asked for, fewer where it ends.

    Raises:
        UnreadableError: this is not a bundle, or the table is damaged.
    """
    if read(len(MAGIC)) != MAGIC:
        raise UnreadableError("this is not an offload bundle")
    (count,) = _unpack(_COUNT, read)
    if not 0 < count <= MAX_ENTRIES:
        raise UnreadableError(f"the bundle claims {count} entries")
    entries: list[Entry] = []
    taken = len(MAGIC) + _COUNT.size
    for _ in range(count):
        offset, size, length = _unpack(_ENTRY, read)
        name = read(length) if length <= MAX_ID else b""
        if not name or len(name) != length or not name.isascii() or not name.decode().isprintable():
            raise UnreadableError("the id of an entry is damaged")
        taken += _ENTRY.size + length
        entries.append(Entry(id=name.decode(), offset=offset, size=size))
    return entries, taken


def overlapping(entries: list[Entry], table: int) -> frozenset[str]:
    """Return the ids of entries that share some of their bytes with others, or with the table of so many bytes.

    Entries with the very same bytes are fine: one code object under two ids.
    """
    found: set[str] = set()
    filled = sorted((entry for entry in entries if entry.size), key=lambda entry: (entry.offset, entry.size))
    end, last = table, Entry(id="", offset=0, size=table)
    for entry in filled:
        if entry.offset < end and (entry.offset, entry.size) != (last.offset, last.size):
            found |= {entry.id, last.id} - {""}
        if entry.offset + entry.size >= end:
            end, last = entry.offset + entry.size, entry
    return frozenset(found)


def promised(entry: Entry) -> CodeObject:
    """Return what the table says of the code object of an entry."""
    arch, features = target_of(entry.id) or (None, ())
    return CodeObject(entry=entry.id, arch=arch, features=features, size=entry.size, offset=entry.offset)


def target_of(entry: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the processor and the target features that an entry's id names; ``None`` if it names no GPU."""
    named = _GPU_ENTRY.fullmatch(entry)
    return (named[1], tuple(sorted(filter(None, named[2].split(":"))))) if named else None


def _unpack(layout: struct.Struct, read: Callable[[int], bytes]) -> tuple[int, ...]:
    content = read(layout.size)
    if len(content) < layout.size:
        raise UnreadableError("the table of entries is cut off")
    return layout.unpack(content)
