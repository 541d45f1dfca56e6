"""Random encodings of gfx942 instructions: every opcode number, mostly legal fields, some not."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache

Encoding = tuple[int, ...]
"""Dwords of one instruction; the first two or three."""

_SOURCES = [*range(128, 209), *range(240, 249), 251, 252, 253, 235, 236, 237, 238]
SLOT = 12
"""Bytes that each encoding occupies in a test object: ``s_nop 0`` behind it, which the second dword may take in."""
_THREE_SOURCES = range(448, 640)
"""Opcodes of VOP3 that have three; comparisons end at 256, one source begins at 320."""


@cache
def _opcodes(name: str) -> tuple[int, ...]:
    """Return the opcode numbers that tinygrad's tables give a format, those of vector and matrix instructions apart."""
    from tinygrad.runtime.autogen.amd.cdna import enum  # noqa: PLC0415 - half a second

    if name == "vop3":
        return tuple(sorted({one.value for one in (*enum.VOP3Op, *enum.VOP3SDOp)}))
    if name in ("vop3p", "mai"):
        return tuple(one.value for one in enum.VOP3POp if (one.value >= 64) == (name == "mai"))
    return tuple(one.value for one in getattr(enum, f"{name.upper()}Op"))


class Encoder:
    """Makes encodings from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - reproducible, no secret
        self.formats: Mapping[str, Callable[[], Encoding]] = {
            "sop1": lambda: (
                0b101111101 << 23 | self.sgpr() << 16 | self.opcode("sop1", 8) << 8 | self.scalar(),
                self.bits(32),
            ),
            "sop2": lambda: (
                0b10 << 30 | self.opcode("sop2", 7) << 23 | self.sgpr() << 16 | self.scalar() << 8 | self.scalar(),
                self.bits(32),
            ),
            "sopc": lambda: (
                0b101111110 << 23 | self.opcode("sopc", 7) << 16 | self.scalar() << 8 | self.scalar(),
                self.bits(32),
            ),
            "sopk": lambda: (
                0b1011 << 28 | self.opcode("sopk", 5) << 23 | self.sgpr() << 16 | self.bits(16),
                self.bits(32),
            ),
            "sopp": lambda: (0b101111111 << 23 | self.random.randrange(32) << 16 | self.bits(16), 0xBF800000),
            "smem": self.smem,
            "vop1": lambda: self.extended(0b0111111 << 25 | self.vgpr() << 17 | self.opcode("vop1", 8) << 9),
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

    def opcode(self, name: str, bits: int) -> int:
        """Return an opcode number, mostly one that the format has."""
        return self.random.choice(_opcodes(name)) if self.random.random() < 0.9 else self.bits(bits)

    def unless_unused(self, field: int) -> int:
        """Return a field, or zero: disassemblers want fields that an instruction does not use to be zero."""
        return field if self.random.random() < 0.5 else 0

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

    def seldom(self, count: int) -> int:
        """Return a modifier field that few instructions have: zero mostly."""
        return self.bits(count) if self.random.random() < 0.2 else 0

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

    def vop3(self) -> Encoding:
        opcode = self.opcode("vop3", 10)
        absolute, halves, clamp = self.seldom(3), self.seldom(4), self.seldom(1)
        target = self.sgpr() if (opcode < 256) == self.often() else self.vgpr()
        first = 0b110100 << 26 | opcode << 16 | clamp << 15 | halves << 11 | absolute << 8 | target
        second = 0 if 320 <= opcode < 448 else self.source()
        uses_third = opcode in _THREE_SOURCES or self.random.random() < 0.1
        third = self.source() if uses_third else 0
        return first, self.source() | second << 9 | third << 18 | self.seldom(2) << 27 | self.seldom(3) << 29

    def vop3p(self) -> Encoding:
        first = 0b110100111 << 23 | self.opcode("vop3p", 6) << 16 | self.seldom(3) << 8 | self.bits(3) << 11
        both_upper = self.often()
        upper = (3 << 27, 1 << 14) if both_upper else (self.bits(2) << 27, self.bits(1) << 14)
        sources = self.source() | self.source() << 9 | self.unless_unused(self.source()) << 18
        return first | upper[1] | self.seldom(1) << 15 | self.vgpr(), sources | upper[0] | self.seldom(3) << 29

    def mai(self) -> Encoding:
        first = 0b110100111 << 23 | self.opcode("mai", 7) << 16 | self.seldom(3) << 8 | self.seldom(4) << 11
        sources = 256 + self.vgpr() | (256 + self.vgpr()) << 9 | self.source() << 18
        return first | self.bits(1) << 15 | self.vgpr(), sources | self.bits(2) << 27 | self.seldom(3) << 29

    def ds(self) -> Encoding:
        opcode = self.opcode("ds", 8)
        first = 0b110110 << 26 | self.bits(1) << 25 | opcode << 17 | self.seldom(1) << 16 | self.bits(16)
        data = self.unless_unused(self.vgpr()) << 8 | self.seldom(7) << 17
        return first, self.vgpr() | data | self.unless_unused(self.vgpr()) << 24

    def flat(self) -> Encoding:
        segment = self.random.randrange(3)
        opcode = self.opcode(("flat", "scratch", "global")[segment], 7)
        offset = self.bits(12) if segment == 0 else self.bits(13)
        first = 0b110111 << 26 | self.seldom(1) << 25 | opcode << 18 | self.few(2) << 16 | segment << 14 | offset
        scalar = 0x7F if segment == 0 or self.often() else self.sgpr()
        stores = self.random.random() < 0.5
        data = self.vgpr() << 8 if stores else self.vgpr() << 24
        if self.random.random() < 0.2:
            data = self.vgpr() << 8 | self.vgpr() << 24
        return first, self.vgpr() | data | scalar << 16 | self.few(1) << 23

    def mubuf(self) -> Encoding:
        first = 0b111000 << 26 | self.opcode("mubuf", 7) << 18 | self.bits(16) | self.few(2) << 16
        soffset = self.sgpr() if self.often() else 128 + self.random.randrange(65)
        resource = self.random.randrange(0, 24)
        return first, self.vgpr() | self.vgpr() << 8 | resource << 16 | self.few(1) << 23 | soffset << 24

    def smem(self) -> Encoding:
        immediate = self.bits(2)
        flags = immediate >> 1 << 17 | (immediate & 1) << 14 | self.few(1) << 16
        first = 0b110000 << 26 | self.opcode("smem", 8) << 18 | flags | self.sgpr() << 6 | self.random.randrange(0, 48)
        return first, self.bits(21) | self.unless_unused(self.sgpr()) << 25
