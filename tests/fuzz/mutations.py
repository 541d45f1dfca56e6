"""Ways in which a binary is damaged, by chance and on purpose. Pure: bytes and a random source in, bytes out."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

_INTERESTING = (
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 32,
    1 << 62,
    1 << 63,
)
_MAGICS = (b"\x7fELF\x02\x01\x01\x40", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB\x02\0\x01\0", b"\x10\xff\x10\xad\x01\0\0\0")

Mutation = Callable[[bytearray, random.Random], None]


def mutate(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Return data with one to eight things done to it; ``others`` are files that pieces may come from."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        if not changed:
            break
        if chance.random() < 0.1:
            _splice(changed, chance.choice(others), chance)
        else:
            chance.choice(_MUTATIONS)(changed, chance)
    return bytes(changed)


def _place(data: bytearray, chance: random.Random) -> int:
    """Return a place, more often than not near the start or near something that is a table."""
    kind = chance.random()
    if kind < 0.4:
        return chance.randrange(min(len(data), 1024))
    if kind < 0.7:
        hits = [hit for magic in _MAGICS for hit in [data.find(magic[:4], chance.randrange(len(data)))] if hit >= 0]
        if hits:
            return min(chance.choice(hits) + chance.randrange(640), len(data) - 1)
    return chance.randrange(len(data))


def _flip(data: bytearray, chance: random.Random) -> None:
    data[_place(data, chance)] ^= 1 << chance.randrange(8)


def _set(data: bytearray, chance: random.Random) -> None:
    data[_place(data, chance)] = chance.randrange(256)


def _number(data: bytearray, chance: random.Random) -> None:
    """Write a number as some field may hold it, aligned as fields are."""
    size, layout = chance.choice(((2, "<H"), (4, "<I"), (8, "<Q")))
    place = _place(data, chance) // size * size
    value = chance.choice((*_INTERESTING, len(data), len(data) - 1, chance.randrange(len(data))))
    if place + size <= len(data):
        struct.pack_into(layout, data, place, value & (1 << 8 * size) - 1)


def _truncate(data: bytearray, chance: random.Random) -> None:
    del data[_place(data, chance) :]


def _repeat(data: bytearray, chance: random.Random) -> None:
    start, size = _place(data, chance), chance.choice((1, 8, 24, 64, 4096))
    piece = bytes(data[start : start + size]) * chance.choice((1, 2, 100))
    data[start:start] = piece[: 1 << 16]


def _zero(data: bytearray, chance: random.Random) -> None:
    start, size = _place(data, chance), chance.choice((1, 8, 64, 4096))
    end = min(start + size, len(data))
    data[start:end] = bytes(end - start)


def _magic(data: bytearray, chance: random.Random) -> None:
    start, magic = _place(data, chance), chance.choice(_MAGICS)
    data[start : start + len(magic)] = magic


def _swap(data: bytearray, chance: random.Random) -> None:
    """Put eight bytes of a table in the place of eight others."""
    one, other = (_place(data, chance) // 8 * 8 for _ in range(2))
    if max(one, other) + 8 <= len(data):
        data[one : one + 8], data[other : other + 8] = data[other : other + 8], data[one : one + 8]


def _splice(data: bytearray, other: bytes, chance: random.Random) -> None:
    start, size = chance.randrange(len(other)), chance.choice((16, 256, 4096, 65536))
    place = _place(data, chance)
    piece = other[start : start + size]
    data[place : place + len(piece)] = piece


_MUTATIONS: tuple[Mutation, ...] = (_flip, _set, _number, _number, _number, _truncate, _repeat, _zero, _magic, _swap)
