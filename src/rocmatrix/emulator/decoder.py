"""Machine code to ``Instruction``: tinygrad's tables tell format, operation and fields; the operands are ours.

tinygrad's decoder comes from AMD's published ISA description. It knows the instructions of gfx950 too; those have no
semantics here and are refused when they are executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocmatrix.emulator.decoder_fields import (
    data_operand,
    memory_operands,
    scalar_operands,
    sdwa_of,
    vector_operands,
)
from rocmatrix.emulator.instruction import (
    VECTOR_MEMORY,
    Dpp,
    Encoding,
    Instruction,
    MatrixBits,
    MemoryBits,
    Operand,
    RegisterFile,
    Sdwa,
)
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.emulator.semantics.matrix import MATRIX

_LONGEST, _WORD = 16, 4
_INDEX_ON = "s_set_gpr_idx_on"
_SOURCELESS = ("s_getpc_b64", "v_nop", "v_clrexcp")
_NEVER_LONG = "v_clrexcp"
"""It has no form with SDWA or DPP (LLVM)."""
_LITERAL = 255
_ENCODINGS = {
    "SOP1": Encoding.SOP1,
    "SOP2": Encoding.SOP2,
    "SOPC": Encoding.SOPC,
    "SOPK": Encoding.SOPK,
    "SOPP": Encoding.SOPP,
    "SMEM": Encoding.SMEM,
    "VOP1": Encoding.VOP1,
    "VOP2": Encoding.VOP2,
    "VOPC": Encoding.VOPC,
    "VOP3": Encoding.VOP3,
    "VOP3SD": Encoding.VOP3,
    "VOP3P": Encoding.VOP3P,
    "DS": Encoding.DS,
    "FLAT": Encoding.FLAT,
    "GLOBAL": Encoding.GLOBAL,
    "SCRATCH": Encoding.SCRATCH,
    "MUBUF": Encoding.MUBUF,
}
_RENAMED = {
    "v_mad_mix_f32": "v_fma_mix_f32",
    "v_mad_mixlo_f16": "v_fma_mixlo_f16",
    "v_mad_mixhi_f16": "v_fma_mixhi_f16",
    "v_accvgpr_read": "v_accvgpr_read_b32",
    "v_accvgpr_write": "v_accvgpr_write_b32",
}
"""gfx942 has the fused forms at these opcodes (LLVM, FeatureFmaMixInsts); the rest are LLVM's spellings."""


_MATRIX_NAMES = ("v_mfma", "v_smfmac", "v_accvgpr_read", "v_accvgpr_write")
_MATRIX_FIELDS = {"cbsz": (8, 3), "abid": (11, 4), "acc_cd": (15, 1), "acc": (59, 2), "blgp": (61, 3)}
"""First bit and width (LLVM, VOP3PInstructions.td): tinygrad knows them for some matrix instructions only."""


@dataclass(frozen=True, kw_only=True)
class Fields:
    """What tinygrad says of an instruction, apart from its types.

    Attributes:
        form: name of the format, e.g. ``VOP3_SDST``.
        name: mnemonic in lower case without suffix.
        values: field -> bits as encoded.
        registers: field -> 32-bit registers of the operand.
        size: bytes.
    """

    form: str
    name: str
    values: Mapping[str, int]
    registers: Mapping[str, int]
    size: int

    def __getitem__(self, field: str) -> int:
        """Return the bits of a field, 0 where the format has no such field."""
        return self.values.get(field, 0)

    def __contains__(self, field: str) -> bool:
        """Say whether the format has a field."""
        return field in self.values


def decode(code: bytes, address: int) -> Instruction:
    """Decode the instruction at the start of some bytes.

    Args:
        code: at least one whole instruction.
        address: where it lies; for messages and branches.

    Raises:
        UnsupportedError: the bytes are no instruction that the tables know.
    """
    fields = _read(code[:_LONGEST], address)
    try:
        return _instruction(fields, address)
    except ValueError as err:
        raise UnsupportedError(f"the encoding of {fields.name} at {address:#x}: {err}") from err


def _instruction(fields: Fields, address: int) -> Instruction:
    form = fields.form.partition("_")[0]
    if form not in _ENCODINGS:
        raise UnsupportedError(f"the format {form} of {fields.name} at {address:#x}")
    encoding = _ENCODINGS[form]
    if form == "VOP3P" and fields.name.startswith(_MATRIX_NAMES):
        encoding = Encoding.MAI
    destinations, sources = _operands(encoding, fields)
    modified = encoding in (Encoding.VOP3, Encoding.VOP3P)
    return Instruction(
        address=address,
        size=fields.size,
        name=fields.name,
        encoding=encoding,
        destinations=destinations,
        sources=sources,
        immediate=fields["ssrc1"] if fields.name == _INDEX_ON else fields["simm16"],
        omod=fields["omod"],
        clamp=bool(fields["clmp"]) and encoding is not Encoding.MAI,
        op_sel=fields["opsel"] if modified else 0,
        op_sel_hi=fields["opsel_hi"] | fields["opsel_hi2"] << 2 if encoding is Encoding.VOP3P else 0,
        neg_hi=fields["neg_hi"] if encoding is Encoding.VOP3P else 0,
        sdwa=_sdwa(fields),
        dpp=_dpp(fields),
        memory=_memory(encoding, fields),
        matrix=_matrix(fields) if encoding is Encoding.MAI else None,
    )


