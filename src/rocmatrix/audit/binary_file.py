"""Reader of one file that may be machine code, for a host or for a GPU.

Nothing of it is executed, it is never read as a whole, and no pipe is waited for.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rocmatrix.audit.code_objects import CodeDecoder
from rocmatrix.audit.facts import Binary, DeviceFile
from rocmatrix.binary import package
from rocmatrix.binary.code_object import MACHINE_NUMBER
from rocmatrix.binary.compressed import VERSIONS as COMPRESSED_VERSIONS
from rocmatrix.binary.elf import read_shared_object
from rocmatrix.binary.facts import UnreadableError
from rocmatrix.binary.header import ELF_MAGIC, Span, loaded_spans, read_header
from rocmatrix.binary.offload import COMPRESSED_MAGIC, PLAIN_MAGIC, read_gpu_code
from rocmatrix.binary.reading import Reading
from rocmatrix.binary.window import Window

MAX_FILE = 1 << 33
"""Bytes of a file that is read; the largest library of a ROCm has about four gigabytes."""
DEVICE_SUFFIXES = (".hsaco", ".co")
"""How files of GPU code are called."""

_HEAD = 24
_DEVICE_MAGICS = (PLAIN_MAGIC, COMPRESSED_MAGIC, package.MAGIC)


def is_machine_code(path: Path) -> bool:
    """Say whether a file is machine code, or must be, going by its name and its first bytes; raises ``OSError``."""
    if path.suffix in (".so", *DEVICE_SUFFIXES) or ".so." in path.name:
        return True
    with path.open("rb") as stream:
        start = stream.read(_HEAD)
    return start.startswith(ELF_MAGIC) or _is_device(start)


def read_machine_code(path: Path, name: str, machines: Mapping[int, str]) -> Binary | DeviceFile:
    """Return what a shared object, or a file of GPU code, holds.

    Args:
        path: the file.
        name: what to call it.
        machines: machine number of a code object's ELF flags -> processor.

    Raises:
        OSError: it cannot be opened.
        UnreadableError: it is neither, or it is damaged.
    """
    with _mapped(path) as data:
        return read_content(data, name, machines)


def read_content(data: bytes | mmap.mmap, name: str, machines: Mapping[int, str]) -> Binary | DeviceFile:
    """Return what the content of a file holds; arguments and errors as ``read_machine_code``."""
    file, reading = Window(data), Reading(machines=machines, decoder=CodeDecoder())
    if _is_device(file.head(0, _HEAD)):
        whole = Span(start=0, end=file.size, address=0)
        code = read_gpu_code(file, [whole], reading)
        if not (code.bundles or code.code_objects):
            raise UnreadableError("it begins as GPU code does, but its header is damaged")
        return DeviceFile(path=name, bundles=code.bundles, code_objects=code.code_objects, size=file.size)
    code = read_gpu_code(file, loaded_spans(read_header(file)), reading)
    _, elf = read_shared_object(file, code.rest)
    return Binary(path=name, elf=elf, bundles=code.bundles, code_objects=code.code_objects, size=file.size)


def _is_device(start: bytes) -> bool:
    if start.startswith(ELF_MAGIC):
        return start[18:20] == MACHINE_NUMBER
    if start.startswith(COMPRESSED_MAGIC):  # four letters, which a text may begin with
        return int.from_bytes(start[4:6], "little") in COMPRESSED_VERSIONS
    return start.startswith(_DEVICE_MAGICS)


@contextmanager
def _mapped(path: Path) -> Iterator[bytes | mmap.mmap]:
    """Give a regular file's content without reading it whole, and without waiting on a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError("this is not a regular file")
        if status.st_size == 0:
            raise UnreadableError("the file is empty")
        if status.st_size > MAX_FILE:
            raise UnreadableError(f"the file has {status.st_size} bytes, more than the {MAX_FILE} that are read")
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
            yield data
    finally:
        os.close(descriptor)
