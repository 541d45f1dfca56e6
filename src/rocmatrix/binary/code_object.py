"""Reader of code objects: what an ELF file for an AMD GPU says of itself, whichever gfx it is for.

Layouts: LLVM's AMDGPUUsage, "ELF Code Object".
"""

from __future__ import annotations

from dataclasses import replace

from rocmatrix.binary.facts import CodeObject, UnreadableError
from rocmatrix.binary.header import Header, read_header
from rocmatrix.binary.metadata import KIND, MAX_NOTE, OWNER, read_metadata
from rocmatrix.binary.notes import find_note
from rocmatrix.binary.reading import Reading
from rocmatrix.binary.window import Window

MACHINE = "EM_AMDGPU"
MACHINE_NUMBER = (224).to_bytes(2, "little")
"""EM_AMDGPU as it lies in the ELF header."""

_OSABI_HSA = 64
_METADATA_SINCE = 1
"""ELFABIVERSION_AMDGPU_HSA_V3: before it, metadata is YAML in another note."""
_FLAGS_SINCE = 2
"""ELFABIVERSION_AMDGPU_HSA_V4: before it, flags say features otherwise."""
_FEATURE_MASKS = {"sramecc": (0xC00, {0x800: "-", 0xC00: "+"}), "xnack": (0x300, {0x200: "-", 0x300: "+"})}
"""EF_AMDGPU_FEATURE_*_V4: 0 unsupported, the lowest value any, then off and on."""


def read_code_object(file: Window, promised: CodeObject, reading: Reading) -> CodeObject:
    """Return what a code object says of itself, on top of what its place says of it.

    Args:
        file: the code object.
        promised: what is known of it by its place: id of the entry, arch and features, size, offset.
        reading: how its file is read.
    """
    try:
        header = read_header(file)
    except UnreadableError as err:
        return replace(promised, problem=str(err) if file.size else "it is empty")
    if header.machine != MACHINE or header.os_abi != _OSABI_HSA:
        return replace(promised, problem=f"it is an ELF file for {header.machine}, not an AMD GPU code object")
    if header.type != "ET_DYN":
        return replace(promised, problem=f"it is {header.type}, not a linked code object")
    number = header.flags & 0xFF
    read = replace(
        promised,
        elf_arch=reading.machines.get(number, f"machine {number:#x}"),
        elf_features=_pinned_features(header),
        version=header.abi_version + 2,
    )
    try:
        read = _with_metadata(file, header, read, reading)
    except UnreadableError as err:
        return replace(read, metadata_problem=str(err))
    return reading.decoder.inspect(file, read) if reading.decoder.missing(read.elf_arch or "") is None else read


def _with_metadata(file: Window, header: Header, read: CodeObject, reading: Reading) -> CodeObject:
    if header.abi_version < _METADATA_SINCE:
        raise UnreadableError(f"metadata of code object version {read.version} is not read")
    note = find_note(file, header, OWNER, KIND, MAX_NOTE)
    if note is None:
        raise UnreadableError("there is no metadata note")
    reading.budget.metadata(len(note))
    metadata = read_metadata(note, read.elf_arch, reading)
    return replace(read, target=metadata.target or None, kernels=metadata.kernels)


def _pinned_features(header: Header) -> tuple[str, ...]:
    """Return the target features that the flags pin; before code object version 4 they say it otherwise."""
    if header.abi_version < _FLAGS_SINCE:
        return ()
    pinned = ((name, values.get(header.flags & mask)) for name, (mask, values) in _FEATURE_MASKS.items())
    return tuple(f"{name}{setting}" for name, setting in pinned if setting)
