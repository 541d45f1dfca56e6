"""Marks of a shared object: stack, text relocations, RELRO, build id, comments, signs of a C++ runtime.

The files are those of installed packages; each mark is also put into one of them, or taken away.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from rocmatrix.binary.elf import read_shared_object
from rocmatrix.binary.facts import CxxRuntime, Relro
from tests.unit.binary.test_elf import FOREIGN, SMALL, dynamic_entry, facts_of

GNU_STACK, GNU_RELRO = 0x6474E551, 0x6474E552
TEXTREL, BIND_NOW, FLAGS, FLAGS_1 = 22, 24, 30, 0x6FFFFFFB


def segments(data: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Give type and place of each program header."""
    (start,), (count,) = struct.unpack_from("<Q", data, 0x20), struct.unpack_from("<H", data, 0x38)
    for place in range(start, start + 56 * count, 56):
        yield struct.unpack_from("<I", data, place)[0], place


def place_of(data: bytes | bytearray, kind: int) -> int:
    return next(place for found, place in segments(data) if found == kind)


def with_entry(data: bytearray, old: int, tag: int, value: int) -> None:
    """Put one dynamic entry in the place of another."""
    struct.pack_into("<QQ", data, dynamic_entry(data, old) - 8, tag, value)


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_readelf_agrees_about_the_marks(path: Path) -> None:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("needs readelf of binutils")
    command: list[str | Path] = [
        readelf,
        "--wide",
        "--segments",
        "--dynamic",
        "--notes",
        "--string-dump=.comment",
        path,
    ]
    printed = subprocess.run(command, check=False, capture_output=True).stdout.decode()
    lines = [line.split() for line in printed.splitlines()]
    facts = facts_of(path)
    stack = next(line for line in lines if line[:1] == ["GNU_STACK"])
    assert facts.executable_stack == ("E" in "".join(stack[6:-1]))
    now = any("(BIND_NOW)" in line or ("(FLAGS_1)" in line and "NOW" in line) for line in lines)
    relro = any(line[:1] == ["GNU_RELRO"] for line in lines)
    assert facts.relro is (Relro.FULL if relro and now else Relro.PARTIAL if relro else Relro.NONE)
    assert facts.text_relocations == any("(TEXTREL)" in line for line in lines)
    assert facts.build_id == next((line[line.index("ID:") + 1] for line in lines if "ID:" in line), None)
    comments = [line.partition("]  ")[2] for line in printed.splitlines() if line.startswith("  [")]
    assert facts.comments == tuple(dict.fromkeys(comments))


def test_there_are_files_with_each_mark_and_without() -> None:
    facts = [facts_of(path) for path in FOREIGN]
    assert any(fact.build_id for fact in facts)
    assert any(fact.comments for fact in facts)
    assert any(fact.cxx.undefined for fact in facts)
    assert len({fact.relro for fact in facts}) > 1


@pytest.mark.parametrize(("flags", "executable"), [(6, False), (7, True), (1, True), (0, False)])
def test_the_stack_is_executable_where_its_header_says_so(flags: int, executable: bool) -> None:  # noqa: FBT001
    data = bytearray(SMALL.read_bytes())
    struct.pack_into("<I", data, place_of(data, GNU_STACK) + 4, flags)
    assert read_shared_object(bytes(data))[1].executable_stack is executable


def test_without_a_header_for_it_the_stack_is_executable() -> None:
    data = bytearray(SMALL.read_bytes())
    struct.pack_into("<I", data, place_of(data, GNU_STACK), 0)
    assert read_shared_object(bytes(data))[1].executable_stack


def test_without_its_segment_nothing_is_protected_after_relocation() -> None:
    data = bytearray(SMALL.read_bytes())
    struct.pack_into("<I", data, place_of(data, GNU_RELRO), 0)
    assert read_shared_object(bytes(data))[1].relro is Relro.NONE


@pytest.mark.parametrize(("tag", "value"), [(BIND_NOW, 0), (FLAGS, 8), (FLAGS_1, 1)])
def test_each_way_of_binding_at_once_makes_the_protection_full(tag: int, value: int) -> None:
    path = next(path for path in FOREIGN if facts_of(path).relro is Relro.PARTIAL)
    data = bytearray(path.read_bytes())
    with_entry(data, 12, tag, value)  # DT_INIT, which every file of these has
    assert read_shared_object(bytes(data))[1].relro is Relro.FULL


@pytest.mark.parametrize(("tag", "value"), [(TEXTREL, 0), (FLAGS, 4)])
def test_each_way_of_asking_for_text_relocations_is_seen(tag: int, value: int) -> None:
    data = bytearray(SMALL.read_bytes())
    with_entry(data, 12, tag, value)
    assert read_shared_object(bytes(data))[1].text_relocations


def test_the_build_id_needs_no_section_headers() -> None:
    path = next(path for path in FOREIGN if facts_of(path).build_id)
    data = bytearray(path.read_bytes())
    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".note.gnu.build-id")
        assert isinstance(section, NoteSection)
        (note,) = section.iter_notes()
    struct.pack_into("<Q", data, 0x28, 0)
    struct.pack_into("<HH", data, 0x3C, 0, 0)
    assert read_shared_object(bytes(data))[1].build_id == note["n_desc"]


@pytest.mark.parametrize("size", [0, 0xFFFFFFF0, 1 << 20])
def test_a_note_of_an_impossible_size_is_no_build_id(size: int) -> None:
    path = next(path for path in FOREIGN if facts_of(path).build_id)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 4, size)
    assert read_shared_object(bytes(data))[1].build_id is None


def test_a_runtime_inside_is_told_by_its_messages_and_one_outside_by_what_is_asked_for() -> None:
    outside = facts_of(next(path for path in FOREIGN if "__cxa_throw" in facts_of(path).cxx.undefined))
    assert outside.cxx.inside == ()
    assert "__cxa_throw" not in outside.cxx.defined
    data = bytearray(SMALL.read_bytes())
    text = b"terminate called after throwing an instance of '\0libc++abi: \0"
    place = max(place for kind, place in segments(data) if kind == 1)
    (offset,), (size,) = struct.unpack_from("<Q", data, place + 8), struct.unpack_from("<Q", data, place + 32)
    data[offset + size - len(text) : offset + size] = text
    assert read_shared_object(bytes(data))[1].cxx.inside == (CxxRuntime.LIBSTDCXX, CxxRuntime.LIBCXXABI)