def _read(code: bytes, address: int) -> Fields:
    from tinygrad.renderer.amd import decode_inst  # noqa: PLC0415 - half a second, only where code is executed

    try:
        decoded = decode_inst(code.ljust(_LONGEST, b"\0"), "cdna")
        operation = decoded.op_name.lower()
    except (ValueError, AssertionError, AttributeError) as err:
        words = code[:8].hex(" ", 4)
        raise UnsupportedError(f"the machine code {words} at {address:#x}: it decodes to nothing") from err
    name = operation.removesuffix("_e32").removesuffix("_e64")
    raw = int.from_bytes(decoded.to_bytes(), "little")
    values = {field: raw >> bits.lo & bits.mask for field, bits in type(decoded)._fields}
    if name.startswith(_MATRIX_NAMES):
        values |= {field: raw >> first & (1 << width) - 1 for field, (first, width) in _MATRIX_FIELDS.items()}
    size = decoded.size()
    form = type(decoded).__name__
    sourceless = name in _SOURCELESS and ("SOP1" in form or "_LIT" in form)
    if sourceless or name == _NEVER_LONG or (name == _INDEX_ON and values["ssrc0"] != _LITERAL):
        size = _WORD  # what looks like a literal is no source: nothing, or a number
    if size > len(code):
        raise UnsupportedError(f"the machine code at {address:#x}: it ends within {name}")
    return Fields(form=form, name=_RENAMED.get(name, name), values=values, registers=decoded.op_regs, size=size)


def _operands(encoding: Encoding, fields: Fields) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    if encoding in (Encoding.SOP1, Encoding.SOP2, Encoding.SOPC, Encoding.SOPK, Encoding.SOPP):
        return scalar_operands(fields)
    if encoding in (*VECTOR_MEMORY, Encoding.DS, Encoding.SMEM):
        return memory_operands(encoding, fields)
    if encoding is Encoding.MAI:
        return _matrix_operands(fields)
    return vector_operands(encoding, fields)


def _matrix_operands(fields: Fields) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return operands of matrix instructions: accumulator bits say which of them are AGPRs.

    Sizes are those of our own table where it has the instruction: tinygrad's has no xf32.
    """
    accumulators = fields["acc"]
    registers = dict(fields.registers)
    if operation := MATRIX.get(fields.name):
        registers = dict(zip(("src0", "src1", "src2"), operation.registers, strict=True))
        registers["vdst"] = registers["src2"]
    destination = data_operand(fields["vdst"], registers.get("vdst", 1), accumulator=bool(fields["acc_cd"]))
    sources = []
    for number, field in enumerate(("src0", "src1", "src2")):
        if field not in registers:
            continue
        is_accumulator = bool(fields["acc_cd"]) if field == "src2" else bool(accumulators >> number & 1)
        sources.append(_matrix_source(fields[field], registers[field], accumulator=is_accumulator))
    if fields.name == "v_accvgpr_write_b32":
        destination = data_operand(fields["vdst"], 1, accumulator=True)
        sources = [_matrix_source(fields["src0"], 1, accumulator=False)]
    if fields.name == "v_accvgpr_read_b32":
        destination = data_operand(fields["vdst"], 1, accumulator=False)
        sources = [data_operand(fields["src0"] & 0xFF, 1, accumulator=True)]
    return (destination,), tuple(sources)


def _matrix_source(code: int, count: int, *, accumulator: bool) -> Operand:
    if code >= 256:  # noqa: PLR2004 - vector registers begin here in the space of sources
        return data_operand(code - 256, count, accumulator=accumulator)
    return Operand(file=RegisterFile.CONSTANT if code >= 128 else RegisterFile.SGPR, index=code)  # noqa: PLR2004


def _sdwa(fields: Fields) -> Sdwa | None:
    return sdwa_of(fields) if "_SDWA" in fields.form else None


def _dpp(fields: Fields) -> Dpp | None:
    if "_DPP16" not in fields.form:
        return None
    return Dpp(
        control=fields["dpp"],
        row_mask=fields["row_mask"],
        bank_mask=fields["bank_mask"],
        bound_control=bool(fields["bc"]),
    )


def _matrix(fields: Fields) -> MatrixBits:
    return MatrixBits(cbsz=fields["cbsz"], abid=fields["abid"], blgp=fields["blgp"])


def _memory(encoding: Encoding, fields: Fields) -> MemoryBits | None:
    if encoding is Encoding.DS:
        if "2" in fields.name.split("_")[1] and "offset1" in fields and _has_two_offsets(fields.name):
            return MemoryBits(offset=fields["offset0"], offset1=fields["offset1"], gds=bool(fields["gds"]))
        return MemoryBits(offset=fields["offset0"] | fields["offset1"] << 8, gds=bool(fields["gds"]))
    if encoding in (*VECTOR_MEMORY, Encoding.SMEM):
        offset = fields["offset"]
        if encoding in (Encoding.GLOBAL, Encoding.SCRATCH) and offset & 0x1000:
            offset -= 0x2000
        if encoding is Encoding.SMEM:
            offset = (offset - 0x200000 if offset & 0x100000 else offset) if fields["imm"] else 0
        return MemoryBits(
            offset=offset,
            sc0=bool(fields["sc0"] | fields["glc"]),
            sc1=bool(fields["sc1"]),
            nt=bool(fields["nt"]),
            lds=bool(fields["lds"]) or "_lds_" in fields.name,
            offen=bool(fields["offen"]),
            idxen=bool(fields["idxen"]),
        )
    return None


def _has_two_offsets(name: str) -> bool:
    return name.split("_")[1] in ("read2", "read2st64", "write2", "write2st64", "wrxchg2", "wrxchg2st64")
