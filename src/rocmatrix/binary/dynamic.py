"""The dynamic section of an ELF file and the tables that it leads to: what the loader reads, host's or GPU's.

Everything is found the way the loader finds it, from the program headers and ``DT_*`` entries; section headers are
never looked at, so that a stripped file tells as much as an unstripped one and a lying section table fools nobody.
pyelftools' iterators over dynamic symbols and versions follow section headers and have no bounds on hostile files (a
chain of version needs may point at itself 2**32 times), so these tables are unpacked here.

Layouts: System V ABI, chapters 4 and 5; ``.gnu.version_r`` and ``.gnu.hash``: Linux Standard Base 5.0, 10.7.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile

from rocmatrix.binary.facts import DynamicSymbol, UnreadableError, VersionNeed
from rocmatrix.binary.header import Header
from rocmatrix.binary.window import Window

MAX_ENTRIES = 1 << 16
"""Entries of the dynamic section; real ones have about thirty."""
MAX_SYMBOLS = 1 << 19
"""Dynamic symbols of a file; libtorch_cpu has about 300,000."""
MAX_NAME = 1 << 16
"""Bytes of one name; C++ names reach some thousands."""
MAX_NAMES = 1 << 27
"""Bytes of all names of a file together."""
MAX_VERSIONS = 1 << 15
"""Symbol versions of a file: more cannot be numbered."""


class Tag(IntEnum):
    """Entries of the dynamic section (``DT_*``)."""

    NEEDED = 1
    HASH = 4
    STRTAB = 5
    SYMTAB = 6
    STRSZ = 10
    SONAME = 14
    RPATH = 15
    TEXTREL = 22
    BIND_NOW = 24
    RUNPATH = 29
    FLAGS = 30
    GNU_HASH = 0x6FFFFEF5
    VERSYM = 0x6FFFFFF0
    FLAGS_1 = 0x6FFFFFFB
    VERDEF = 0x6FFFFFFC
    VERNEED = 0x6FFFFFFE
    VERNEEDNUM = 0x6FFFFFFF


_TABLES = {Tag.STRTAB, Tag.GNU_HASH, Tag.VERSYM, Tag.VERDEF, Tag.VERNEED} | {7, 12, 13, 23, 25, 26, 36}
"""Entries that hold the address of something: those above, RELA, INIT, FINI, JMPREL, INIT_ARRAY, FINI_ARRAY, RELR."""
_SYMBOL = struct.Struct("<IBBHQQ")
_ENTRY = struct.Struct("<QQ")
_HIDDEN = 0x8000
_LOCAL, _WEAK = 0, 2
"""STB_LOCAL, STB_WEAK."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A symbol that the file itself defines: its name, where it lies in memory and its bytes."""

    name: str
    address: int
    size: int


