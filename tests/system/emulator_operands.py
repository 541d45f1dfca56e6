"""Operands, and all of memory instructions, in the notation of LLVM's disassembler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocmatrix.emulator.instruction import OFF, Encoding, Instruction, Operand, RegisterFile
from rocmatrix.emulator.semantics.operands import integer_constant

_PAIRS = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}
_SPECIAL = {
    124: "m0",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    240: "0.5",
    241: "-0.5",
    242: "1.0",
    243: "-1.0",
    244: "2.0",
    245: "-2.0",
    246: "4.0",
    247: "-4.0",
    248: "0.15915494",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
}


def write_operand(operand: Operand) -> str:
    """Return an operand without modifiers."""
    if operand.file is RegisterFile.OFF:
        return "off"
    if operand.file is RegisterFile.LITERAL:
        return f"{operand.index:#x}"
    if operand.file is RegisterFile.CONSTANT:
        number = integer_constant(operand.index)
        return str(number) if number is not None else _SPECIAL[operand.index]
    return _register(operand)


def _register(operand: Operand) -> str:
    index, count = operand.index, operand.count
    letter = operand.file.value
    if operand.file is RegisterFile.SGPR and index >= 102:
        if index == 124:
            return "m0"
        if 108 <= index < 124:
            letter, index = "ttmp", index - 108
        else:
            name = _PAIRS[index & ~1]
            return name if count == 2 else f"{name}_{'hi' if index & 1 else 'lo'}"
    return f"{letter}{index}" if count == 1 else f"{letter}[{index}:{index + count - 1}]"


def memory_operands(instruction: Instruction) -> Iterator[str]:
    destinations = [write_operand(operand) for operand in instruction.destinations]
    sources = list(instruction.sources)
    bits = instruction.memory
    if instruction.encoding is Encoding.DS:
        if "_d16" in instruction.name and destinations:
            sources = sources[:-1]
        yield from destinations
        yield from map(write_operand, sources)
        return
    if instruction.encoding is Encoding.SMEM:
        yield from destinations
        yield from map(write_operand, sources[2:])
        if sources:
            yield write_operand(sources[0])
            yield f"{bits.offset:#x}" if sources[1] is OFF and bits else write_operand(sources[1])
        return
    parts = 3 if instruction.encoding is Encoding.MUBUF else 2
    address, data = sources[:parts], sources[parts:]
    if (bits and bits.lds) or (destinations and "_d16" in instruction.name):
        data = []
    if instruction.encoding is Encoding.MUBUF:
        yield from destinations[:1] if "atomic" not in instruction.name else []
        yield from map(write_operand, [*data, *address])
        return
    yield from destinations
    yield write_operand(address[0])
    yield from map(write_operand, data)
    if instruction.encoding is not Encoding.FLAT:
        yield write_operand(address[1])


def memory_modifiers(instruction: Instruction) -> Iterator[str]:
    bits = instruction.memory
    if bits is None:
        return
    two = instruction.encoding is Encoding.DS and re.match(r"ds_(read|write|wrxchg)2", instruction.name)
    if instruction.encoding is Encoding.SMEM:
        if instruction.sources and instruction.sources[1] is not OFF and bits.offset:
            yield f"offset:{bits.offset:#x}"
        yield "glc" if bits.sc0 else ""
        return
    if bits.offset:
        yield f"offset0:{bits.offset}" if two else f"offset:{bits.offset}"
    yield f"offset1:{bits.offset1}" if bits.offset1 else ""
    for word in ("sc0", "sc1", "nt", "gds", "offen", "idxen"):
        yield word if getattr(bits, word) else ""
    yield "lds" if bits.lds and instruction.encoding is Encoding.MUBUF else ""
