"""One decoded instruction, in our own words: every register that it reads or writes is an explicit operand.

Names of instructions, operands and modifiers are those of LLVM's disassembler, without the suffixes ``_e32``, ``_e64``,
``_sdwa`` and ``_dpp``: the encoding says those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum, StrEnum


class Encoding(StrEnum):
    """Instruction formats of CDNA 3 (ISA document, chapter "Microcode Formats")."""

    SOP1 = "sop1"
    SOP2 = "sop2"
    SOPC = "sopc"
    SOPK = "sopk"
    SOPP = "sopp"
    SMEM = "smem"
    VOP1 = "vop1"
    VOP2 = "vop2"
    VOPC = "vopc"
    VOP3 = "vop3"
    VOP3P = "vop3p"
    MAI = "mai"
    """Matrix instructions and moves to and from AGPRs."""
    DS = "ds"
    FLAT = "flat"
    GLOBAL = "global"
    SCRATCH = "scratch"
    MUBUF = "mubuf"


VECTOR_MEMORY = (Encoding.FLAT, Encoding.GLOBAL, Encoding.SCRATCH, Encoding.MUBUF)
"""Formats of accesses that each lane makes at an address of its own and that count on vmcnt."""


class RegisterFile(Enum):
    """Where an operand lives."""

    SGPR = "s"
    """Scalar registers by their number in an encoding: also FLAT_SCRATCH (102), VCC (106), M0 (124), EXEC (126)."""
    VGPR = "v"
    AGPR = "a"
    CONSTANT = "constant"
    """A constant or read-only register by its number: 128 to 208 integers, from 235 apertures, from 240 floats."""
    LITERAL = "literal"
    """The 32 bits behind the instruction."""
    OFF = "off"
    """No register: an address without that part."""


FLAT_SCRATCH, VCC, M0, EXEC = 102, 106, 124, 126
"""Numbers of special scalar registers (the lower halves)."""
VCCZ, EXECZ, SCC = 251, 252, 253
"""Numbers of conditions that can be read as operands."""
SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT = 235, 236, 237, 238
"""Numbers of the apertures of the flat address space."""


def scalar_name(index: int) -> str:
    """Return a scalar register's name, as the disassembler has it."""
    special = {VCC: "vcc_lo", VCC + 1: "vcc_hi", M0: "m0", EXEC: "exec_lo", EXEC + 1: "exec_hi", SCC: "scc"}
    return special.get(index, f"s{index}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Operand:
    """One operand.

    Attributes:
        file: where it lives.
        index: register number, number of the constant, or the literal's 32 bits.
        count: consecutive 32-bit registers; 1 for constants and literals, 0 for ``OFF``.
        negate: the sign of a float is flipped (``neg``, ``neg_lo``).
        absolute: the sign of a float is cleared first.
    """

    file: RegisterFile
    index: int = 0
    count: int = 1
    negate: bool = False
    absolute: bool = False

    @property
    def is_vector(self) -> bool:
        """Whether the operand has a value of its own in each lane."""
        return self.file in (RegisterFile.VGPR, RegisterFile.AGPR)

    def register(self, number: int) -> Operand:
        """Return one of the operand's 32-bit registers as an operand."""
        return replace(self, index=self.index + number, count=1)


OFF = Operand(file=RegisterFile.OFF, count=0)


class Select(IntEnum):
    """Which part of a register an SDWA operand is."""

    BYTE_0 = 0
    BYTE_1 = 1
    BYTE_2 = 2
    BYTE_3 = 3
    WORD_0 = 4
    WORD_1 = 5
    DWORD = 6


class Unused(IntEnum):
    """What SDWA writes to the bits of the destination that are not selected."""

    PAD = 0
    SEXT = 1
    PRESERVE = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Sdwa:
    """Sub-dword addressing: parts of the operands; sources in their order, ``sext`` means sign-extended."""

    destination: Select = Select.DWORD
    unused: Unused = Unused.PAD
    sources: tuple[Select, ...]
    sext: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dpp:
    """Data-parallel primitive: where the lanes of the first source come from.

    Attributes:
        control: ``dpp_ctrl`` (ISA document, section "DPP").
        row_mask: a bit for each row of 16 lanes that may be written.
        bank_mask: a bit for each bank of 4 lanes in a row.
        bound_control: invalid lanes read 0 instead of being disabled.
    """

    control: int
    row_mask: int
    bank_mask: int
    bound_control: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryBits:
    """Fields of instructions that access memory; offsets in bytes as encoded, ``offset1`` for two-address LDS only."""

    offset: int = 0
    offset1: int = 0
    sc0: bool = False
    sc1: bool = False
    nt: bool = False
    lds: bool = False
    gds: bool = False
    offen: bool = False
    idxen: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixBits:
    """Broadcast and permutation fields of matrix instructions."""

    cbsz: int = 0
    abid: int = 0
    blgp: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        address: where it lies, in bytes, as the code object numbers it.
        size: bytes, with a literal.
        name: mnemonic without encoding suffix.
        encoding: its format.
        destinations: what it writes, in the disassembler's order, implicit VCC included; not SCC, EXEC, PC.
        sources: what it reads, in the order of the instruction's operands; a destination that is read comes last but
            for implicit VCC. Memory: vector address, scalar address or resource, scalar offset, then data.
        immediate: SIMM16 as encoded, unsigned.
        omod: 0 none, 1 times 2, 2 times 4, 3 half.
        clamp: result is clamped to its range.
        op_sel: halves that sources (bits 0 to 2) and destination (bit 3) use.
        op_sel_hi: packed: halves that the upper operation uses.
        neg_hi: packed: sources whose sign flips in the upper operation.
        sdwa: sub-dword addressing, where used.
        dpp: lane permutation, where used.
        memory: fields of memory instructions.
        matrix: fields of matrix instructions.
    """

    address: int
    size: int
    name: str
    encoding: Encoding
    destinations: tuple[Operand, ...] = ()
    sources: tuple[Operand, ...] = ()
    immediate: int = 0
    omod: int = 0
    clamp: bool = False
    op_sel: int = 0
    op_sel_hi: int = 0
    neg_hi: int = 0
    sdwa: Sdwa | None = None
    dpp: Dpp | None = None
    memory: MemoryBits | None = None
    matrix: MatrixBits | None = None

    @property
    def next_address(self) -> int:
        """Address of the instruction behind this one."""
        return self.address + self.size

    @property
    def branch_target(self) -> int:
        """Where SIMM16 points, counted in dwords from the next instruction."""
        words = self.immediate - 0x10000 if self.immediate & 0x8000 else self.immediate
        return self.next_address + 4 * words

    def __str__(self) -> str:
        """Return address and name: how messages speak of an instruction."""
        return f"{self.address:#x} {self.name}"
