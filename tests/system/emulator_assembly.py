"""Our decoded instructions in the disassembler's own notation, to compare the two operand by operand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rocmatrix.emulator.instruction import (
    Dpp,
    Encoding,
    Instruction,
    Operand,
    RegisterFile,
    Select,
)
from rocmatrix.emulator.semantics.arithmetic import VECTOR
from rocmatrix.emulator.semantics.operands import float_constant_bits
from tests.system.emulator_operands import memory_modifiers, memory_operands, write_operand

_DPP_WHOLE = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}
_SUFFIX = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp)$")
_REMARK = re.compile(r"\s*(//|;).*")
_BETWEEN = re.compile(r",(?![^\[(]*[\])])")
"""Commas that are not in brackets."""
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_MEMORY = (Encoding.FLAT, Encoding.GLOBAL, Encoding.SCRATCH, Encoding.MUBUF, Encoding.DS, Encoding.SMEM)
_OPAQUE = (
    "s_set_gpr_idx_on",
    "s_waitcnt",
    "s_getreg_b32",
    "s_setreg_b32",
    "s_setreg_imm32_b32",
    "s_sendmsg",
    "s_sendmsghalt",
    "ds_swizzle",
)
"""Instructions whose immediates the disassembler writes in words of its own."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a disassembler says: mnemonic without encoding suffix, operands, modifiers."""

    name: str
    operands: tuple[str, ...]
    modifiers: frozenset[str]


def read_line(text: str) -> Line:
    """Return the parts of a line of LLVM's disassembler."""
    name, _, rest = text.partition(" ")
    rest = _REMARK.sub("", rest)
    if "0.15915" in rest:
        rest = re.sub(r"0\.15915494309189\d+", "0.15915494", rest)
    words: list[str] = []
    operands = [operand.strip() for operand in _BETWEEN.split(rest)]
    if operands and " " in operands[-1]:
        operands[-1], *words = _split(operands[-1])
    if operands and (":" in operands[0] and "[" not in operands[0].split(":")[0]):
        words, operands = [*_split(operands[0]), *words], operands[1:]
    return Line(
        name=_SUFFIX.sub("", name), operands=tuple(filter(None, operands)), modifiers=frozenset(filter(None, words))
    )


def _split(text: str) -> list[str]:
    return re.findall(r"[^\s\[(]+(?:[\[(][^\])]*[\])])?[^\s\[(]*", text)


def is_opaque(instruction: Instruction) -> bool:
    """Say whether the immediates are written in words that this module does not write."""
    return instruction.name.startswith(_OPAQUE) or (
        instruction.encoding is Encoding.SOPP and not instruction.name.startswith(("s_branch", "s_cbranch"))
    )


def write_line(instruction: Instruction) -> Line:
    """Return what LLVM's disassembler should say of an instruction."""
    return Line(
        name=instruction.name,
        operands=tuple(_operands(instruction)),
        modifiers=frozenset(filter(None, _modifiers(instruction))),
    )


def _operands(instruction: Instruction) -> Iterator[str]:
    if instruction.encoding in _MEMORY:
        yield from memory_operands(instruction)
        return
    yield from (write_operand(operand) for operand in _written_destinations(instruction))
    if instruction.name.startswith(("s_branch", "s_cbranch", "s_call")):
        yield str(instruction.immediate)
        return
    for number, operand in enumerate(_explicit_sources(instruction)):
        yield _source(instruction, number, operand)


def _written_destinations(instruction: Instruction) -> tuple[Operand, ...]:
    return instruction.destinations[:1] if instruction.name == "v_swap_b32" else instruction.destinations


def _explicit_sources(instruction: Instruction) -> tuple[Operand, ...]:
    name, sources = instruction.name, instruction.sources
    if name.startswith(("v_fmac_", "v_mac_", "v_dot2c_", "v_dot4c_", "v_dot8c_", "v_pk_fmac_", "v_div_fmas_")):
        return sources[:-1]
    if name.startswith(("v_writelane", "v_swap", "s_bitset", "s_cmov_", "s_addk", "s_mulk", "s_cmovk")):
        return sources[: 2 if name.startswith("v_writelane") else 1]
    return sources


def _source(instruction: Instruction, number: int, operand: Operand) -> str:
    text = _integer_bits(instruction, number, operand) or write_operand(_as_printed(instruction, number, operand))
    sdwa = instruction.sdwa
    if sdwa and number < len(sdwa.sext) and sdwa.sext[number]:
        text = f"sext({text})"
    if instruction.encoding in (Encoding.VOP3P, Encoding.MAI) and not instruction.name.startswith("v_fma_mix"):
        return text
    absolute = operand.absolute or (instruction.name.startswith("v_fma_mix") and instruction.neg_hi >> number & 1)
    if absolute:
        text = f"|{text}|"
    if operand.negate:
        text = f"neg({text})" if text.lstrip("-")[0].isdigit() else f"-{text}"
    return text


