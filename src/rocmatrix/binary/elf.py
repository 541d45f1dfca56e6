"""Reader of shared objects: what the dynamic loader reads, no more.

Everything is found the way the loader finds it, from the program headers and ``DT_*`` entries; section headers are
never looked at, so that a stripped file tells as much as an unstripped one and a lying section table fools nobody. The
header and the program headers are parsed by pyelftools; its own iterators over dynamic symbols and versions follow
section headers and have no bounds on hostile files (a chain of version needs may point at itself 2**32 times), so these
tables are unpacked here.

Layouts: System V ABI, chapters 4 and 5; ``.gnu.version_r`` and ``.gnu.hash``: Linux Standard Base 5.0, 10.7.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import takewhile
from typing import IO, cast

from rocmatrix.binary.facts import DynamicSymbol, ElfFacts, UnreadableError, VersionNeed

MAX_SEGMENTS = 512
"""Program headers of a file; real ones have about ten."""
MAX_ENTRIES = 1 << 16
"""Entries of the dynamic section; real ones have about thirty."""
MAX_SYMBOLS = 4_000_000
"""Dynamic symbols of a file; libtorch_cpu has about 300,000."""
MAX_NAME = 1 << 16
"""Bytes of one name; C++ names reach some thousands."""
MAX_NAMES = 1 << 27
"""Bytes of all names of a file together."""
MAX_VERSIONS = 1 << 15
"""Symbol versions of a file: more cannot be numbered."""

_DT = {
    "NEEDED": 1, "HASH": 4, "STRTAB": 5, "SYMTAB": 6, "STRSZ": 10, "SONAME": 14, "RPATH": 15, "RUNPATH": 29,
    "GNU_HASH": 0x6FFFFEF5, "VERSYM": 0x6FFFFFF0, "VERDEF": 0x6FFFFFFC,
    "VERNEED": 0x6FFFFFFE, "VERNEEDNUM": 0x6FFFFFFF,
}  # fmt: skip
_TABLES = {_DT[name] for name in ("STRTAB", "GNU_HASH", "VERSYM", "VERDEF", "VERNEED")} | {7, 12, 13, 23, 25, 26, 36}
"""Entries that hold the address of something: those above, RELA, INIT, FINI, JMPREL, INIT_ARRAY, FINI_ARRAY, RELR."""
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC = struct.Struct("<QQ")
_HIDDEN = 0x8000


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A program header: its type as pyelftools names it, where it lies in the file and in memory, bytes in the file."""

    type: str
    offset: int
    address: int
    size: int


@dataclass(frozen=True, kw_only=True)
class Header:
    """What the ELF header says. Names are those of pyelftools, numbers where it knows none."""

    machine: str
    type: str
    os_abi: int
    abi_version: int
    flags: int
    segments: tuple[Segment, ...]


def read_header(data: bytes | mmap.mmap) -> Header:
    """Return the ELF header and the program headers of a file.

    Raises:
        UnreadableError: this is not a little-endian 64-bit ELF file, or a segment lies outside of it.
    """
    if data[:4] != b"\x7fELF":
        raise UnreadableError("this is not an ELF file")
    header = _parse_header(data)
    if any(segment.offset + segment.size > len(data) for segment in header.segments):
        raise UnreadableError("the file is truncated: a segment reaches beyond its end")
    return header


