"""Reading shared objects as the loader does: agreement with an independent reader, and no crash on damaged files.

The files are those of installed packages, which nobody here built: linked by GNU ld, gold, lld and rustc's linkers.
"""

from __future__ import annotations

import importlib.util
import shutil
import struct
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmatrix.binary import dynamic
from rocmatrix.binary.elf import read_shared_object
from rocmatrix.binary.facts import ElfFacts, UnreadableError

PACKAGES = ("numpy", "msgspec", "ml_dtypes", "yaml", "kernels")


def shared_objects() -> Iterator[Path]:
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec, f"{package} is not installed"
        assert spec.origin
        yield from sorted(Path(spec.origin).parent.rglob("*.so"))[:8]


def facts_of(path: Path) -> ElfFacts:
    return read_shared_object(path.read_bytes())[1]


FOREIGN = tuple(shared_objects())
SMALL = min((path for path in FOREIGN if facts_of(path).version_needs), key=lambda path: path.stat().st_size)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What pyelftools' section readers tell of a file."""

    needed: list[str]
    needs: set[tuple[str, str]]
    undefined: dict[str, tuple[str, str] | None]
    defined: set[str]
    weak: set[str]


def by_sections(path: Path) -> Told:
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        sections = {section.name: section for section in elf.iter_sections()}
        dynamic, symbols = sections[".dynamic"], sections[".dynsym"]
        needs, numbers = sections.get(".gnu.version_r"), sections.get(".gnu.version")
        assert isinstance(dynamic, DynamicSection)
        assert isinstance(symbols, SymbolTableSection)
        needed = [vars(tag)["needed"] for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
        versions = {
            auxiliary["vna_other"]: (str(need.name), auxiliary.name)
            for need, auxiliaries in (needs.iter_versions() if isinstance(needs, GNUVerNeedSection) else ())
            for auxiliary in auxiliaries
        }
        undefined: dict[str, tuple[str, str] | None] = {}
        defined: set[str] = set()
        weak: set[str] = set()
        for index, symbol in enumerate(symbols.iter_symbols()):
            if not symbol.name or symbol["st_info"]["bind"] == "STB_LOCAL":
                continue
            if symbol["st_info"]["bind"] == "STB_WEAK":
                weak.add(symbol.name)
            if symbol["st_shndx"] == "SHN_UNDEF":
                number = numbers.get_symbol(index)["ndx"] if isinstance(numbers, GNUVerSymSection) else 1
                undefined[symbol.name] = versions.get(number)
            else:
                defined.add(symbol.name)
    return Told(needed=needed, needs=set(versions.values()), undefined=undefined, defined=defined, weak=weak)


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_section_headers_and_the_loaders_view_agree(path: Path) -> None:
    facts = facts_of(path)
    told = by_sections(path)
    assert list(facts.needed) == told.needed
    assert {(need.library, need.version) for need in facts.version_needs} == told.needs
    asked = {symbol.name: (symbol.library, symbol.version) for symbol in facts.symbols if not symbol.defined}
    assert asked == {name: need or (None, None) for name, need in told.undefined.items()}
    assert {symbol.name for symbol in facts.symbols if symbol.weak} == told.weak
    assert {symbol.name for symbol in facts.symbols if symbol.defined} == told.defined


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_readelf_agrees(path: Path) -> None:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("needs readelf of binutils; the test by section headers covers the same without it")
    printed = subprocess.run([readelf, "--wide", "--dynamic", "--dyn-syms", path], check=True, capture_output=True)
    lines = printed.stdout.decode().splitlines()
    facts = facts_of(path)
    tags = [line.split()[1] for line in lines if line.strip().startswith("0x")]
    assert tags.count("(NEEDED)") == len(facts.needed)
    assert ("(RPATH)" in tags, "(RUNPATH)" in tags) == (facts.rpath is not None, facts.runpath is not None)
    rows = [line.split() for line in lines if line.strip()[:1].isdigit() and " UND " in line]
    named = {row[7].partition("@")[0] for row in rows if row[4] != "LOCAL" and len(row) > 7}
    assert {symbol.name for symbol in facts.symbols if not symbol.defined} == named


def test_there_are_files_with_and_without_a_search_path() -> None:
    paths = [facts.rpath or facts.runpath for facts in map(facts_of, FOREIGN)]
    assert any(paths)
    assert not all(paths)


def test_a_file_without_section_headers_tells_the_same() -> None:
    data = bytearray(SMALL.read_bytes())
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    assert sections
    struct.pack_into("<Q", data, 0x28, 0)
    struct.pack_into("<HH", data, 0x3C, 0, 0)
    del data[sections:]
    whole = facts_of(SMALL)
    cxx = replace(whole.cxx, defined=(), symbol_table=False)  # comments and the symbol table are found by sections only
    assert read_shared_object(bytes(data))[1] == replace(whole, comments=(), cxx=cxx)


def test_the_hidden_mark_of_a_version_does_not_hide_the_version() -> None:
    data = bytearray(SMALL.read_bytes())
    with SMALL.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".gnu.version")
        assert section
        start, count = section["sh_offset"], section["sh_size"] // 2
    for place in range(start, start + 2 * count, 2):
        (number,) = struct.unpack_from("<H", data, place)
        struct.pack_into("<H", data, place, number | 0x8000)
    assert read_shared_object(bytes(data))[1] == facts_of(SMALL)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "this is not an ELF file"),
        (b"#!/bin/sh\n", "this is not an ELF file"),
        (b"\x7fELF", "the ELF header is damaged"),
        (b"\x7fELF\x01\x01\x01" + bytes(60), "this is not a 64-bit little-endian ELF file"),
        (b"\x7fELF\x02\x02\x01" + bytes(60), "this is not a 64-bit little-endian ELF file"),
    ],
)
def test_what_is_no_elf_file_is_said(data: bytes, what: str) -> None:
    with pytest.raises(UnreadableError, match=what):
        read_shared_object(data)


