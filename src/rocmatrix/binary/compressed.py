"""Compressed offload bundles: a header, and a plain bundle behind it in zlib's or zstd's format.

Layout: LLVM, ``CompressedOffloadBundle`` (versions 1 to 3; clang has written them since 18, 19 and 22). All numbers in
the header are claims: what comes out is counted, and reading ends at limits of our own.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Protocol, cast

from rocmatrix.binary.facts import Compression, UnreadableError
from rocmatrix.binary.window import Window

MAGIC = b"CCOB"
MAX_RATIO = 1024
"""Uncompressed bytes for each compressed one; code for thirty archs reaches some dozens."""
FREE = 1 << 20
"""Uncompressed bytes that any bundle may have, however small it is."""
MAX_WINDOW = 1 << 27
"""Bytes that zstd may look back, hence take of memory; LLVM's long-distance matching uses exactly these."""

_BLOCK = 1 << 18
_METHODS = {0: "zlib", 1: "zstd"}
_COMMON = struct.Struct("<4sHH")
_REST = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
"""Behind magic, version and method: bytes of the whole bundle (not in version 1), uncompressed bytes, hash."""
VERSIONS = frozenset(_REST)
"""Versions of the format that are read."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """The header of a compressed bundle.

    Attributes:
        version: of the format.
        method: ``zlib`` or ``zstd``.
        header: bytes of it.
        total: bytes of the whole bundle; ``None`` in version 1, which does not say.
        uncompressed: bytes of the bundle inside.
        digest: first half of its MD5.
    """

    version: int
    method: str
    header: int
    total: int | None
    uncompressed: int
    digest: bytes

    def check(self, available: int) -> None:
        """Refuse what only claims to be a bundle so that somebody unpacks it.

        Raises:
            UnreadableError: it would uncompress to more than ``MAX_RATIO`` times its size.
        """
        size = self.compression(available).size
        if self.uncompressed > max(MAX_RATIO * size, FREE):
            raise UnreadableError(f"its {size} bytes claim to uncompress to {self.uncompressed}, as no code does")

    def compression(self, available: int) -> Compression:
        """Return what is told of it to people; ``available`` is how many bytes there are at most."""
        size = available if self.total is None else self.total
        return Compression(method=self.method, version=self.version, size=size, uncompressed=self.uncompressed)


def read_head(start: bytes, available: int) -> Head | None:
    """Return the header that some bytes begin with; ``None`` if they only begin with the same four letters.

    Args:
        start: some forty bytes from the magic on.
        available: bytes from the magic to the end of what may belong to it.
    """
    if len(start) < _COMMON.size:
        return None
    magic, version, method = _COMMON.unpack_from(start)
    rest = _REST.get(version)
    if magic != MAGIC or rest is None or method not in _METHODS or len(start) < _COMMON.size + rest.size:
        return None
    *total, uncompressed, digest = rest.unpack_from(start, _COMMON.size)
    header = _COMMON.size + rest.size
    if total and not header <= total[0] <= available:
        return None
    return Head(
        version=version,
        method=_METHODS[method],
        header=header,
        total=total[0] if total else None,
        uncompressed=uncompressed,
        digest=struct.pack("<Q", digest),
    )


class _Source:
    """The compressed bytes, as a file that is read from its start to its end."""

    def __init__(self, file: Window, place: int) -> None:
        self._file = file
        self._place = place

    def read(self, size: int = _BLOCK) -> bytes:
        found = self._file.head(self._place, size)
        self._place += len(found)
        return found


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Zlib:
    """Gives what zlib makes of a source, piece by piece."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._inflate = zlib.decompressobj()

    def read(self, size: int, /) -> bytes:
        while not self._inflate.eof:
            given = self._inflate.unconsumed_tail or self._source.read()
            made = self._inflate.decompress(given, size)
            if made:
                return made
            if not given:
                break
        return b""


class Content:
    """The bundle inside, read from its start to its end and never held as a whole."""

    def __init__(self, reader: _Reader, head: Head) -> None:
        """Start at the first byte of what a decompressor gives."""
        self._reader = reader
        self._head = head
        self._hash = hashlib.md5(usedforsecurity=False)
        self.place = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes: as many as are asked for, or fewer where the content ends.

        Raises:
            UnreadableError: it is damaged, or larger than the header says.
        """
        pieces: list[bytes] = []
        while size > 0 and (piece := self._piece(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def pieces(self, size: int) -> Iterator[bytes]:
        """Give the next bytes in pieces of some hundred kilobytes; raises ``UnreadableError`` as ``read`` does."""
        while size > 0 and (piece := self._piece(min(size, _BLOCK))):
            size -= len(piece)
            yield piece

    def finish(self) -> None:
        """Read to the end.

        Raises:
            UnreadableError: as ``read``, or the content is not what the header says.
        """
        more = self._head.total is not None  # what follows a bundle of version 1 may be anything
        for _ in self.pieces(self._head.uncompressed - self.place + more):
            pass
        if self.place != self._head.uncompressed:
            raise UnreadableError(f"it holds {self.place} bytes, and its header says {self._head.uncompressed}")
        if self._hash.digest()[:8] != self._head.digest:
            raise UnreadableError("its content is damaged: it does not have the MD5 that its header says")

    def _piece(self, size: int) -> bytes:
        from zstandard import ZstdError  # noqa: PLC0415 - only an audit needs it

        try:
            piece = self._reader.read(min(size, _BLOCK))
        except (zlib.error, ZstdError, MemoryError) as err:
            raise UnreadableError(f"its content is damaged: {err or 'it asks for too much memory'}") from err
        self._hash.update(piece)
        self.place += len(piece)
        if self.place > self._head.uncompressed:
            raise UnreadableError(f"it holds more than the {self._head.uncompressed} bytes that its header says")
        return piece


@contextmanager
def open_content(file: Window, offset: int, head: Head) -> Iterator[Content]:
    """Give the content of the compressed bundle at an offset of a file, from its start on."""
    from zstandard import ZstdDecompressor  # noqa: PLC0415 - only an audit needs it

    end = file.size - offset if head.total is None else head.total
    source = _Source(file.part(offset, end), head.header)
    if head.method == "zlib":
        yield Content(_Zlib(source), head)
        return
    with ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
        cast("IO[bytes]", source), read_size=_BLOCK
    ) as reader:
        yield Content(reader, head)
