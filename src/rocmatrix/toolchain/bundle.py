"""Clang's offload bundle: the file of code objects that a HIP program registers with the runtime.

Layout (clang's documentation "Clang Offload Bundler", bundled binary file layout): the magic string, a 64-bit count,
then for each entry 64-bit offset, 64-bit size, 64-bit length of its id and the id itself, all little endian; then the
payloads. The HIP runtime wants payloads aligned to 4096 bytes, and as first entry one for the host, which is empty.

Also a program that uses the standard library alone: ``bundle.py OUTPUT ARCH=CODE_OBJECT ...``.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
ALIGNMENT = 4096
HOST_ID = "host-x86_64-unknown-linux-gnu-"
DEVICE_PREFIX = "hipv4-amdgcn-amd-amdhsa--"

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")


@dataclass(frozen=True, kw_only=True)
class BundleEntry:
    """One entry of a bundle.

    Attributes:
        id: kind, triple and target, e.g. ``hipv4-amdgcn-amd-amdhsa--gfx942``.
        payload: the code object; empty for the host.
    """

    id: str
    payload: bytes


def write_bundle(code_objects: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the bundle of these code objects: pairs of gfx arch and ELF file, in the order given.

    Raises:
        ValueError: an arch occurs twice, or there is no code object.
    """
    entries = [BundleEntry(id=HOST_ID, payload=b"")]
    entries += [BundleEntry(id=DEVICE_PREFIX + arch, payload=data) for arch, data in code_objects]
    if len(entries) == 1:
        raise ValueError("a bundle needs a code object")
    if len({entry.id for entry in entries}) != len(entries):
        raise ValueError(f"an arch occurs twice in {[entry.id for entry in entries]}")
    offset = len(MAGIC) + _COUNT.size + sum(_ENTRY.size + len(entry.id) for entry in entries)
    head = bytearray(MAGIC + _COUNT.pack(len(entries)))
    body = bytearray()
    for entry in entries:
        body += bytes(-(offset + len(body)) % ALIGNMENT)
        head += _ENTRY.pack(offset + len(body), len(entry.payload), len(entry.id)) + entry.id.encode()
        body += entry.payload
    return bytes(head + body)


def read_bundle(data: bytes) -> tuple[BundleEntry, ...]:
    """Return the entries of a bundle, host included.

    Raises:
        ValueError: the bytes are not an uncompressed bundle, or an entry points outside of it.
    """
    if not data.startswith(MAGIC):
        raise ValueError("not an offload bundle: the magic string is missing")
    entries = []
    at = len(MAGIC) + _COUNT.size
    try:
        (count,) = _COUNT.unpack_from(data, len(MAGIC))
        for _ in range(count):
            offset, size, length = _ENTRY.unpack_from(data, at)
            name = data[at + _ENTRY.size : at + _ENTRY.size + length]
            at += _ENTRY.size + length
            if len(name) != length or offset + size > len(data):
                raise ValueError("broken offload bundle: an entry points outside of it")
            entries.append(BundleEntry(id=name.decode(), payload=data[offset : offset + size]))
    except struct.error as err:
        raise ValueError("broken offload bundle: it ends within its table") from err
    return tuple(entries)


def main(argv: Sequence[str]) -> int:
    """Write a bundle: ``OUTPUT ARCH=CODE_OBJECT ...``; return the exit status."""
    output = Path(argv[0])
    named = (part.partition("=") for part in argv[1:])
    data = write_bundle((arch, Path(path).read_bytes()) for arch, _, path in named)
    unfinished = output.with_name(f".{output.name}.{os.getpid()}")
    unfinished.write_bytes(data)
    unfinished.replace(output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
