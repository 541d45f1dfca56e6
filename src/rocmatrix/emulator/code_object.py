"""A code object: an ELF file with machine code, kernel descriptors and the metadata note."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import NoteSegment

from rocmatrix.emulator import descriptor as kernel_descriptor
from rocmatrix.emulator.descriptor import Descriptor, read_descriptor
from rocmatrix.emulator.metadata import KernelMetadata, read_metadata
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.errors import InputError

ARCH = "gfx942"
MACHINE = 0x4C
"""EF_AMDGPU_MACH_AMDGCN_GFX942."""
_OS_ABI_BYTE, _ABI_VERSION_BYTE = 7, 8
_OS_ABI_HSA = 64
_VERSIONS = {2: 4, 3: 5, 4: 6}
"""EI_ABIVERSION -> code object version."""
_DAMAGE = (ELFError, ValueError, IndexError, KeyError, AttributeError, TypeError, OverflowError)
"""What pyelftools raises on damaged files, beside what is raised here."""
_METADATA_NOTE = 32
_XNACK, _XNACK_ANY, _XNACK_ON = 0x300, 0x100, 0x300
"""EF_AMDGPU_FEATURE_XNACK_V4 and two of its values."""
_LARGEST_IMAGE = 1 << 31
"""Branches and relative addresses of gfx942 reach this far."""
_ABS64, _RELATIVE64 = 3, 13
"""R_AMDGPU_ABS64 and R_AMDGPU_RELATIVE64: what a linked code object may need at load."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Bytes that are loaded at an address relative to the image; the rest up to ``size`` is zero."""

    address: int
    size: int
    data: bytes
    writable: bool


@dataclass(frozen=True, kw_only=True)
class Relocation:
    """A 64-bit word of the image that becomes the image's address plus an offset."""

    address: int
    addend: int


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """One kernel: addresses are relative to the image."""

    name: str
    entry: int
    descriptor: Descriptor
    descriptor_address: int
    metadata: KernelMetadata


@dataclass(frozen=True, kw_only=True)
class CodeObject:
    """A loaded description of a code object.

    Attributes:
        where: the file, for messages.
        version: code object version, 4 to 6.
        segments: what is loaded, by address.
        relocations: what is patched after loading.
        kernels: by name.
        symbols: addresses of other global symbols by name: device variables.
        xnack: whether memory instructions may be replayed after a page fault: XNACK is on, or left open.
    """

    where: str
    version: int
    segments: tuple[Segment, ...]
    relocations: tuple[Relocation, ...]
    kernels: Mapping[str, Kernel]
    symbols: Mapping[str, int]
    xnack: bool = False

    def kernel(self, name: str) -> Kernel:
        """Return a kernel by its name.

        Raises:
            InputError: there is none of this name; the message lists those that there are.
        """
        if name in self.kernels:
            return self.kernels[name]
        known = ", ".join(sorted(self.kernels)) or "none"
        what = f"the code object has no kernel {name!r}"
        raise InputError(what, where=self.where, fix=f"Its kernels are: {known}.")


