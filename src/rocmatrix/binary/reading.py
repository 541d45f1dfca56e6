"""What reading the GPU code of one file takes along: names of processors, who looks closer, and how much may be done.

A hostile file can ask for any amount of work with few bytes: bundles that unpack to gigabytes, thousands of entries
that point at one large note. What is done is therefore counted for the whole file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rocmatrix.binary.facts import CodeObject, UnreadableError
from rocmatrix.binary.window import Window

MAX_CONTENT = 1 << 32
"""Bytes that all compressed bundles of a file may have when they are uncompressed."""
MAX_METADATA = 1 << 27
"""Bytes of all metadata notes of a file; a library of 140 MB for 10 archs has 8 MB of them."""

Inspect = Callable[[Window, CodeObject], CodeObject]
"""Looks at the bytes of a code object that was read, and returns what it knows with more in it."""


class BudgetError(UnreadableError):
    """A file asks for more than is done for any: nothing more of it is read."""


class Budget:
    """How much of a file is read at most. What goes beyond it raises ``BudgetError``."""

    def __init__(self) -> None:
        """Start with nothing spent."""
        self._content = 0
        self._metadata = 0

    def content(self, size: int) -> None:
        """Count bytes that were uncompressed."""
        self._content += size
        if self._content > MAX_CONTENT:
            raise BudgetError(f"its offload bundles uncompress to more than {MAX_CONTENT} bytes")

    def metadata(self, size: int) -> None:
        """Count bytes of a metadata note."""
        self._metadata += size
        if self._metadata > MAX_METADATA:
            raise BudgetError(f"the metadata of its code objects takes more than {MAX_METADATA} bytes")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the GPU code of one file is read.

    Attributes:
        machines: machine number of a code object's ELF flags -> processor.
        inspect: looks closer at each code object that could be read; ``None`` if nobody does.
        budget: of the file.
    """

    machines: Mapping[int, str]
    inspect: Inspect | None = None
    budget: Budget = field(default_factory=Budget)
