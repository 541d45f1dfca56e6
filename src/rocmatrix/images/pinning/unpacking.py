"""Compressed metadata of repositories, unpacked up to a limit: some kilobytes can stand for gigabytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from typing import IO

import zstandard

from rocmatrix.errors import MissingRequirementError

LARGEST_UNPACKED = 512 << 20
"""Bytes; the largest known, Debian's list of all packages of a suite, has some 60 million."""


def unpacked(content: bytes, where: str) -> bytes:
    """Return what gzip, xz, bzip2 or Zstandard packed; content of another form as it is.

    Raises:
        MissingRequirementError: it is larger than ``LARGEST_UNPACKED``.
        OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError: it is damaged.
    """
    opened = next((opener for magic, opener in _OPENERS if content.startswith(magic)), None)
    if opened is None:
        return content
    return _read(opened(io.BytesIO(content)), where)


def unpacked_xz(content: bytes, where: str) -> bytes:
    """Return what xz packed; raises as ``unpacked`` does, and ``lzma.LZMAError`` for content of any other form."""
    return _read(lzma.LZMAFile(io.BytesIO(content)), where)


def _read(packed: io.BufferedIOBase, where: str) -> bytes:
    with packed as stream:
        made = stream.read(LARGEST_UNPACKED + 1)
    if len(made) > LARGEST_UNPACKED:
        raise MissingRequirementError(
            f"what was fetched is larger than {LARGEST_UNPACKED >> 20} MB when it is unpacked",
            where=where,
            fix="See what serves it; no repository's list of packages has that size.",
        )
    return made


def _zstandard(packed: IO[bytes]) -> io.BufferedIOBase:
    return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True))


_OPENERS: tuple[tuple[bytes, Callable[[IO[bytes]], io.BufferedIOBase]], ...] = (
    (b"\x1f\x8b", lambda packed: gzip.GzipFile(fileobj=packed)),
    (b"\xfd7zXZ", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
    (b"\x28\xb5\x2f\xfd", _zstandard),
)
"""How each form begins, and what opens it."""