def read_code_object(data: bytes, where: str) -> CodeObject:
    """Read a bare code object for gfx942.

    Args:
        data: the whole ELF file.
        where: its name, for messages.

    Raises:
        InputError: it is not one, it is damaged, or it is for another GPU.
        UnsupportedError: it asks for something that is not modelled.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
        _check_header(elf, data, where)
        return _read(elf, data, where)
    except _DAMAGE as err:
        what = f"the code object cannot be read: {err or type(err).__name__}"
        raise InputError(what, where=where, fix="Build it again; the file is cut off or damaged.") from err


def _check_header(elf: ELFFile, data: bytes, where: str) -> None:
    fix = f"Give a code object for {ARCH}."
    if elf["e_machine"] != "EM_AMDGPU":
        raise InputError(f"it is an ELF file for {elf['e_machine']}, not GPU code", where=where, fix=fix)
    machine = elf["e_flags"] & 0xFF
    if machine != MACHINE:
        raise InputError(f"it is for another GPU (ELF machine {machine:#x}), not {ARCH}", where=where, fix=fix)
    if data[_OS_ABI_BYTE] != _OS_ABI_HSA or elf["e_type"] != "ET_DYN":
        raise InputError("it is not a linked code object for the HSA runtime", where=where, fix="Link it with ld.lld.")
    if data[_ABI_VERSION_BYTE] not in _VERSIONS:
        what = f"its code object ABI version is {data[_ABI_VERSION_BYTE]}"
        raise InputError(what, where=where, fix="Compile it as code object version 4, 5 or 6.")


def _read(elf: ELFFile, data: bytes, where: str) -> CodeObject:
    symbols = _symbols(elf)
    segments = tuple(_segments(elf, data))
    kernels = {}
    for metadata in read_metadata(_note(elf, where), where):
        address = symbols.get(metadata.symbol)
        if address is None:
            raise ValueError(f"the symbol {metadata.symbol} of kernel {metadata.name} is missing")
        descriptor = read_descriptor(_bytes_at(segments, address, kernel_descriptor.SIZE), metadata.name)
        kernels[metadata.name] = Kernel(
            name=metadata.name,
            entry=address + descriptor.entry_offset,
            descriptor=descriptor,
            descriptor_address=address,
            metadata=metadata,
        )
    return CodeObject(
        where=where,
        version=_VERSIONS[data[_ABI_VERSION_BYTE]],
        segments=segments,
        relocations=tuple(_relocations(elf, segments, where)),
        kernels=kernels,
        symbols=symbols,
        xnack=elf["e_flags"] & _XNACK in (_XNACK_ANY, _XNACK_ON),
    )


def _segments(elf: ELFFile, data: bytes) -> Iterator[Segment]:
    free = 0
    for segment in elf.iter_segments("PT_LOAD"):
        end = segment["p_offset"] + segment["p_filesz"]
        if end > len(data):
            raise ValueError(f"a segment ends at byte {end} of {len(data)}")
        if segment["p_memsz"] < segment["p_filesz"] or segment["p_vaddr"] < free:
            raise ValueError(f"the segment at {segment['p_vaddr']:#x} overlaps another or does not hold its bytes")
        free = segment["p_vaddr"] + segment["p_memsz"]
        if free > _LARGEST_IMAGE:
            raise ValueError(
                f"a segment ends at {free:#x}, beyond the {_LARGEST_IMAGE:#x} bytes that an image may have"
            )
        yield Segment(
            address=segment["p_vaddr"],
            size=segment["p_memsz"],
            data=data[segment["p_offset"] : end],
            writable=bool(segment["p_flags"] & 2),
        )


def _symbols(elf: ELFFile) -> dict[str, int]:
    table = elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        raise ValueError("it has no dynamic symbols")  # noqa: TRY004 - what is wrong is the file
    return {symbol.name: symbol["st_value"] for symbol in table.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"}


def _note(elf: ELFFile, where: str) -> bytes:
    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes() if isinstance(segment, NoteSegment) else ():
            if note["n_name"] == "AMDGPU" and note["n_type"] in (_METADATA_NOTE, "NT_AMDGPU_METADATA"):
                return note["n_descdata"]  # type: ignore[no-any-return]  # pyelftools is untyped
    raise InputError("it has no metadata note", where=where, fix="Give a code object that clang made.")


def _bytes_at(segments: tuple[Segment, ...], address: int, size: int) -> bytes:
    for segment in segments:
        start = address - segment.address
        if start >= 0 and start + size <= len(segment.data):
            return segment.data[start : start + size]
    raise ValueError(f"the address {address:#x} lies outside of what is loaded")


def _relocations(elf: ELFFile, segments: tuple[Segment, ...], where: str) -> Iterator[Relocation]:
    for section in elf.iter_sections():
        if not isinstance(section, RelocationSection) or not section.name.endswith(".dyn"):
            continue
        table = elf.get_section(section["sh_link"])
        if not isinstance(table, SymbolTableSection):
            raise ValueError("its relocations belong to no symbol table")  # noqa: TRY004 - what is wrong is the file
        for relocation in section.iter_relocations():
            kind, addend = relocation["r_info_type"], relocation["r_addend"]
            if kind == _ABS64:
                addend += table.get_symbol(relocation["r_info_sym"])["st_value"]
            elif kind != _RELATIVE64:
                raise UnsupportedError(f"relocations of type {kind} in {where}")
            place = relocation["r_offset"]
            if not any(segment.address <= place <= segment.address + segment.size - 8 for segment in segments):
                raise ValueError(f"a relocation at {place:#x} lies outside of what is loaded")
            yield Relocation(address=place, addend=addend)
