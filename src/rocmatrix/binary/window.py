"""A part of a file, read within its bounds: what every reader of binaries gets its bytes from."""

from __future__ import annotations

import mmap
import struct

from rocmatrix.binary.facts import UnreadableError


class Window:
    """Some consecutive bytes, not copied; offsets count from its start.

    Attributes:
        size: bytes in it.
    """

    def __init__(self, data: bytes | mmap.mmap, start: int = 0, size: int | None = None) -> None:
        """Look at ``size`` bytes of data from ``start`` on, all of them by default; never beyond the data's end."""
        self._data = data
        self._start = min(start, len(data))
        available = len(data) - self._start
        self.size = available if size is None else min(size, available)

    def read(self, offset: int, size: int) -> bytes:
        """Return exactly that many bytes.

        Raises:
            UnreadableError: they are not all there.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise UnreadableError(f"{size} bytes at {offset:#x} lie outside of the file")
        return self._data[self._start + offset : self._start + offset + size]

    def head(self, offset: int, limit: int) -> bytes:
        """Return the bytes from an offset on, at most ``limit``, fewer or none where the window ends."""
        if not 0 <= offset <= self.size:
            return b""
        return self._data[self._start + offset : self._start + min(offset + limit, self.size)]

    def unpack(self, layout: struct.Struct, offset: int) -> tuple[int, ...]:
        """Return the numbers at an offset; raises ``UnreadableError`` as ``read`` does."""
        return layout.unpack(self.read(offset, layout.size))

    def find(self, pattern: bytes, start: int, end: int) -> int:
        """Return where some bytes first begin between two offsets and end before the second; -1 if nowhere."""
        found = self._data.find(pattern, self._start + start, self._start + min(end, self.size))
        return found - self._start if found >= 0 else -1

    def part(self, offset: int, size: int) -> Window:
        """Return a window on a part of this one.

        Raises:
            UnreadableError: it reaches beyond this one.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise UnreadableError(f"{size} bytes at {offset:#x} lie outside of the file")
        return Window(self._data, self._start + offset, size)


def window(data: bytes | mmap.mmap | Window) -> Window:
    """Return a window on data that may be one already."""
    return data if isinstance(data, Window) else Window(data)
