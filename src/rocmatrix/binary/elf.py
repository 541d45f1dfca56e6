"""Reader of shared objects for x86-64 Linux: what the dynamic loader reads, and the marks that their makers left.

What decides about loading comes from ``dynamic`` and the program headers, never from section headers.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence

from rocmatrix.binary.dynamic import Dynamic, Tag
from rocmatrix.binary.facts import ElfFacts, Relro, UnreadableError
from rocmatrix.binary.header import EXECUTABLE, Header, Span, loaded_spans, read_header
from rocmatrix.binary.marks import read_build_id, read_comments, read_cxx_signs
from rocmatrix.binary.window import Window, window

_TEXT_RELOCATIONS = 0x4
"""DF_TEXTREL of DT_FLAGS."""
_BIND_NOW, _NOW = 0x8, 0x1
"""DF_BIND_NOW of DT_FLAGS, DF_1_NOW of DT_FLAGS_1."""


def read_shared_object(
    data: bytes | mmap.mmap | Window, spans: Sequence[Span] | None = None
) -> tuple[Header, ElfFacts]:
    """Return what the loader reads of a shared object for x86-64 Linux, and what its makers left in it.

    Args:
        data: the whole file.
        spans: where messages of C++ runtimes may be; ``None`` for all that the loader maps.

    Raises:
        UnreadableError: it is not one, or its tables are damaged.
    """
    file = window(data)
    header = read_header(file)
    if header.machine != "EM_X86_64" or header.type != "ET_DYN":
        raise UnreadableError(f"this is not a shared object for x86-64 but {header.type} for {header.machine}")
    try:
        return header, _facts(file, header, loaded_spans(header) if spans is None else spans)
    except struct.error as err:
        raise UnreadableError("a dynamic table is cut off") from err


def _facts(file: Window, header: Header, spans: Sequence[Span]) -> ElfFacts:
    dynamic = Dynamic(file, header)
    needs, versions = dynamic.version_needs()
    symbols = tuple(dynamic.symbols(versions))
    flags = dynamic.number(Tag.FLAGS) or 0
    return ElfFacts(
        soname=dynamic.text(Tag.SONAME),
        needed=dynamic.needed(),
        rpath=dynamic.text(Tag.RPATH),
        runpath=dynamic.text(Tag.RUNPATH),
        symbols=symbols,
        version_needs=needs,
        build_id=read_build_id(file, header),
        executable_stack=_executable_stack(header),
        text_relocations=dynamic.number(Tag.TEXTREL) is not None or bool(flags & _TEXT_RELOCATIONS),
        relro=_relro(header, dynamic, flags),
        cxx=read_cxx_signs(file, header, symbols, spans),
        comments=read_comments(file, header),
    )


def _executable_stack(header: Header) -> bool:
    """Say whether stacks become executable; the last header counts, and without one glibc takes the old default."""
    stacks = [segment for segment in header.segments if segment.type == "PT_GNU_STACK"]
    return bool(stacks[-1].flags & EXECUTABLE) if stacks else True


def _relro(header: Header, dynamic: Dynamic, flags: int) -> Relro:
    if not any(segment.type == "PT_GNU_RELRO" for segment in header.segments):
        return Relro.NONE
    now = dynamic.number(Tag.BIND_NOW) is not None or flags & _BIND_NOW or (dynamic.number(Tag.FLAGS_1) or 0) & _NOW
    return Relro.FULL if now else Relro.PARTIAL
