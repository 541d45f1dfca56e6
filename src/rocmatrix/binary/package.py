"""Offload packages: what clang's ``--offload-new-driver`` puts GPU code into (magic ``10 FF 10 AD``).

Layout: LLVM, ``OffloadBinary``, versions 1 and 2. In version 1 the header points at the one entry and says its size, in
version 2 it says how many entries there are, and a string has a size. Compressed packages (version 3) are recognised.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.window import Window

MAGIC = b"\x10\xff\x10\xad"
MAX_ENTRIES = 1024
"""Entries of one package."""
MAX_STRINGS = 64
"""Strings of one entry; clang writes ``arch``, ``triple`` and few more."""
MAX_STRING = 4096
"""Bytes of one string."""

_HEADER = struct.Struct("<4sIQQQ")
_ENTRY = struct.Struct("<HHIQQQQ")
_ENTRY_BYTES = _ENTRY.size
_STRINGS = {1: struct.Struct("<QQ"), 2: struct.Struct("<QQQ")}
_PRODUCERS = {1: "openmp", 2: "cuda", 3: "hip", 4: "hip", 8: "sycl"}
"""HIP was 3 before the kinds became bits in LLVM 21."""
_COMPRESSED_SINCE = 3


@dataclass(frozen=True, kw_only=True)
class Image:
    """One image of a package: who made it, for which target, and where it lies in the package."""

    producer: str
    triple: str
    arch: str
    offset: int
    size: int

    @property
    def id(self) -> str:
        """The id that an entry of an offload bundle would have."""
        return f"{self.producer}-{self.triple}--{self.arch}"


def read_size(start: bytes, available: int) -> int | None:
    """Return the bytes of the package that some bytes begin with; ``None`` if they only begin with the same four.

    Args:
        start: at least forty bytes from the magic on.
        available: bytes from the magic to the end of what may belong to it.
    """
    if len(start) < _HEADER.size:
        return None
    magic, version, size, _, _ = _HEADER.unpack_from(start)
    known = magic == MAGIC and 1 <= version <= _COMPRESSED_SINCE
    return int(size) if known and _HEADER.size + _ENTRY_BYTES <= size <= available else None


def read_images(package: Window) -> list[Image]:
    """Return the images of a package.

    Raises:
        UnreadableError: it is damaged, or of a version that is not read.
    """
    _, version, _, start, number = _HEADER.unpack(package.read(0, _HEADER.size))
    if version not in _STRINGS:
        raise UnreadableError(f"it is of version {version}, which is not read")
    count = number if version > 1 else 1
    if not 0 < count <= MAX_ENTRIES:
        raise UnreadableError(f"the package claims {count} entries")
    return [_image(package, start + index * _ENTRY_BYTES, _STRINGS[version]) for index in range(count)]


def _image(package: Window, place: int, layout: struct.Struct) -> Image:
    _, producer, _, strings, count, offset, size = package.unpack(_ENTRY, place)
    if count > MAX_STRINGS:
        raise UnreadableError(f"an entry of the package claims {count} strings")
    said: dict[str, str] = {}
    for index in range(count):
        key, value, *_ = package.unpack(layout, strings + index * layout.size)
        said[_string(package, key)] = _string(package, value)
    package.part(offset, size)
    return Image(
        producer=_PRODUCERS.get(producer, str(producer)),
        triple=said.get("triple", ""),
        arch=said.get("arch", ""),
        offset=offset,
        size=size,
    )


def _string(package: Window, place: int) -> str:
    content, end, _ = package.head(place, MAX_STRING).partition(b"\0")
    if not end:
        raise UnreadableError("a string of the package has no end")
    return content.decode("utf-8", "backslashreplace")
