"""Clang's offload bundle: the file of code objects that a HIP program registers with the runtime.

Layout (clang's documentation "Clang Offload Bundler", bundled binary file layout): the magic string, a 64-bit count,
then for each entry 64-bit offset, 64-bit size, 64-bit length of its id and the id itself, all little endian; then the
payloads. The HIP runtime wants payloads aligned to 4096 bytes, and as first entry one for the host, which is empty. The
reader is in ``rocmatrix.binary.offload``.

Also a program that uses the standard library alone: ``bundle.py OUTPUT ARCH=CODE_OBJECT ...``.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
ALIGNMENT = 4096
HOST_ID = "host-x86_64-unknown-linux-gnu-"
DEVICE_PREFIX = "hipv4-amdgcn-amd-amdhsa--"

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")


def write_bundle(code_objects: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the bundle of these code objects: pairs of gfx arch and ELF file, in the order given.

    Raises:
        ValueError: an arch occurs twice, or there is no code object.
    """
    entries = [(HOST_ID, b""), *((DEVICE_PREFIX + arch, data) for arch, data in code_objects)]
    if len(entries) == 1:
        raise ValueError("a bundle needs a code object")
    names = [name for name, _ in entries]
    if len(set(names)) != len(names):
        raise ValueError(f"an arch occurs twice in {names}")
    offset = len(MAGIC) + _COUNT.size + sum(_ENTRY.size + len(name) for name in names)
    head = bytearray(MAGIC + _COUNT.pack(len(entries)))
    body = bytearray()
    for name, code_object in entries:
        body += bytes(-(offset + len(body)) % ALIGNMENT)
        head += _ENTRY.pack(offset + len(body), len(code_object), len(name)) + name.encode()
        body += code_object
    return bytes(head + body)


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
