"""Marks that compilers and linkers leave in a shared object and that the loader does not need.

Comments and the symbol table are found through section headers, which a stripped file lacks and a hostile one may lie
with: what is read here describes a file and never decides alone whether it is good.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rocmatrix.binary.facts import CxxRuntime, CxxSigns, DynamicSymbol, UnreadableError
from rocmatrix.binary.header import Header, Span
from rocmatrix.binary.notes import find_note
from rocmatrix.binary.window import Window

MAX_SECTIONS = 1 << 16
"""Section headers of a file that are looked at."""
MAX_COMMENT = 1 << 16
"""Bytes of ``.comment`` that are read; one line for each compiler that took part."""
MAX_TABLE = 1 << 26
"""Bytes of a symbol table, and of its names, that are read."""
MAX_PLACES = 1024
"""How often a name is looked for in the names of a symbol table; linkers write it once, or as the end of others."""

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB, _PROGBITS = 2, 1
_BUILD_ID, _LONGEST_ID = 3, 64
"""NT_GNU_BUILD_ID; bytes of an id."""

ABI_FUNCTIONS = frozenset(
    {
        "__cxa_throw", "__cxa_begin_catch", "__cxa_end_catch", "__cxa_rethrow", "__cxa_allocate_exception",
        "__gxx_personality_v0", "_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
        "_Unwind_DeleteException", "__cxa_current_exception_type", "__cxa_get_globals", "__dynamic_cast",
    }
)  # fmt: skip
"""Functions of which a process must have one set for exceptions to cross its libraries (Itanium C++ ABI, level II)."""
_MESSAGES = {
    b"terminate called after throwing an instance of '": CxxRuntime.LIBSTDCXX,
    b"libc++abi: ": CxxRuntime.LIBCXXABI,
    b"libunwind: ": CxxRuntime.LIBUNWIND,
}
"""What each runtime prints before it ends a process: in its own object code, hence not in a file that only calls it."""


@dataclass(frozen=True, kw_only=True)
class _Section:
    name: bytes
    type: int
    offset: int
    size: int
    link: int


def read_build_id(file: Window, header: Header) -> str | None:
    """Return the GNU build id as hexadecimal digits; ``None`` without one."""
    try:
        found = find_note(file, header, b"GNU", _BUILD_ID, _LONGEST_ID)
    except UnreadableError:
        return None
    return found.hex() if found else None


def read_comments(file: Window, header: Header) -> tuple[str, ...]:
    """Return the lines of ``.comment``, each once; empty where there is none or the section headers are damaged."""
    for section in _sections(file, header):
        if section.name == b".comment" and section.type == _PROGBITS:
            content = file.head(section.offset, min(section.size, MAX_COMMENT))
            lines = (line.decode("utf-8", "backslashreplace") for line in content.split(b"\0") if line)
            return tuple(dict.fromkeys(lines))
    return ()


def read_cxx_signs(file: Window, header: Header, symbols: Iterable[DynamicSymbol], spans: Sequence[Span]) -> CxxSigns:
    """Return how a file came by its C++ runtime.

    Args:
        file: the file.
        header: its header.
        symbols: its dynamic symbols.
        spans: where to look for messages of runtimes.
    """
    defined = {symbol.name for symbol in symbols if symbol.defined and symbol.name in ABI_FUNCTIONS}
    undefined = {symbol.name for symbol in symbols if not symbol.defined and symbol.name in ABI_FUNCTIONS}
    local = _table_definitions(file, header)
    return CxxSigns(
        defined=tuple(sorted(defined | (local or set()))),
        undefined=tuple(sorted(undefined)),
        inside=tuple(
            runtime
            for message, runtime in _MESSAGES.items()
            if any(file.find(message, span.start, span.end) >= 0 for span in spans)
        ),
        symbol_table=local is not None,
    )


def _table_definitions(file: Window, header: Header) -> set[str] | None:
    """Return the ABI functions that the symbol table defines; ``None`` if the file has no symbol table."""
    sections = list(_sections(file, header))
    for section in sections:
        if section.type == _SYMTAB and section.link < len(sections):
            names = sections[section.link]
            table = file.head(section.offset, min(section.size, MAX_TABLE))
            strings = file.head(names.offset, min(names.size, MAX_TABLE))
            return _defined(table, strings)
    return None


def _defined(table: bytes, strings: bytes) -> set[str]:
    wanted = {place: name for name in ABI_FUNCTIONS for place in _places(strings, name.encode())}
    symbols = _SYMBOL.iter_unpack(table[: len(table) // _SYMBOL.size * _SYMBOL.size])
    return {wanted[name] for name, _, _, section, _, _ in symbols if section != 0 and name in wanted}


def _places(strings: bytes, name: bytes) -> Iterator[int]:
    """Give where a name is in a string table; linkers may let it be the end of a longer one."""
    place = -1
    for _ in range(MAX_PLACES):
        place = strings.find(name + b"\0", place + 1)
        if place < 0:
            return
        yield place


def _sections(file: Window, header: Header) -> Iterator[_Section]:
    """Give the sections of a file; none if their headers do not make sense."""
    start, count, step = header.sections
    if step != _SECTION.size or not 0 < count <= MAX_SECTIONS:
        return
    table = file.head(start, count * step)
    if len(table) < count * step:
        return
    rows = list(_SECTION.iter_unpack(table))
    names = b""
    if header.section_names < count:
        _, _, _, _, offset, size, *_ = rows[header.section_names]
        names = file.head(offset, min(size, MAX_COMMENT))
    for name, kind, _, _, offset, size, link, *_ in rows:
        end = names.find(b"\0", name)
        yield _Section(name=names[name:end] if end >= 0 else b"", type=kind, offset=offset, size=size, link=link)
