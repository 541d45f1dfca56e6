"""A wave to execute single instructions on, and short ways to write operands."""

from __future__ import annotations

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator.algebra import Kind
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import VCC, Encoding, Instruction, Operand, RegisterFile
from rocmatrix.emulator.interpreter import check_executable, handler_of
from rocmatrix.emulator.lanes import DTYPES, Lanes
from rocmatrix.emulator.memory import LocalMemory, Memory
from rocmatrix.emulator.reports import WaveId
from rocmatrix.emulator.wave import Wave

EVERYONE = np.ones(64, dtype=np.bool_)
SPECIAL = (0, 1, 2, 3, 5, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
           0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x00800000,
           0x007FFFFF)  # fmt: skip


def v(index: int, count: int = 1, *, negate: bool = False, absolute: bool = False) -> Operand:
    return Operand(file=RegisterFile.VGPR, index=index, count=count, negate=negate, absolute=absolute)


def s(index: int, count: int = 1) -> Operand:
    return Operand(file=RegisterFile.SGPR, index=index, count=count)


def a(index: int, count: int = 1) -> Operand:
    return Operand(file=RegisterFile.AGPR, index=index, count=count)


def constant(index: int) -> Operand:
    return Operand(file=RegisterFile.CONSTANT, index=index)


def integer(number: int) -> Operand:
    return constant(128 + number if number >= 0 else 192 - number)


VCC_PAIR = s(VCC, 2)


def make_wave(*, mode: Mode | None = None, lds: int = 1024, memory: Memory | None = None) -> Wave:
    wave = Wave(
        identity=WaveId(workgroup=(0, 0, 0), wave=0),
        kernel="test",
        mode=mode or Mode(),
        pc=0,
        lds=LocalMemory(lds, "the workgroup's LDS"),
        scratch=LocalMemory(256, "the lane's scratch", rows=64),
        memory=memory or Memory(),
        observer=None,
    )
    wave.set_exec(EVERYONE)
    return wave


def execute(wave: Wave, instruction: Instruction) -> None:
    check_executable(instruction)
    wave.instruction = instruction
    with np.errstate(all="ignore"):
        handler_of(instruction)(wave, instruction)


def make(
    name: str, encoding: Encoding, destinations: list[Operand], sources: list[Operand], **fields: object
) -> Instruction:
    return Instruction(
        address=0,
        size=8,
        name=name,
        encoding=encoding,
        destinations=tuple(destinations),
        sources=tuple(sources),
        **fields,  # type: ignore[arg-type]  # a test says what it needs
    )


def words(random: np.random.Generator, count: int = 64) -> Array:
    """Return 32-bit words, half of them special."""
    drawn = random.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    return np.where(random.random(count) < 0.5, random.choice(np.array(SPECIAL, np.uint32), count), drawn)


def values(kind: Kind, random: np.random.Generator, count: int = 64) -> Lanes:
    """Return values of a kind, half of them special."""
    if kind.bits == 1:
        return Lanes(kind, random.random(count) < 0.5)
    low, high = words(random, count).astype(np.uint64), words(random, count).astype(np.uint64)
    if kind.bits == 64 and kind.is_float:
        made = np.where(random.random(count) < 0.5, low << np.uint64(32) | high, low.astype(np.float64).view(np.uint64))
    else:
        made = low | high << np.uint64(32)
    unsigned = made.astype(f"uint{kind.bits}") if kind.bits != 16 else (low ^ low >> np.uint64(16)).astype(np.uint16)
    return Lanes(kind, unsigned.view(DTYPES[kind]))
