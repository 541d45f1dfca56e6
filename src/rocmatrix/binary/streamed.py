"""Compressed bundles, read as they are uncompressed: one code object is held in memory at a time, never the bundle."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import replace

from rocmatrix.binary import bundle
from rocmatrix.binary.bundle import Entry
from rocmatrix.binary.code_object import read_code_object
from rocmatrix.binary.compressed import Content, Head, open_content
from rocmatrix.binary.facts import Bundle, BundleKind, CodeObject, UnreadableError
from rocmatrix.binary.reading import Reading
from rocmatrix.binary.window import Window

MAX_CODE_OBJECT = 1 << 29
"""Bytes of one code object in a compressed bundle: what is held in memory."""


def read_streamed(file: Window, offset: int, head: Head, reading: Reading) -> Bundle:
    """Return what the compressed bundle at an offset of a file holds.

    What was read before something turned out to be damaged is kept, beside what is wrong.
    """
    compression = head.compression(file.size - offset)
    objects: dict[int, CodeObject] = {}
    problem: str | None = None
    with open_content(file, offset, head) as content:
        try:
            head.check(file.size - offset)
            reading.budget.content(head.uncompressed)
            entries, taken = bundle.read_table(content.read)
            objects.update(_objects(content, entries, taken, reading))
            content.finish()
        except UnreadableError as err:
            problem = str(err)
    return Bundle(
        offset=offset,
        code_objects=tuple(objects[index] for index in sorted(objects)),
        problem=problem,
        kind=BundleKind.COMPRESSED,
        compression=compression,
    )


def _objects(content: Content, entries: list[Entry], taken: int, reading: Reading) -> Iterator[tuple[int, CodeObject]]:
    """Give the code objects with their numbers in the table, in the order in which they lie in the bundle."""
    shared = bundle.overlapping(entries, taken)
    known: dict[tuple[int, int], CodeObject] = {}
    for index, entry in sorted(enumerate(entries), key=lambda numbered: (numbered[1].offset, numbered[1].size)):
        if entry.is_host:
            continue
        promised = bundle.promised(entry)
        place = entry.offset, entry.size
        if entry.id in shared:
            yield index, replace(promised, problem=bundle.OVERLAPS)
        elif promised.arch is None:
            yield index, promised
        elif place in known:
            yield index, bundle.under_another_id(known[place], promised)
        else:
            known[place] = _read(content, entry, promised, reading)
            yield index, known[place]


def _read(content: Content, entry: Entry, promised: CodeObject, reading: Reading) -> CodeObject:
    """Return the code object of an entry that lies ahead in the content."""
    if not entry.size:
        return read_code_object(Window(b""), promised, reading)
    if entry.size > MAX_CODE_OBJECT:
        return replace(promised, problem=f"it has {entry.size} bytes, more than the {MAX_CODE_OBJECT} that are read")
    for _ in content.pieces(entry.offset - content.place):
        pass
    with mmap.mmap(-1, entry.size) as held:
        for piece in content.pieces(entry.size):
            held.write(piece)
        if held.tell() < entry.size:
            raise UnreadableError(f"the entry {entry.id} reaches beyond the end of the bundle")
        return read_code_object(Window(held), promised, reading)