def _parse_header(data: bytes | mmap.mmap) -> Header:
    from elftools.common.utils import struct_parse  # noqa: PLC0415 - heavy, and only an audit needs it
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415 - as above

    stream = BytesIO(data) if isinstance(data, bytes) else cast("IO[bytes]", data)
    try:
        elf = ELFFile(stream)
        count, start, step = int(elf["e_phnum"]), int(elf["e_phoff"]), int(elf["e_phentsize"])
        wanted = range(count if count <= MAX_SEGMENTS else 0)
        entries = [struct_parse(elf.structs.Elf_Phdr, stream, stream_pos=start + i * step) for i in wanted]
        segments = tuple(
            Segment(
                type=str(entry["p_type"]),
                offset=int(entry["p_offset"]),
                address=int(entry["p_vaddr"]),
                size=int(entry["p_filesz"]),
            )
            for entry in entries
        )
        identity = elf.e_ident_raw
        machine, kind, flags = str(elf["e_machine"]), str(elf["e_type"]), int(elf["e_flags"])
    except Exception as err:  # pyelftools raises a dozen kinds for a damaged header; all of them mean this
        raise UnreadableError("the ELF header is damaged") from err
    if identity[4:6] != b"\x02\x01":  # ELFCLASS64, ELFDATA2LSB
        raise UnreadableError("this is not a 64-bit little-endian ELF file")
    if count > MAX_SEGMENTS:
        raise UnreadableError(f"the ELF header claims {count} segments")
    return Header(
        machine=machine, type=kind, os_abi=identity[7], abi_version=identity[8], flags=flags, segments=segments
    )


def read_shared_object(data: bytes | mmap.mmap) -> tuple[Header, ElfFacts]:
    """Return what the loader reads of a shared object for x86-64 Linux.

    Raises:
        UnreadableError: it is not one, or its tables are damaged.
    """
    header = read_header(data)
    if header.machine != "EM_X86_64" or header.type != "ET_DYN":
        raise UnreadableError(f"this is not a shared object for x86-64 but {header.type} for {header.machine}")
    try:
        return header, _Loader(data, header).facts()
    except struct.error as err:
        raise UnreadableError("a dynamic table is cut off") from err


