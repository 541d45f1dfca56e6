"""Segments and notes: what is loaded once counts once, and a note ends with its segment."""

from __future__ import annotations

import struct

import pytest

from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.header import Header, Segment, Span, loaded_spans, read_header
from rocmatrix.binary.notes import find_note, read_notes
from rocmatrix.binary.window import Window
from tests.fuzz.hostile import elf


def header(*segments: tuple[str, int, int, int]) -> Header:
    made = tuple(Segment(type=kind, offset=at, address=to, size=size) for kind, at, to, size in segments)
    return Header(machine="EM_X86_64", type="ET_DYN", os_abi=0, abi_version=0, flags=0, segments=made)


@pytest.mark.parametrize(
    ("segments", "spans"),
    [
        ([(0, 0, 10), (20, 120, 10)], [(0, 10, 0), (20, 30, 120)]),
        ([(0, 0, 30), (10, 4096, 10)], [(0, 30, 0)]),
        ([(10, 4096, 30), (0, 0, 20)], [(0, 20, 0), (20, 40, 4106)]),
        ([(0, 0, 30)] * 3, [(0, 30, 0)]),
        ([(5, 0, 0)], []),
    ],
)
def test_no_byte_of_a_file_is_in_two_spans(
    segments: list[tuple[int, int, int]], spans: list[tuple[int, int, int]]
) -> None:
    found = loaded_spans(header(*(("PT_LOAD", *segment) for segment in segments)))
    assert found == tuple(Span(start=start, end=end, address=address) for start, end, address in spans)


def test_what_is_not_loaded_is_in_no_span() -> None:
    assert loaded_spans(header(("PT_NOTE", 0, 0, 10), ("PT_DYNAMIC", 0, 0, 10))) == ()


def noted(*notes: tuple[bytes, int, bytes], size: int | None = None) -> bytes:
    """Return a file with a note segment, and eight bytes behind it that belong to no segment."""
    content = b""
    for owner, kind, text in notes:
        content += struct.pack("<III", len(owner) + 1, len(text), kind)
        for part in (owner + b"\0", text):
            content += part.ljust(-(-len(part) // 4) * 4, b"\0")
    return elf((4, 120, 0, len(content) if size is None else size), body=content + b"outside!")


def test_notes_are_read_in_order_with_their_padding() -> None:
    data = noted((b"GNU", 3, b"12345"), (b"A", 32, b""), (b"AMDGPU", 32, b"text"))
    found = [(note.owner, note.kind, note.description.size) for note in read_notes(Window(data), read_header(data))]
    assert found == [(b"GNU", 3, 5), (b"A", 32, 0), (b"AMDGPU", 32, 4)]
    assert find_note(Window(data), read_header(data), b"AMDGPU", 32, 4) == b"text"
    assert find_note(Window(data), read_header(data), b"AMDGPU", 33, 4) is None


def test_a_note_that_is_longer_than_its_segment_is_none() -> None:
    data = noted((b"GNU", 3, b"12345678"), size=20)
    assert list(read_notes(Window(data), read_header(data))) == []


def test_a_note_that_is_longer_than_any_is_refused() -> None:
    data = noted((b"AMDGPU", 32, b"text"))
    with pytest.raises(UnreadableError, match="longer than any"):
        find_note(Window(data), read_header(data), b"AMDGPU", 32, 3)
