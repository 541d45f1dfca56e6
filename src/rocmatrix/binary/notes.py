"""Notes of an ELF file: small things that tools leave for each other, in ``PT_NOTE`` segments.

Layout: System V ABI, chapter 5, "Note Section": sizes of name and description, type, then both padded to four bytes,
or to eight where the segment is aligned so (only ``.note.gnu.property`` is, which nobody asks for here).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.header import Header
from rocmatrix.binary.window import Window

MAX_NOTES = 1024
"""Notes of one file; real ones have about five."""
_MAX_OWNER = 64
"""Bytes of an owner's name: longer ones are nobody's that is asked for."""
_NOTE = struct.Struct("<III")
_WORD = 4


@dataclass(frozen=True, kw_only=True)
class Note:
    """One note: who wrote it, what kind it is, and where its description lies."""

    owner: bytes
    kind: int
    description: Window


def read_notes(file: Window, header: Header) -> Iterator[Note]:
    """Give the notes of a file in their order; a segment is left where it stops making sense."""
    count = 0
    for segment in header.segments:
        if segment.type != "PT_NOTE":
            continue
        place, end = segment.offset, segment.offset + segment.size
        while place + _NOTE.size <= end and count < MAX_NOTES:
            owner, description, kind = file.unpack(_NOTE, place)
            start = place + _NOTE.size
            body = start + _padded(owner)
            if body + description > end:
                break
            count += 1
            name = file.read(start, owner).rstrip(b"\0") if owner <= _MAX_OWNER else b""
            yield Note(owner=name, kind=kind, description=file.part(body, description))
            place = body + _padded(description)


def find_note(file: Window, header: Header, owner: bytes, kind: int, limit: int) -> bytes | None:
    """Return the description of the first note of a kind; ``None`` if there is none.

    Raises:
        UnreadableError: it has more than ``limit`` bytes.
    """
    for note in read_notes(file, header):
        if (note.owner, note.kind) == (owner, kind):
            if note.description.size > limit:
                raise UnreadableError(f"a note of {note.description.size} bytes is longer than any")
            return note.description.read(0, note.description.size)
    return None


def _padded(size: int) -> int:
    return -(-size // _WORD) * _WORD
