"""Compressed bundles, read as they are uncompressed: one code object is held in memory at a time, never the bundle."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

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
    numbered = [(index, entry) for index, entry in enumerate(entries) if not entry.is_host]
    for (offset, size), group in groupby(sorted(numbered, key=_place), key=_place):
        same = [(index, bundle.promised(entry)) for index, entry in group]
        if any(promised.entry in shared for _, promised in same):
            yield from ((index, replace(promised, problem=bundle.OVERLAPS)) for index, promised in same)
        else:
            yield from _read(content, offset, size, same, reading)


def _place(numbered: tuple[int, Entry]) -> tuple[int, int]:
    return numbered[1].offset, numbered[1].size


def _read(
    content: Content, offset: int, size: int, same: list[tuple[int, CodeObject]], reading: Reading
) -> Iterator[tuple[int, CodeObject]]:
    """Give what lies ahead in the content, under each of its ids."""
    if size > MAX_CODE_OBJECT:
        what = f"it has {size} bytes, more than the {MAX_CODE_OBJECT} that are read"
        yield from ((index, replace(promised, problem=what)) for index, promised in same)
        return
    for _ in content.pieces(offset - content.place):
        pass
    with mmap.mmap(-1, max(size, 1)) as held:
        for piece in content.pieces(size):
            held.write(piece)
        if held.tell() < size:
            raise UnreadableError(f"the entry {same[0][1].entry} reaches beyond the end of the bundle")
        for index, promised in same:
            known = promised.arch is not None
            yield index, read_code_object(Window(held, 0, size), promised, reading) if known else promised
