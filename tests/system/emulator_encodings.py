"""Random encodings of gfx942 instructions: every opcode number, mostly legal fields, some not."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

Encoding = tuple[int, ...]
"""Dwords of one instruction; the first two or three."""

_SOURCES = [*range(128, 209), *range(240, 249), 251, 252, 253, 235, 236, 237, 238]
SLOT = 16
"""Bytes that each encoding occupies in a test object: the rest is filled with ``s_nop 0``."""


class Encoder:
    """Makes encodings from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - reproducible, no secret
        self.formats: Mapping[str, Callable[[], Encoding]] = {
            "sop1": lambda: (0b101111101 << 23 | self.sgpr() << 16 | self.bits(8) << 8 | self.scalar(), self.bits(32)),
            "sop2": lambda: (
                0b10 << 30 | self.bits(7) << 23 | self.sgpr() << 16 | self.scalar() << 8 | self.scalar(),
                self.bits(32),
            ),
            "sopc": lambda: (
                0b101111110 << 23 | self.bits(7) << 16 | self.scalar() << 8 | self.scalar(),
                self.bits(32),
            ),
            "sopk": lambda: (0b1011 << 28 | self.bits(5) << 23 | self.sgpr() << 16 | self.bits(16), self.bits(32)),
            "sopp": lambda: (0b101111111 << 23 | self.random.randrange(32) << 16 | self.bits(16), 0xBF800000),
            "smem": self.smem,
            "vop1": lambda: self.extended(0b0111111 << 25 | self.vgpr() << 17 | self.bits(8) << 9),
            "vop2": lambda: self.extended(self.bits(6) << 25 | self.vgpr() << 17 | self.vgpr() << 9),
            "vopc": lambda: self.extended(0b0111110 << 25 | self.bits(8) << 17 | self.vgpr() << 9),
            "vop3": self.vop3,
            "vop3p": self.vop3p,
            "mai": self.mai,
            "ds": self.ds,
            "flat": self.flat,
            "mubuf": self.mubuf,
        }

    def encodings(self, count: int) -> list[Encoding]:
        """Return encodings, the formats in turn."""
        makers = list(self.formats.values())
        return [makers[number % len(makers)]() for number in range(count)]

    def bits(self, count: int) -> int:
        return int(self.random.getrandbits(count))

    def often(self) -> bool:
        return self.random.random() < 0.7

    def vgpr(self) -> int:
        return self.random.randrange(0, 240, 2) if self.often() else self.bits(8)

    def sgpr(self) -> int:
        return self.random.randrange(0, 88, 4) if self.often() else self.random.choice([106, 124, 126, *range(102)])

    def scalar(self) -> int:
        return int(self.random.choice([self.sgpr(), self.random.choice(_SOURCES), 255]))

    def source(self) -> int:
        chosen = [256 + self.vgpr(), 256 + self.vgpr(), self.sgpr(), self.random.choice(_SOURCES)]
        return int(self.random.choice(chosen))

    def few(self, count: int) -> int:
        """Return a modifier field: zero half of the time."""
        return 0 if self.random.random() < 0.5 else self.bits(count)

    def extended(self, word: int) -> Encoding:
        """Return a VOP1, VOP2 or VOPC encoding: plain, with a literal, SDWA or DPP."""
        choice = self.random.random()
        if choice < 0.5:
            return word | self.source(), self.bits(32)
        if choice < 0.6:
            return word | 255, self.bits(32)
        if choice < 0.8:
            return word | 249, self.sdwa()
        control = self.random.choice(
            [self.bits(8), *range(0x101, 0x110), *range(0x111, 0x130), 0x130, 0x134, 0x138, 0x13C, *range(0x140, 0x144)]
        )
        masks = self.bits(8) << 24
        return word | 250, masks | self.few(4) << 20 | self.bits(1) << 19 | control << 8 | self.vgpr()

    def sdwa(self) -> int:
        selects = self.random.randrange(7) << 16 | self.random.randrange(7) << 24
        destination = self.random.randrange(7) << 8 | self.random.randrange(3) << 11
        return self.vgpr() | selects | destination | self.few(1) << 13 | self.few(3) << 19 | self.few(3) << 27

    def sources(self) -> int:
        return self.source() | self.source() << 9 | self.source() << 18

    def vop3(self) -> Encoding:
        modifiers = self.few(3) << 8 | self.few(4) << 11 | self.few(1) << 15
        first = 0b110100 << 26 | self.bits(10) << 16 | modifiers | (self.vgpr() if self.often() else self.sgpr())
        return first, self.sources() | self.few(2) << 27 | self.few(3) << 29

    def vop3p(self) -> Encoding:
        first = 0b110100111 << 23 | self.random.randrange(64) << 16 | self.few(3) << 8 | self.bits(4) << 11
        return first | self.few(1) << 15 | self.vgpr(), self.sources() | self.bits(2) << 27 | self.few(3) << 29

    def mai(self) -> Encoding:
        first = 0b110100111 << 23 | (64 + self.bits(6)) << 16 | self.few(3) << 8 | self.few(4) << 11
        sources = 256 + self.vgpr() | (256 + self.vgpr()) << 9 | self.source() << 18
        return first | self.bits(1) << 15 | self.vgpr(), sources | self.bits(2) << 27 | self.few(3) << 29

    def ds(self) -> Encoding:
        first = 0b110110 << 26 | self.bits(1) << 25 | self.bits(8) << 17 | self.bits(16)
        return first, self.vgpr() | self.vgpr() << 8 | self.vgpr() << 16 | self.vgpr() << 24

    def flat(self) -> Encoding:
        segment = self.random.randrange(3)
        offset = self.bits(12) if segment == 0 else self.bits(13)
        first = 0b110111 << 26 | self.few(1) << 25 | self.bits(7) << 18 | self.few(2) << 16 | segment << 14 | offset
        scalar = 0x7F if segment == 0 or self.often() else self.sgpr()
        return first, self.vgpr() | self.vgpr() << 8 | scalar << 16 | self.few(1) << 23 | self.vgpr() << 24

    def mubuf(self) -> Encoding:
        first = 0b111000 << 26 | self.bits(7) << 18 | self.bits(16) | self.few(2) << 16
        soffset = self.sgpr() if self.often() else 128 + self.random.randrange(65)
        resource = self.random.randrange(0, 24)
        return first, self.vgpr() | self.vgpr() << 8 | resource << 16 | self.few(1) << 23 | soffset << 24

    def smem(self) -> Encoding:
        immediate = self.bits(2)
        flags = immediate >> 1 << 17 | (immediate & 1) << 14 | self.few(1) << 16
        first = 0b110000 << 26 | self.bits(8) << 18 | flags | self.sgpr() << 6 | self.random.randrange(0, 48)
        return first, self.bits(21) | self.sgpr() << 25
