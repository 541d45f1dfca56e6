"""What reading the GPU code of one file takes along: names of processors, who looks closer, and how much may be done.

A hostile file can ask for any amount of work with few bytes: bundles that unpack to gigabytes, thousands of entries
that point at one large note. What is done is therefore counted for the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rocmatrix.binary.facts import CodeObject, UnreadableError
from rocmatrix.binary.kernel_facts import KernelArgument
from rocmatrix.binary.window import Window

MAX_CONTENT = 1 << 32
"""Bytes that all compressed bundles of a file may have when they are uncompressed."""
MAX_METADATA = 1 << 28
"""Bytes of all metadata notes of a file; Debian's librocblas, a gigabyte for ten archs, has more than half of that."""
MAX_KERNELS = 1 << 18
"""Kernels of all code objects of a file; Debian's librocblas has 106,000."""
MAX_LAYOUTS = 1 << 24
"""Bytes of all layouts of arguments that differ from each other, as metadata holds them."""


class Decoder(Protocol):
    """Looks at the machine code of code objects that were read."""

    def missing(self, arch: str) -> str | None:
        """Return why the code of a processor cannot be looked at, one sentence; ``None`` if it can."""

    def inspect(self, file: Window, found: CodeObject) -> CodeObject:
        """Return what is known of a code object with more in it, from its bytes."""


class NoDecoder:
    """Looks at no machine code."""

    def missing(self, arch: str) -> str | None:
        """Return that nobody looked."""
        del arch
        return "its machine code was not looked at"

    def inspect(self, file: Window, found: CodeObject) -> CodeObject:
        """Return what was given."""
        del file
        return found


class Budget:
    """How much of a file is read at most, counted. What would go beyond it raises ``UnreadableError`` instead.

    Once something about metadata did, no more of it is read: a file that goes so far is not read for its sake.
    """

    def __init__(self) -> None:
        """Start with nothing spent."""
        self._content = self._metadata = self._kernels = self._layouts = 0

    def content(self, size: int) -> None:
        """Count bytes that are to be uncompressed."""
        if self._content + size > MAX_CONTENT:
            raise UnreadableError(f"it was not read: no more than {MAX_CONTENT} bytes of one file are uncompressed")
        self._content += size

    def metadata(self, size: int) -> None:
        """Count bytes of a metadata note that is to be read."""
        self._metadata += size
        if self._metadata > MAX_METADATA:
            raise UnreadableError(f"its metadata was not read: no more than {MAX_METADATA} bytes of one file are")
        self.kernels(0)
        self.layout(0)

    def kernels(self, count: int) -> None:
        """Count kernels of a code object."""
        self._kernels += count
        if self._kernels > MAX_KERNELS:
            raise UnreadableError(f"its metadata was not read: no more than {MAX_KERNELS} kernels of one file are")

    def layout(self, size: int) -> None:
        """Count bytes of a layout of arguments."""
        self._layouts += size
        if self._layouts > MAX_LAYOUTS:
            raise UnreadableError(f"its metadata was not read: the arguments take more than {MAX_LAYOUTS} bytes")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the GPU code of one file is read.

    Attributes:
        machines: machine number of a code object's ELF flags -> processor.
        decoder: looks at the machine code.
        budget: of the file.
        names: strings of its metadata, each kept once: a kernel has the same name for every arch.
        layouts: layouts of arguments alike, by their bytes in the metadata.
    """

    machines: Mapping[int, str]
    decoder: Decoder = field(default_factory=NoDecoder)
    budget: Budget = field(default_factory=Budget)
    names: dict[str, str] = field(default_factory=dict)
    layouts: dict[bytes, tuple[KernelArgument, ...]] = field(default_factory=dict)