def test_a_program_or_another_machine_is_no_shared_object_of_ours() -> None:
    data = bytearray(SMALL.read_bytes())
    struct.pack_into("<H", data, 0x12, 183)
    with pytest.raises(UnreadableError, match="ET_DYN for EM_AARCH64"):
        read_shared_object(bytes(data))


def test_more_segments_than_any_file_has() -> None:
    data = bytearray(SMALL.read_bytes())
    struct.pack_into("<H", data, 0x38, 0xFFFE)
    with pytest.raises(UnreadableError, match="65534 segments"):
        read_shared_object(bytes(data))


def dynamic_entry(data: bytearray, tag: int) -> int:
    """Return the place of the value of a dynamic entry in the file."""
    (start,), (count,) = struct.unpack_from("<Q", data, 0x20), struct.unpack_from("<H", data, 0x38)
    for index in range(count):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, start + 56 * index)
        if kind == 2:
            for place in range(offset, offset + size, 16):
                if struct.unpack_from("<Q", data, place)[0] == tag:
                    return place + 8
    raise AssertionError(tag)


@pytest.mark.parametrize(
    ("tag", "value", "what"),
    [
        (10, 1 << 62, "lies outside of the file"),
        (5, 1 << 62, "lies outside of the file"),
        (6, 1 << 62, "lies outside of the file"),
        (1, 1 << 62, "a name lies outside of the string table"),
    ],
)
def test_dynamic_entries_that_point_nowhere(tag: int, value: int, what: str) -> None:
    data = bytearray(SMALL.read_bytes())
    struct.pack_into("<Q", data, dynamic_entry(data, tag), value)
    with pytest.raises(UnreadableError, match=what):
        read_shared_object(bytes(data))


def test_a_chain_of_version_needs_that_points_at_itself_ends() -> None:
    data = bytearray(SMALL.read_bytes())
    struct.pack_into("<Q", data, dynamic_entry(data, 0x6FFFFFFF), (1 << 32) - 1)
    (address,) = struct.unpack_from("<Q", data, dynamic_entry(data, 0x6FFFFFFE))
    place = data.find(data[address : address + 16])
    struct.pack_into("<HHIII", data, place, 1, 0xFFFF, 1, 0, 16)
    started = time.monotonic()
    with pytest.raises(UnreadableError):
        read_shared_object(bytes(data))
    assert time.monotonic() - started < 5


def read_or_refuse(data: bytes) -> None:
    try:
        read_shared_object(data)
    except UnreadableError:
        return


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=5000, max_examples=200)
@given(st.data())
def test_changed_bytes_are_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(SMALL.read_bytes())
    tables = st.one_of(st.integers(0, 0x400), st.integers(0, len(content) - 1))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(tables)] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    read_or_refuse(bytes(content))


@settings(deadline=5000)
@given(st.integers(0, SMALL.stat().st_size))
def test_no_truncation_raises_anything_else(length: int) -> None:
    read_or_refuse(SMALL.read_bytes()[:length])


def test_a_symbol_count_beyond_the_file_takes_no_memory() -> None:
    data = bytearray(SMALL.read_bytes())
    for tag in (4, 0x6FFFFEF5):
        try:
            place = dynamic_entry(data, tag)
        except AssertionError:
            continue
        (address,) = struct.unpack_from("<Q", data, place)
        struct.pack_into("<4I", data, address, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableError):
            read_shared_object(bytes(data))
        assert tracemalloc.get_traced_memory()[1] < 20 * len(data) + (1 << 22)
    finally:
        tracemalloc.stop()


def test_a_name_longer_than_any_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic, "MAX_NAME", 4)
    with pytest.raises(UnreadableError, match="longer than any name"):
        read_shared_object(SMALL.read_bytes())


def test_names_that_take_more_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic, "MAX_NAMES", 100)
    with pytest.raises(UnreadableError, match="more than 100 bytes"):
        read_shared_object(SMALL.read_bytes())
