"""The ELF header and the program headers of a file: what decides whether and where anything is loaded.

Layout: System V ABI, chapter 4. The tables are unpacked here, within bounds, rather than by pyelftools: that follows
section headers as soon as it opens a file, and takes a millisecond, of which a library has thousands of code objects.
Names of numbers are pyelftools'.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.window import Window, window

MAX_SEGMENTS = 512
"""Program headers of a file; real ones have about ten."""

ELF_MAGIC = b"\x7fELF"
EXECUTABLE = 1
"""PF_X, the bit of a segment's flags that makes it executable."""
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_CLASS_64_LITTLE = b"\x02\x01"
"""ELFCLASS64, ELFDATA2LSB."""
_FOREIGN = {
    b"MZ": "a Windows program or library (PE)",
    b"\xcf\xfa\xed\xfe": "a program or library for macOS (Mach-O)",
    b"\xca\xfe\xba\xbe": "a program or library for macOS with several architectures (Mach-O)",
    b"!<arch>": "an archive of object files (.a)",
    b"BC\xc0\xde": "LLVM bitcode",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip file",
    b"version https://git-lfs": "a pointer that Git LFS left for the file",
}
"""First bytes of what people take for a shared object, and what it is."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A program header.

    Attributes:
        type: as pyelftools names it.
        offset: where it lies in the file, in bytes; ``address``: in memory.
        size: bytes in the file.
        flags: ``PF_*``: 1 executable, 2 writable, 4 readable.
    """

    type: str
    offset: int
    address: int
    size: int
    flags: int = 0


@dataclass(frozen=True, kw_only=True)
class Header:
    """What the ELF header says. Names are those of pyelftools, numbers where it knows none.

    Attributes:
        sections: offset in bytes, number and bytes of each section header, as claimed; loading does not need them.
        section_names: number of the section that holds the names of sections.
    """

    machine: str
    type: str
    os_abi: int
    abi_version: int
    flags: int
    segments: tuple[Segment, ...]
    sections: tuple[int, int, int] = (0, 0, 0)
    section_names: int = 0


@dataclass(frozen=True, kw_only=True)
class Span:
    """A part of a file: from ``start`` to ``end``; ``address`` is where its start is mapped."""

    start: int
    end: int
    address: int


def loaded_spans(header: Header) -> tuple[Span, ...]:
    """Return what the loader maps of a file, in order; no byte of the file is in two of them."""
    spans: list[Span] = []
    loads = (segment for segment in header.segments if segment.type == "PT_LOAD" and segment.size)
    for segment in sorted(loads, key=lambda load: load.offset):
        start, end = segment.offset, segment.offset + segment.size
        known = spans[-1].end if spans else 0
        if end > known:
            cut = max(start, known)
            spans.append(Span(start=cut, end=end, address=segment.address + cut - start))
    return tuple(spans)


def read_header(data: bytes | mmap.mmap | Window) -> Header:
    """Return the ELF header and the program headers of a file.

    Raises:
        UnreadableError: this is not a little-endian 64-bit ELF file, or a segment lies outside of it.
    """
    file = window(data)
    head = file.head(0, _HEADER.size)
    if head[:4] != ELF_MAGIC:
        foreign = next((name for start, name in _FOREIGN.items() if head.startswith(start)), None)
        raise UnreadableError("this is not an ELF file" + (f" but {foreign}" if foreign else ""))
    if len(head) >= 6 and head[4:6] != _CLASS_64_LITTLE:  # noqa: PLR2004 - class and byte order are there
        raise UnreadableError("this is not a 64-bit little-endian ELF file")
    if len(head) < _HEADER.size:
        raise UnreadableError("the ELF header is damaged: it is cut off")
    identity, kind, machine, _, _, start, sections, flags, _, step, count, section_step, section_count, names = (
        _HEADER.unpack(head)
    )
    if count > MAX_SEGMENTS:
        raise UnreadableError(f"the ELF header claims {count} segments")
    if count and step != _SEGMENT.size:
        raise UnreadableError(f"the ELF header is damaged: it says that program headers have {step} bytes")
    table = file.head(start, count * _SEGMENT.size)
    if len(table) < count * _SEGMENT.size:
        raise UnreadableError("the ELF header is damaged: the program headers lie outside of the file")
    segments = tuple(_segment(*fields) for fields in _SEGMENT.iter_unpack(table))
    if any(segment.offset + segment.size > file.size for segment in segments):
        raise UnreadableError("the file is truncated: a segment reaches beyond its end")
    return Header(
        machine=_machines().get(machine, str(machine)),
        type=_types().get(kind, str(kind)),
        os_abi=identity[7],
        abi_version=identity[8],
        flags=flags,
        segments=segments,
        sections=(sections, section_count, section_step),
        section_names=names,
    )


def _segment(kind: int, flags: int, offset: int, address: int, _: int, size: int, *__: int) -> Segment:
    return Segment(type=_segment_types().get(kind, str(kind)), offset=offset, address=address, size=size, flags=flags)


def _names(enum: Mapping[str, int]) -> dict[int, str]:
    return {number: name for name, number in enum.items() if isinstance(number, int)}


@cache
def _machines() -> dict[int, str]:
    from elftools.elf.enums import ENUM_E_MACHINE  # noqa: PLC0415 - only an audit needs it

    return _names(ENUM_E_MACHINE)


@cache
def _types() -> dict[int, str]:
    from elftools.elf.enums import ENUM_E_TYPE  # noqa: PLC0415 - as above

    return _names(ENUM_E_TYPE)


@cache
def _segment_types() -> dict[int, str]:
    from elftools.elf.enums import ENUM_P_TYPE_BASE  # noqa: PLC0415 - as above

    return _names(ENUM_P_TYPE_BASE)
