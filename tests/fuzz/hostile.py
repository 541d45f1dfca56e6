"""Files made to make a reader work without end, take all memory, or fall over; each with few bytes of its own."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Mapping

import msgspec
import zstandard

_MEGABYTE = 1 << 20
_KERNEL: dict[str, object] = {
    ".name": "",
    ".symbol": "",
    ".vgpr_count": 1,
    ".sgpr_count": 1,
    ".group_segment_fixed_size": 0,
    ".private_segment_fixed_size": 0,
    ".kernarg_segment_size": 0,
    ".kernarg_segment_align": 0,
    ".wavefront_size": 64,
    ".max_flat_workgroup_size": 1,
}


def elf(*segments: tuple[int, int, int, int], machine: int = 62, flags: int = 0, body: bytes = b"") -> bytes:
    """Return an ELF file: segments are type, offset, address, size; the body follows the program headers."""
    identity = b"\x7fELF\x02\x01\x01" + bytes([64 if machine == 224 else 0, 3]) + bytes(7)
    head = struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, flags, 64, 56, len(segments), 64, 0, 0)
    table = b"".join(struct.pack("<IIQQQQQQ", kind, 4, at, to, to, size, size, 8) for kind, at, to, size in segments)
    return identity + head + table + body


def bundle(*entries: tuple[str, int, int], body: bytes = b"") -> bytes:
    """Return an offload bundle: entries are id, offset, size."""
    table = b"".join(struct.pack("<QQQ", at, size, len(name)) + name.encode() for name, at, size in entries)
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)) + table
    return head.ljust(-(-len(head) // 4096) * 4096, b"\0") + body


def code_object(note: bytes) -> bytes:
    """Return a code object for gfx942 with a metadata note."""
    content = struct.pack("<III", 7, len(note), 32) + b"AMDGPU\0\0" + note
    return elf((4, 120, 120, len(content)), machine=224, flags=0x54C, body=content)


def compressed(content_size: int, body: bytes, method: int, version: int = 2) -> bytes:
    """Return a compressed bundle that claims a size."""
    if version == 1:
        return b"CCOB" + struct.pack("<HHIQ", 1, method, content_size, 0) + body
    return b"CCOB" + struct.pack("<HHIIQ", 2, method, 24 + len(body), content_size, 0) + body


def dynamic(entries: list[tuple[int, int]], strings: bytes = b"\0name\0", tables: bytes = b"") -> bytes:
    """Return a shared object with these dynamic entries; strings begin at 65536, tables behind them."""
    said = [(5, 65536), (10, len(strings)), *entries, (0, 0)]
    table = b"".join(struct.pack("<QQ", *entry) for entry in said)
    start = 64 + 2 * 56
    body = table.ljust(65536 - start, b"\0")[: 65536 - start] + strings + tables
    return elf((1, 0, 0, start + len(body)), (2, start, start, len(table)), body=body)


def _bomb(*, method: int, claimed: int, noise: int = 0) -> bytes:
    """Return a bundle with one entry of zeros, but for so many megabytes at its start that do not compress."""
    zeros = bytes(_MEGABYTE)
    squeeze = zlib.compressobj(9) if method == 0 else zstandard.ZstdCompressor(level=1).compressobj()
    head = bundle(("hipv4-amdgcn-amd-amdhsa--gfx942", 4096, claimed - 4096))
    body = squeeze.compress(head) + squeeze.compress(random.Random(0).randbytes(noise * _MEGABYTE))  # noqa: S311
    body += b"".join(squeeze.compress(zeros) for _ in range(claimed // _MEGABYTE - 1 - noise))
    return compressed(claimed, body + squeeze.flush(), method)


def _many_entries() -> bytes:
    note = msgspec.msgpack.encode({"amdhsa.kernels": [_KERNEL] * 40_000})
    code = code_object(note)
    names = [f"hipv4-amdgcn-amd-amdhsa--gfx942{':xnack+' * (number % 9)}" for number in range(1000)]
    room = 1 << 18
    return bundle(*((name, room, len(code)) for name in names)).ljust(room, b"\0") + code


def _deep() -> bytes:
    return code_object(b"\x81\xa1x" + b"\x91" * (8 * _MEGABYTE) + b"\xc0")


def _arguments() -> bytes:
    argument = {".offset": 1, ".size": 1, ".value_kind": ""}
    kernels = [{**_KERNEL, ".args": [{**argument, ".offset": n}] * 30_000} for n in range(20)]
    return code_object(msgspec.msgpack.encode({"amdhsa.kernels": kernels}))


def _verneed() -> bytes:
    """A table of version needs in which each entry is the next, with as many names as can be said."""
    need = struct.pack("<HHIII", 1, 0xFFFF, 1, 16, 0) + struct.pack("<IHHII", 0, 0, 2, 1, 0)
    need = need[:12] + struct.pack("<I", 1 << 31) + need[16:]
    return dynamic([(0x6FFFFFFE, 65536 + 6), (0x6FFFFFFF, 0xFFFFFFFF)], tables=need)


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    "zstd bomb, 64 MB": lambda: _bomb(method=1, claimed=64 * _MEGABYTE),
    "zlib bomb, 64 MB": lambda: _bomb(method=0, claimed=64 * _MEGABYTE),
    "zstd bomb, 500 MB, at a ratio that code may have": lambda: _bomb(method=1, claimed=500 * _MEGABYTE, noise=1),
    "zstd bomb that claims 4 GB in 4 MB": lambda: compressed((1 << 32) - 1, bytes(4 * _MEGABYTE), 1),
    "zstd frame with a window of 2 GB": lambda: compressed(_MEGABYTE, b"\x28\xb5\x2f\xfd\x00\xa8" + bytes(99), 1),
    "bombs of version 1, one in the other": lambda: compressed(_MEGABYTE, zlib.compress(bytes(_MEGABYTE)), 0, 1) * 3000,
    "nothing but ELF magics": lambda: b"__CLANG_OFFLOAD_BUNDLE__" + b"\x7fELF" * (4 * _MEGABYTE),
    "nothing but headers of code objects": lambda: elf(machine=224, flags=0x54C) * 200_000,
    "nothing but bundle magics": lambda: b"__CLANG_OFFLOAD_BUNDLE__" * _MEGABYTE,
    "nothing but compressed headers": lambda: compressed(_MEGABYTE, b"", 1) * _MEGABYTE,
    "nothing but package magics": lambda: b"\x10\xff\x10\xad" + b"\x01\0\0\0H" * (4 * _MEGABYTE),
    "a thousand entries with one large note": _many_entries,
    "metadata nested eight million deep": _deep,
    "six hundred thousand arguments": _arguments,
    "five hundred segments on the same bytes": lambda: elf(
        *[(1, 0, 0, 64 + 512 * 56 + 8 * _MEGABYTE)] * 512, body=bytes(8 * _MEGABYTE)
    ),
    "sixty thousand long names": lambda: dynamic([(1, 1)] * 4000, b"\0" + b"n" * 65_000 + b"\0"),
    "version needs without end": _verneed,
    "two billion symbols": lambda: dynamic([(4, 65536 + 6), (6, 65536)], tables=struct.pack("<II", 0, 1 << 31)),
    "half a million symbols of one name": lambda: dynamic(
        [(4, 65536 + 6), (6, 65536 + 16)],
        tables=struct.pack("<II", 0, _MEGABYTE // 2)
        + bytes(2)
        + struct.pack("<IBBHQQ", 1, 16, 0, 0, 0, 0) * (_MEGABYTE // 2),
    ),
}
"""Name -> what makes the file."""