def _as_printed(instruction: Instruction, number: int, operand: Operand) -> Operand:
    """Return the operand with a literal cut to the bits that the instruction uses, as LLVM prints it."""
    if operand.file is not RegisterFile.LITERAL:
        return operand
    if instruction.encoding is Encoding.SOPK and not instruction.name.startswith("s_setreg"):
        return replace(operand, index=operand.index & 0xFFFF)
    if instruction.name in VECTOR and VECTOR[instruction.name].operands[number].bits == 16:
        return replace(operand, index=operand.index & 0xFFFF)
    return operand


def _integer_bits(instruction: Instruction, number: int, operand: Operand) -> str | None:
    """Return a float constant of a 16-bit integer operand as LLVM prints it: the bits of the float16."""
    table = VECTOR[instruction.name].operands if instruction.name in VECTOR else ()
    if instruction.name == "v_ldexp_f16":  # the exponent is a float to LLVM
        return None
    small = number < len(table) and table[number].bits == 16 and not table[number].is_float
    bits = float_constant_bits(operand.index, 16) if operand.file is RegisterFile.CONSTANT and small else None
    return None if bits is None else f"{bits:#x}"


def _modifiers(instruction: Instruction) -> Iterator[str]:
    if instruction.memory:
        yield from memory_modifiers(instruction)
    if instruction.matrix:
        matrix = instruction.matrix
        yield f"cbsz:{matrix.cbsz}" if matrix.cbsz else ""
        yield f"abid:{matrix.abid}" if matrix.abid else ""
        if matrix.blgp and "_f64" in instruction.name:
            yield f"neg:{_list(matrix.blgp, 3)}"
        elif matrix.blgp:
            yield f"blgp:{matrix.blgp}"
    if instruction.encoding is Encoding.VOP3P:
        yield from _packed_modifiers(instruction)
    elif instruction.op_sel:
        count = len(_explicit_sources(instruction))
        bits = instruction.op_sel & ((1 << count) - 1) | (instruction.op_sel >> 3 & 1) << count
        yield f"op_sel:{_list(bits, count + 1)}"
    yield "clamp" if instruction.clamp else ""
    yield {0: "", 1: "mul:2", 2: "mul:4", 3: "div:2"}[instruction.omod]
    if instruction.sdwa:
        yield from _sdwa_modifiers(instruction)
    if instruction.dpp:
        yield from _dpp_modifiers(instruction.dpp)


def _list(bits: int, count: int) -> str:
    return "[" + ",".join(str(bits >> number & 1) for number in range(count)) + "]"


def _packed_modifiers(instruction: Instruction) -> Iterator[str]:
    sources = _explicit_sources(instruction)
    count = len(sources)
    mask = (1 << count) - 1
    mixed = instruction.name.startswith("v_fma_mix")
    negate = sum(operand.negate << number for number, operand in enumerate(sources))
    if instruction.op_sel & mask:
        yield f"op_sel:{_list(instruction.op_sel, count)}"
    if instruction.op_sel_hi & mask != (0 if mixed else mask):
        yield f"op_sel_hi:{_list(instruction.op_sel_hi, count)}"
    if mixed:
        return
    if negate:
        yield f"neg_lo:{_list(negate, count)}"
    if instruction.neg_hi & mask:
        yield f"neg_hi:{_list(instruction.neg_hi, count)}"


def _sdwa_modifiers(instruction: Instruction) -> Iterator[str]:
    sdwa = instruction.sdwa
    if sdwa is None:
        return
    if instruction.encoding is not Encoding.VOPC:
        yield f"dst_sel:{_select(sdwa.destination)}"
        yield f"dst_unused:{_UNUSED[sdwa.unused]}"
    for number, select in enumerate(sdwa.sources):
        yield f"src{number}_sel:{_select(select)}"


def _select(select: Select) -> str:
    return select.name


def _dpp_modifiers(dpp: Dpp) -> Iterator[str]:
    control, amount = dpp.control, dpp.control & 15
    if control <= 0xFF:
        yield "quad_perm:[" + ",".join(str(control >> 2 * lane & 3) for lane in range(4)) + "]"
    elif control in _DPP_WHOLE:
        yield _DPP_WHOLE[control]
    else:
        yield {0x10: "row_shl", 0x11: "row_shr", 0x12: "row_ror", 0x15: "row_newbcast"}[control >> 4] + f":{amount}"
    yield f"row_mask:{dpp.row_mask:#x}"
    yield f"bank_mask:{dpp.bank_mask:#x}"
    yield "bound_ctrl:1" if dpp.bound_control else ""
