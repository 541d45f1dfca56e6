"""Reader of GPU code in files: which GPUs a file holds machine code for, and what that code says of itself.

clang puts the code objects of each HIP translation unit into a bundle, and the bundle into the ELF section
``.hip_fatbin`` of the host object. Bundles, packages and code objects by themselves are found by their first bytes in
whatever the loader maps, not by the name of a section, so that stripped files and code embedded as data count too.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from rocmatrix.binary import bundle, compressed, package
from rocmatrix.binary.bundle import Entry, target_of
from rocmatrix.binary.code_object import MACHINE_NUMBER, read_code_object
from rocmatrix.binary.facts import Bundle, BundleEntry, BundleKind, CodeObject, UnreadableError
from rocmatrix.binary.header import ELF_MAGIC, Header, Span, loaded_spans, read_header
from rocmatrix.binary.reading import Reading
from rocmatrix.binary.streamed import read_streamed
from rocmatrix.binary.window import Window, window

PLAIN_MAGIC = bundle.MAGIC
COMPRESSED_MAGIC = compressed.MAGIC
MAX_BUNDLES = 1 << 15
"""Bundles and code objects of one file: one for each translation unit."""

MAX_HITS = 1 << 18
"""Places that begin as GPU code may, most of them by chance in real files."""

_MAGICS = (bundle.MAGIC, compressed.MAGIC, package.MAGIC, ELF_MAGIC)
_PIECE = 1 << 20
"""Bytes that are looked through at once."""
_HEAD = 64
"""Bytes that tell which of these it is."""
_PAGE = 4096
"""clang aligns ``.hip_fatbin`` and the bundles in it to this many bytes."""


@dataclass(frozen=True, kw_only=True)
class GpuCode:
    """The GPU code of a file.

    Attributes:
        bundles: bundles and packages, in order.
        code_objects: code objects outside of any, in order.
        rest: the parts that were looked through and hold no GPU code.
    """

    bundles: tuple[Bundle, ...]
    code_objects: tuple[CodeObject, ...]
    rest: tuple[Span, ...]


def read_bundles(data: bytes | mmap.mmap | Window, header: Header, machines: Mapping[int, str]) -> tuple[Bundle, ...]:
    """Return the offload bundles in what the loader maps of a file, in their order.

    Args:
        data: the whole file.
        header: its header, for the segments.
        machines: machine number of a code object's ELF flags -> processor.

    Raises:
        UnreadableError: there are more than ``MAX_BUNDLES`` of them.
    """
    return read_gpu_code(window(data), loaded_spans(header), Reading(machines=machines)).bundles


def read_gpu_code(file: Window, spans: Iterable[Span], reading: Reading) -> GpuCode:
    """Return the GPU code in some parts of a file.

    Raises:
        UnreadableError: there are more than ``MAX_BUNDLES`` of it, or more than ``MAX_HITS`` places look like it.
    """
    bundles: list[Bundle] = []
    objects: list[CodeObject] = []
    rest: list[Span] = []
    hits = 0
    for span in spans:
        place, ahead = span.start, _Ahead(file, span)
        while (hit := ahead.next(place)) is not None:
            hits += 1
            before = place
            found, place = _read_at(file, hit, span, reading)
            if isinstance(found, Bundle):
                bundles.append(found)
            elif found is not None:
                objects.append(found)
            rest.append(Span(start=before, end=hit if found else place, address=span.address + before - span.start))
            if len(bundles) + len(objects) > MAX_BUNDLES:
                raise UnreadableError(f"the file holds more than {MAX_BUNDLES} offload bundles and code objects")
            if hits > MAX_HITS:
                raise UnreadableError(f"more than {MAX_HITS} places of the file begin as GPU code does")
        rest.append(Span(start=place, end=span.end, address=span.address + place - span.start))
    return GpuCode(bundles=tuple(bundles), code_objects=tuple(objects), rest=tuple(_joined(rest)))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Give spans that are not empty; those of which one ends where the next begins as one."""
    last: Span | None = None
    for span in spans:
        if last is not None and last.end == span.start:
            last = replace(last, end=span.end)
        elif span.end > span.start:
            if last is not None:
                yield last
            last = span
    if last is not None:
        yield last


def unbundle(data: bytes) -> tuple[BundleEntry, ...]:
    """Return the entries for GPUs of the bundle that data begins with; what follows it does not matter.

    Raises:
        UnreadableError: it is damaged or no bundle.
    """
    file = Window(data)
    if data[:4] == compressed.MAGIC:
        head = compressed.read_head(data[:_HEAD], len(data))
        if head is None:
            raise UnreadableError("the header of the compressed offload bundle is damaged")
        with compressed.open_content(file, 0, head) as content:
            file = Window(content.read(head.uncompressed))
    return tuple(
        BundleEntry(target=target_of(entry.id), entry=entry.id, data=file.read(entry.offset, entry.size))
        for entry in _table(file, 0, file.size)[0]
        if not entry.is_host
    )


