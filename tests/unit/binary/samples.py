"""Bytes that several tests of binaries share."""

from __future__ import annotations

import struct

MACHINES = {0x4C: "gfx942", 0x4F: "gfx950", 0x3F: "gfx90a", 0x41: "gfx1100"}
GFX942_ANY = 0x54C


def code_object_bytes(flags: int = GFX942_ANY, *, machine: int = 224, os_abi: int = 64, version: int = 6) -> bytes:
    """Return an ELF header of a linked code object, without segments."""
    identity = b"\x7fELF" + bytes([2, 1, 1, os_abi, version - 2]) + bytes(7)
    return identity + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, flags, 64, 56, 0, 64, 0, 0)


def bundle_bytes(*entries: tuple[str, bytes], page: int = 4096) -> bytes:
    """Return a plain offload bundle, code objects aligned to pages, as clang writes it."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    table, body, place = b"", b"", page
    for entry, content in entries:
        table += struct.pack("<QQQ", place if content else 0, len(content), len(entry)) + entry.encode()
        padded = content + bytes(-len(content) % page)
        body += padded
        place += len(padded)
    return (head + table).ljust(page, b"\0") + body