class Dynamic:
    """Follows the dynamic section of one file. Every method raises ``UnreadableError`` where a table is damaged."""

    def __init__(self, file: Window, header: Header) -> None:
        """Read the dynamic section; of an entry that is there twice the last one counts, as for the loader.

        Raises:
            UnreadableError: there is none, or it lies outside of the file.
        """
        self._file = file
        self._loads = [segment for segment in header.segments if segment.type == "PT_LOAD"]
        dynamic = [segment for segment in header.segments if segment.type == "PT_DYNAMIC"]
        if not dynamic:
            raise UnreadableError("there is no dynamic section: nothing can load this")
        table = self.at(dynamic[-1].address, min(dynamic[-1].size, MAX_ENTRIES * _ENTRY.size))
        entries = _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size])
        self._entries: list[tuple[int, int]] = list(takewhile(lambda entry: entry[0] != 0, entries))
        self._last: dict[int, int] = dict(self._entries)
        self._strings = self.at(self._value(Tag.STRTAB), self._value(Tag.STRSZ)) if Tag.STRTAB in self._last else b""
        self._name_bytes = 0

    def number(self, tag: Tag) -> int | None:
        """Return the value of an entry; ``None`` without one."""
        return self._last.get(tag)

    def text(self, tag: Tag) -> str | None:
        """Return the name that an entry speaks of; ``None`` without one."""
        return self._string(self._last[tag]) if tag in self._last else None

    def needed(self) -> tuple[str, ...]:
        """Return the libraries that the file needs, in order."""
        return tuple(self._string(value) for tag, value in self._entries if tag == Tag.NEEDED)

    def symbols(self, versions: dict[int, VersionNeed]) -> Iterator[DynamicSymbol]:
        """Give the global and weak symbols, with the versions that undefined ones ask for.

        Args:
            versions: as ``version_needs`` returned them.
        """
        count = self._symbol_count()
        numbers = [1] * count
        if Tag.VERSYM in self._last:
            numbers = list(struct.unpack(f"<{count}H", self.at(self._value(Tag.VERSYM), 2 * count)))
        for (name, info, _, section, _, _), number in zip(self._table(count), numbers, strict=True):
            if info >> 4 == _LOCAL or name == 0:  # the empty symbol at the start, too
                continue
            need = versions.get(number & ~_HIDDEN)
            yield DynamicSymbol(
                name=self._string(name),
                defined=section != 0,
                version=need.version if need else None,
                library=need.library if need else None,
                weak=info >> 4 == _WEAK,
            )

    def definitions(self) -> Iterator[Definition]:
        """Give the symbols that the file defines."""
        for name, info, _, section, address, size in self._table(self._symbol_count()):
            if section != 0 and name != 0 and info >> 4 != _LOCAL:
                yield Definition(name=self._string(name), address=address, size=size)

    def version_needs(self) -> tuple[tuple[VersionNeed, ...], dict[int, VersionNeed]]:
        """Return all version needs, and the one that each number of ``DT_VERSYM`` stands for."""
        needs: list[VersionNeed] = []
        numbers: dict[int, VersionNeed] = {}
        if Tag.VERNEED not in self._last:
            return (), numbers
        address = self._value(Tag.VERNEED)
        for _ in range(min(self._value(Tag.VERNEEDNUM), MAX_VERSIONS)):
            _, count, file, auxiliary, following = struct.unpack("<HHIII", self.at(address, 16))
            library, place = self._string(file), address + auxiliary
            for _ in range(count):
                _, _, number, name, step = struct.unpack("<IHHII", self.at(place, 16))
                need = VersionNeed(library=library, version=self._string(name))
                needs.append(need)
                numbers[number & ~_HIDDEN] = need
                if len(needs) > MAX_VERSIONS:
                    raise UnreadableError("the file needs more symbol versions than can be numbered")
                if not step:
                    break
                place += step
            if not following:
                break
            address += following
        return tuple(needs), numbers

    def at(self, address: int, size: int) -> bytes:
        """Return the bytes that the loader maps at an address."""
        found = self._rest(address, size)
        if len(found) < size:
            raise UnreadableError(f"a dynamic table of {size} bytes at {address:#x} lies outside of the file")
        return found

    # -- tables --------------------------------------------------------------------------------------------------

    def _table(self, count: int) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Give name, info, other, section, value and size of each symbol."""
        return _SYMBOL.iter_unpack(self.at(self._value(Tag.SYMTAB), count * _SYMBOL.size) if count else b"")

    def _symbol_count(self) -> int:
        """Return how many symbols there are: the loader never needs to know, so no entry says it directly.

        ``DT_HASH`` holds the number. ``DT_GNU_HASH`` holds it if the file defines any symbol. For a file that defines
        none, the table ends where the next one starts.
        """
        if Tag.HASH in self._last:
            (count,) = struct.unpack("<I", self.at(self._value(Tag.HASH) + 4, 4))
        else:
            count = self._gnu_hash_count() if Tag.GNU_HASH in self._last else 0
            count = count or self._gap_after_symbols()
        if count > MAX_SYMBOLS:
            raise UnreadableError(f"the file claims {count} dynamic symbols")
        return int(count)

    def _gnu_hash_count(self) -> int:
        start = self._value(Tag.GNU_HASH)
        buckets, first, bloom, _ = struct.unpack("<4I", self.at(start, 16))
        if buckets > MAX_SYMBOLS or bloom > MAX_SYMBOLS:
            raise UnreadableError("the symbol hash table is damaged")
        table = start + 16 + 8 * bloom
        last = max(struct.unpack(f"<{buckets}I", self.at(table, 4 * buckets)), default=0)
        if last < first or last == 0:
            return 0
        chain = self._rest(table + 4 * buckets + 4 * (last - first), 4 * MAX_SYMBOLS)
        for index, (value,) in enumerate(struct.iter_unpack("<I", chain[: len(chain) // 4 * 4])):
            if value & 1:
                return int(last) + index + 1
        raise UnreadableError("the symbol hash table has no end")

    def _gap_after_symbols(self) -> int:
        if Tag.SYMTAB not in self._last:
            return 0
        start = self._value(Tag.SYMTAB)
        end = min((value for tag, value in self._entries if tag in _TABLES and value > start), default=start)
        return min((end - start) // _SYMBOL.size, len(self._rest(start, end - start)) // _SYMBOL.size)

    # -- bytes ---------------------------------------------------------------------------------------------------

    def _value(self, tag: Tag) -> int:
        value = self._last.get(tag)
        if value is None:
            raise UnreadableError(f"the dynamic section has no DT_{tag.name}")
        return value

    def _string(self, offset: int) -> str:
        end = self._strings.find(b"\0", offset, offset + MAX_NAME)
        if end < 0:
            raise UnreadableError("a name lies outside of the string table or is longer than any name")
        self._name_bytes += end - offset
        if self._name_bytes > MAX_NAMES:
            raise UnreadableError(f"the names of the file take more than {MAX_NAMES} bytes")
        return self._strings[offset:end].decode("utf-8", "backslashreplace")

    def _rest(self, address: int, limit: int) -> bytes:
        """Return the bytes from an address to the end of its segment, at most ``limit``."""
        for segment in self._loads:
            if segment.address <= address < segment.address + segment.size:
                into = address - segment.address
                return self._file.head(segment.offset + into, min(segment.size - into, limit))
        return b""