class _Ahead:
    """Looks for the next magic in a span, a piece of it at a time, so that what is skipped is never looked through.

    Within a piece each magic is looked for once, not again for every other that is found.
    """

    def __init__(self, file: Window, span: Span) -> None:
        self._file = file
        self._end = span.end
        self._piece = span.start
        self._next = dict.fromkeys(_MAGICS, -1)

    def next(self, place: int) -> int | None:
        """Return where the next magic from a place on is; ``None`` if there is none."""
        while True:
            fresh = place >= self._piece
            if fresh:
                self._piece = min(place + _PIECE, self._end)
            for magic, known in self._next.items():
                if fresh or -1 < known < place:
                    self._next[magic] = self._file.find(magic, place, min(self._piece + len(magic) - 1, self._end))
            if hits := [known for known in self._next.values() if known >= 0]:
                return min(hits)
            if self._piece >= self._end:
                return None
            place = self._piece


def _read_at(file: Window, hit: int, span: Span, reading: Reading) -> tuple[Bundle | CodeObject | None, int]:
    """Return what begins at a place and where to look further; ``None`` if it was only some equal letters."""
    start = file.head(hit, min(_HEAD, span.end - hit))
    nothing = None, hit + len(ELF_MAGIC)
    if start.startswith(ELF_MAGIC):
        return _bare(file, hit, span, reading) if start[18:20] == MACHINE_NUMBER else nothing
    if start.startswith(compressed.MAGIC):
        head = compressed.read_head(start, span.end - hit)
        if head is None:
            return nothing
        return read_streamed(file, hit, head, reading), hit + (head.header if head.total is None else head.total)
    if start.startswith(package.MAGIC):
        size = package.read_size(start, span.end - hit)
        return nothing if size is None else (_package(file.part(hit, size), hit, reading), hit + size)
    return _plain(file, hit, span, reading)


def _plain(file: Window, hit: int, span: Span, reading: Reading) -> tuple[Bundle, int]:
    try:
        entries, taken = _table(file, hit, span.end)
    except UnreadableError as err:
        aligned = (span.address + hit - span.start) % _PAGE == 0
        return Bundle(offset=hit, problem=str(err), certain=aligned), hit + len(bundle.MAGIC)
    objects = tuple(_objects(file, hit, entries, taken, reading))
    behind = max((hit + entry.offset + entry.size for entry in entries), default=0)
    return Bundle(offset=hit, code_objects=objects), max(behind, hit + taken)


def _table(file: Window, start: int, end: int) -> tuple[list[Entry], int]:
    """Return the entries of a plain bundle and the bytes of its table; all of them lie before ``end``."""
    place = start

    def read(size: int) -> bytes:
        nonlocal place
        content = file.head(place, min(size, max(end - place, 0)))
        place += len(content)
        return content

    entries, taken = bundle.read_table(read)
    for entry in entries:
        if start + entry.offset + entry.size > end:
            raise UnreadableError(f"the entry {entry.id} reaches beyond the end of its segment")
    return entries, taken


def _objects(file: Window, start: int, entries: list[Entry], taken: int, reading: Reading) -> Iterator[CodeObject]:
    shared = bundle.overlapping(entries, taken)
    for entry in entries:
        if entry.is_host:
            continue
        promised = replace(bundle.promised(entry), offset=start + entry.offset)
        if entry.id in shared:
            yield replace(promised, problem=bundle.OVERLAPS)
        elif promised.arch is None:
            yield promised
        else:
            yield read_code_object(file.part(start + entry.offset, entry.size), promised, reading)


def _package(content: Window, hit: int, reading: Reading) -> Bundle:
    made = partial(Bundle, offset=hit, kind=BundleKind.PACKAGE)
    try:
        images = package.read_images(content)
    except UnreadableError as err:
        return made(problem=str(err))
    entries = [Entry(id=image.id, offset=image.offset, size=image.size) for image in images]
    objects = _objects(content, 0, entries, 0, reading)
    return made(code_objects=tuple(replace(found, offset=hit + (found.offset or 0)) for found in objects))


def _bare(file: Window, hit: int, span: Span, reading: Reading) -> tuple[CodeObject, int]:
    """Return the code object at a place; its own headers say where it ends."""
    rest = file.part(hit, span.end - hit)
    try:
        header = read_header(rest)
    except UnreadableError as err:
        found = CodeObject(entry="", arch=None, features=(), size=0, offset=hit, problem=str(err))
        return found, hit + len(ELF_MAGIC)
    start, count, step = header.sections
    ends = (start + count * step, *(segment.offset + segment.size for segment in header.segments), _HEAD)
    size = max(end for end in ends if end <= rest.size)
    promised = CodeObject(entry="", arch=None, features=(), size=size, offset=hit)
    read = read_code_object(rest.part(0, size), promised, reading)
    return replace(read, arch=read.elf_arch, features=read.elf_features), hit + size
