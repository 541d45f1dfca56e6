"""Operands out of the fields of an encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from rocmatrix.emulator.instruction import (
    M0,
    OFF,
    VCC,
    Encoding,
    Operand,
    RegisterFile,
    Sdwa,
    Select,
    Unused,
)

Operands = tuple[tuple[Operand, ...], tuple[Operand, ...]]
"""Destinations and sources."""

_VECTOR, _LITERAL, _CONSTANT, _SDWA, _DPP = 256, 255, 128, 249, 250
_OFF_ADDRESS = 0x7F
_VCC_PAIR = Operand(file=RegisterFile.SGPR, index=VCC, count=2)
_READS_VCC = ("v_cndmask_b32", "v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32")
_WRITES_VCC = ("v_add_co_u32", "v_sub_co_u32", "v_subrev_co_u32", *_READS_VCC[1:])
_READS_DESTINATION = ("v_fmac_", "v_mac_", "v_dot2c_", "v_dot4c_", "v_dot8c_", "v_pk_fmac_")
_WITH_IMMEDIATE = ("s_movk_i32", "s_addk_i32", "s_mulk_i32", "s_cmovk_i32")
_PRESERVING = ("v_writelane_b32", "v_swap_b32")
_SCALAR_DESTINATION = ("v_readlane_b32", "v_readfirstlane_b32")


class FieldValues(Protocol):
    """Fields of one instruction as a decoder found them."""

    @property
    def name(self) -> str:
        """Mnemonic without suffix."""

    @property
    def form(self) -> str:
        """Name of the format."""

    @property
    def registers(self) -> Mapping[str, int]:
        """Field -> 32-bit registers."""

    def __getitem__(self, field: str) -> int:
        """Bits of a field, 0 where there is none."""

    def __contains__(self, field: str) -> bool:
        """Whether the format has the field."""


def data_operand(index: int, count: int, *, accumulator: bool) -> Operand:
    """Return vector registers, AGPRs where the accumulator bit says so."""
    return Operand(file=RegisterFile.AGPR if accumulator else RegisterFile.VGPR, index=index, count=count)


def source_operand(fields: FieldValues, code: int, count: int) -> Operand:
    """Return the operand that nine bits of an encoding stand for."""
    if code >= _VECTOR:
        return Operand(file=RegisterFile.VGPR, index=code - _VECTOR, count=count)
    if code == _LITERAL:
        return Operand(file=RegisterFile.LITERAL, index=fields["literal"])
    if code >= _CONSTANT:
        return Operand(file=RegisterFile.CONSTANT, index=code)
    return _sgpr(code, count)


def _sgpr(code: int, count: int) -> Operand:
    return Operand(file=RegisterFile.SGPR, index=code, count=count)


def scalar_operands(fields: FieldValues) -> Operands:
    """Return operands of SOP1, SOP2, SOPC, SOPK and SOPP."""
    count = fields.registers.get
    sources = [
        source_operand(fields, fields[field], count(field, 1)) for field in ("ssrc0", "ssrc1") if field in fields
    ]
    if fields.name == "s_getpc_b64":
        sources = []
    if fields.name == "s_set_gpr_idx_on":
        sources = sources[:1]
    destinations = [_sgpr(fields["sdst"], count("sdst", 1))] if "sdst" in fields else []
    name = fields.name
    if name.startswith(("s_cmpk_", "s_setreg_b32")):
        destinations, sources = [], destinations
    elif name.startswith(("s_bitset", "s_cmov_")):
        sources = [*sources, *destinations]
    elif name == "s_setreg_imm32_b32":
        destinations, sources = [], [Operand(file=RegisterFile.LITERAL, index=fields["literal"])]
    elif name in ("s_setpc_b64", "s_rfe_b64", "s_cbranch_join", "s_set_gpr_idx_idx"):
        destinations = []
    if name in _WITH_IMMEDIATE or name.startswith("s_cmpk_"):
        signed = fields["simm16"] & 0x8000 and not name.endswith("_u32")
        immediate = Operand(file=RegisterFile.LITERAL, index=fields["simm16"] | (0xFFFF0000 if signed else 0))
        sources = [*sources, immediate] if name.startswith("s_cmpk_") else [immediate]
        if name != "s_movk_i32" and destinations:
            sources += destinations
    return tuple(destinations), tuple(sources)


def vector_operands(encoding: Encoding, fields: FieldValues) -> Operands:
    """Return operands of vector arithmetic, modifiers of the sources and implicit VCC included."""
    sources = list(_vector_sources(fields))
    name = fields.name
    if name.startswith(("v_fmamk_", "v_madmk_")):
        sources.insert(1, Operand(file=RegisterFile.LITERAL, index=fields["literal"]))
    elif name.startswith(("v_fmaak_", "v_madak_")):
        sources.append(Operand(file=RegisterFile.LITERAL, index=fields["literal"]))
    destinations = _vector_destinations(encoding, fields)
    if name == "v_accvgpr_mov_b32":
        sources = [replace(source, file=RegisterFile.AGPR) if source.is_vector else source for source in sources]
    if name.startswith(_READS_DESTINATION) or name in _PRESERVING:
        sources.append(replace(destinations[0], negate=False, absolute=False))
    if name == "v_swap_b32":
        destinations.append(sources[0])
    if (encoding is Encoding.VOP2 and name in _READS_VCC) or name.startswith("v_div_fmas_"):
        sources.append(_VCC_PAIR)
    return tuple(destinations), tuple(sources)


def _vector_sources(fields: FieldValues) -> list[Operand]:
    if fields.name in ("v_nop", "v_clrexcp"):
        return []
    sources = []
    for number, field in enumerate(("src0", "src1", "src2")):
        names = (f"v{field}", field) if field in ("src0", "src1") else (field,)
        found = next((name for name in names if name in fields), None)
        if found is None or (fields.form.startswith("VOP3") and not _has_source(fields, field)):
            continue
        count = fields.registers.get(field, fields.registers.get(f"v{field}", 1))
        operand = _vector_source(fields, found, number, count)
        negate = bool(fields["neg"] >> number & 1) or bool(fields[f"{field}_neg"])
        absolute = bool(fields["abs"] >> number & 1) or bool(fields[f"{field}_abs"])
        sources.append(replace(operand, negate=negate, absolute=absolute))
    return sources


def _has_source(fields: FieldValues, field: str) -> bool:
    return field in fields.registers or f"v{field}" in fields.registers


def _vector_source(fields: FieldValues, found: str, number: int, count: int) -> Operand:
    code = fields[found]
    if "_SDWA" in fields.form:
        is_scalar = bool(fields[f"s{number}"])
        return source_operand(fields, code, count) if is_scalar else data_operand(code, count, accumulator=False)
    if found.startswith("v"):
        return data_operand(code, count, accumulator=False)
    mask = fields.name in _READS_VCC and number == 2  # noqa: PLR2004 - the third source is a lane mask
    return source_operand(fields, code, 2 if mask else count)


def _vector_destinations(encoding: Encoding, fields: FieldValues) -> list[Operand]:
    name = fields.name
    if name in ("v_nop", "v_clrexcp"):
        return []
    if encoding is Encoding.VOPC:
        if "_SDWA" in fields.form and fields["sd"]:
            return [_sgpr(fields["sdst"], 2)]
        return [_VCC_PAIR]
    if name.startswith("v_cmp"):
        return [_sgpr(fields["vdst"], 2)]
    if name in _SCALAR_DESTINATION:
        return [_sgpr(fields["vdst"], 1)]
    destinations = [data_operand(fields["vdst"], fields.registers.get("vdst", 1), accumulator=False)]
    if name == "v_accvgpr_mov_b32":
        destinations = [data_operand(fields["vdst"], 1, accumulator=True)]
    if "sdst" in fields and fields.form.startswith("VOP3SD"):
        destinations.append(_sgpr(fields["sdst"], 2))
    elif encoding is Encoding.VOP2 and name in _WRITES_VCC:
        destinations.append(_VCC_PAIR)
    return destinations


def memory_operands(encoding: Encoding, fields: FieldValues) -> Operands:
    """Return operands of memory instructions: address parts first, then data."""
    if encoding is Encoding.SMEM:
        return _scalar_memory(fields)
    if encoding is Encoding.DS:
        return _lds(fields)
    name, accumulator = fields.name, bool(fields["acc"])
    if encoding is Encoding.MUBUF:
        if name.startswith(("buffer_wbl2", "buffer_inv")):
            return (), ()
        address = OFF
        if fields["offen"] or fields["idxen"]:
            address = data_operand(fields["vaddr"], fields["offen"] + fields["idxen"], accumulator=False)
        parts = (address, _sgpr(4 * fields["srsrc"], 4), source_operand(fields, fields["soffset"], 1))
        return _with_data(fields, parts, fields["vdata"], "vdata", accumulator=accumulator, returns=bool(fields["sc0"]))
    scalar = OFF if fields["saddr"] == _OFF_ADDRESS else _sgpr(fields["saddr"], 2)
    if encoding is Encoding.FLAT:
        scalar = OFF
    vector = data_operand(fields["addr"], 2 if scalar is OFF else 1, accumulator=False)
    if encoding is Encoding.SCRATCH:
        scalar = OFF if scalar is OFF else replace(scalar, count=1)
        vector = replace(vector, count=1) if fields["sve"] else OFF
    returns = bool(fields["sc0"])
    return _with_data(fields, (vector, scalar), fields["data"], "data", accumulator=accumulator, returns=returns)


def _with_data(
    fields: FieldValues, parts: tuple[Operand, ...], index: int, field: str, *, accumulator: bool, returns: bool
) -> Operands:
    """Return address parts with data to load, to store, or both."""
    count = fields.registers.get
    loaded = fields["vdst"] if field == "data" else index
    size = count("vdst", count(field, 1))
    if "_lds_" in fields.name or fields["lds"]:
        return (), (*parts, _sgpr(M0, 1))
    if "_load_" in fields.name:
        destination = data_operand(loaded, size, accumulator=accumulator)
        kept = (destination,) if "_d16" in fields.name else ()
        return (destination,), (*parts, *kept)
    data = data_operand(index, count(field, 1), accumulator=accumulator)
    if "_atomic_" in fields.name and returns:
        size = data.count // 2 if "cmpswap" in fields.name else data.count
        return (data_operand(loaded, size, accumulator=accumulator),), (*parts, data)
    return (), (*parts, data)


def _lds(fields: FieldValues) -> Operands:
    accumulator = bool(fields["acc"])
    sources = []
    if "addr" in fields.registers:
        sources.append(data_operand(fields["addr"], fields.registers["addr"], accumulator=False))
    data = [
        data_operand(fields[field], fields.registers[field], accumulator=accumulator)
        for field in ("data0", "data1")
        if field in fields.registers
    ]
    destinations = []
    if "vdst" in fields.registers:
        destinations = [data_operand(fields["vdst"], fields.registers["vdst"], accumulator=accumulator)]
        if "_d16" in fields.name:
            data = [*data, destinations[0]]
    return tuple(destinations), (*sources, *data)


def _scalar_memory(fields: FieldValues) -> Operands:
    name = fields.name
    offset = _sgpr(fields["soffset"], 1) if fields["soffset_en"] else OFF
    if not fields["imm"] and not fields["soffset_en"]:
        offset = _sgpr(fields["offset"] & 0x7F, 1)
    data = _sgpr(fields["sdata"], fields.registers.get("sdata", 1))
    if name.startswith(("s_memtime", "s_memrealtime")):
        return (replace(data, count=2),), ()
    if name.startswith("s_dcache"):
        return (), ()
    base = _sgpr(2 * fields["sbase"], 4 if "buffer" in name else 2)
    if "_load_" in name:
        return (data,), (base, offset)
    return (), (base, offset, data)


def sdwa_of(fields: FieldValues) -> Sdwa:
    """Return the parts of the operands that an SDWA encoding selects."""
    numbers = [number for number in (0, 1) if f"src{number}" in fields or f"vsrc{number}" in fields]
    compares = "_SDST" in fields.form
    return Sdwa(
        destination=Select.DWORD if compares else Select(fields["dst_sel"]),
        unused=Unused.PAD if compares else Unused(fields["dst_unused"]),
        sources=tuple(Select(fields[f"src{number}_sel"]) for number in numbers),
        sext=tuple(bool(fields[f"src{number}_sext"]) for number in numbers),
    )