class _Loader:
    """Follows the dynamic section of one file."""

    def __init__(self, data: bytes | mmap.mmap, header: Header) -> None:
        """Read the dynamic section; of an entry that is there twice the last one counts, as for the loader."""
        self._data = data
        self._loads = [segment for segment in header.segments if segment.type == "PT_LOAD"]
        dynamic = [segment for segment in header.segments if segment.type == "PT_DYNAMIC"]
        if not dynamic:
            raise UnreadableError("there is no dynamic section: nothing can load this")
        table = self._at(dynamic[-1].address, min(dynamic[-1].size, MAX_ENTRIES * _DYNAMIC.size))
        entries = _DYNAMIC.iter_unpack(table[: len(table) // _DYNAMIC.size * _DYNAMIC.size])
        self._entries: list[tuple[int, int]] = list(takewhile(lambda entry: entry[0] != 0, entries))
        self._last: dict[int, int] = dict(self._entries)
        self._strings = self._at(self._tag("STRTAB"), self._tag("STRSZ"))
        self._name_bytes = 0

    def facts(self) -> ElfFacts:
        """Return all that is asked of the file."""
        needs, versions = self._version_needs()
        return ElfFacts(
            soname=self._text("SONAME"),
            needed=tuple(self._string(value) for tag, value in self._entries if tag == _DT["NEEDED"]),
            rpath=self._text("RPATH"),
            runpath=self._text("RUNPATH"),
            symbols=tuple(self._symbols(versions)),
            version_needs=tuple(needs),
        )

    # -- tables --------------------------------------------------------------------------------------------------

    def _symbols(self, versions: dict[int, str]) -> Iterator[DynamicSymbol]:
        """Give the global and weak symbols, with the versions that undefined ones ask for."""
        count = self._symbol_count()
        table = self._at(self._tag("SYMTAB"), count * _SYMBOL.size)
        numbers = [1] * count
        if _DT["VERSYM"] in self._last:
            numbers = list(struct.unpack(f"<{count}H", self._at(self._tag("VERSYM"), 2 * count)))
        for (name, info, _, section, _, _), number in zip(_SYMBOL.iter_unpack(table), numbers, strict=True):
            if info >> 4 == 0 or name == 0:  # STB_LOCAL, and the empty symbol at the start
                continue
            yield DynamicSymbol(name=self._string(name), defined=section != 0, version=versions.get(number & ~_HIDDEN))

    def _symbol_count(self) -> int:
        """Return how many symbols there are: the loader never needs to know, so no entry says it directly.

        ``DT_HASH`` holds the number. ``DT_GNU_HASH`` holds it if the file defines any symbol. For a file that defines
        none, the table ends where the next one starts.
        """
        if _DT["HASH"] in self._last:
            (count,) = struct.unpack("<I", self._at(self._tag("HASH") + 4, 4))
        else:
            count = self._gnu_hash_count() if _DT["GNU_HASH"] in self._last else 0
            count = count or self._gap_after_symbols()
        if count > MAX_SYMBOLS:
            raise UnreadableError(f"the file claims {count} dynamic symbols")
        return int(count)

    def _gnu_hash_count(self) -> int:
        start = self._tag("GNU_HASH")
        buckets, first, bloom, _ = struct.unpack("<4I", self._at(start, 16))
        if buckets > MAX_SYMBOLS or bloom > MAX_SYMBOLS:
            raise UnreadableError("the symbol hash table is damaged")
        table = start + 16 + 8 * bloom
        last = max(struct.unpack(f"<{buckets}I", self._at(table, 4 * buckets)), default=0)
        if last < first or last == 0:
            return 0
        chain = self._rest(table + 4 * buckets + 4 * (last - first), 4 * MAX_SYMBOLS)
        for index, (value,) in enumerate(struct.iter_unpack("<I", chain[: len(chain) // 4 * 4])):
            if value & 1:
                return int(last) + index + 1
        raise UnreadableError("the symbol hash table has no end")

    def _gap_after_symbols(self) -> int:
        start = self._tag("SYMTAB")
        end = min((value for tag, value in self._entries if tag in _TABLES and value > start), default=start)
        return min((end - start) // _SYMBOL.size, len(self._rest(start, end - start)) // _SYMBOL.size)

    def _version_needs(self) -> tuple[list[VersionNeed], dict[int, str]]:
        """Return all version needs, and the version that each number of ``DT_VERSYM`` stands for."""
        needs: list[VersionNeed] = []
        numbers: dict[int, str] = {}
        if _DT["VERNEED"] not in self._last:
            return needs, numbers
        address = self._tag("VERNEED")
        for _ in range(min(self._tag("VERNEEDNUM"), MAX_VERSIONS)):
            _, count, file, auxiliary, following = struct.unpack("<HHIII", self._at(address, 16))
            library, place = self._string(file), address + auxiliary
            for _ in range(count):
                _, _, number, name, step = struct.unpack("<IHHII", self._at(place, 16))
                version = self._string(name)
                needs.append(VersionNeed(library=library, version=version))
                numbers[number & ~_HIDDEN] = version
                if len(needs) > MAX_VERSIONS:
                    raise UnreadableError("the file needs more symbol versions than can be numbered")
                if not step:
                    break
                place += step
            if not following:
                break
            address += following
        return needs, numbers

    # -- bytes ---------------------------------------------------------------------------------------------------

    def _tag(self, name: str) -> int:
        value = self._last.get(_DT[name])
        if value is None:
            raise UnreadableError(f"the dynamic section has no DT_{name}")
        return value

    def _text(self, name: str) -> str | None:
        return self._string(self._tag(name)) if _DT[name] in self._last else None

    def _string(self, offset: int) -> str:
        end = self._strings.find(b"\0", offset, offset + MAX_NAME)
        if end < 0:
            raise UnreadableError("a name lies outside of the string table or is longer than any name")
        self._name_bytes += end - offset
        if self._name_bytes > MAX_NAMES:
            raise UnreadableError(f"the names of the file take more than {MAX_NAMES} bytes")
        return self._strings[offset:end].decode("utf-8", "backslashreplace")

    def _at(self, address: int, size: int) -> bytes:
        """Return the bytes that the loader maps at an address."""
        found = self._rest(address, size)
        if len(found) < size:
            raise UnreadableError(f"a dynamic table of {size} bytes at {address:#x} lies outside of the file")
        return found

    def _rest(self, address: int, limit: int) -> bytes:
        """Return the bytes from an address to the end of its segment, at most ``limit``."""
        for segment in self._loads:
            if segment.address <= address < segment.address + segment.size:
                start = segment.offset + address - segment.address
                end = min(segment.offset + segment.size, start + limit)
                return self._data[start:end]
        return b""
