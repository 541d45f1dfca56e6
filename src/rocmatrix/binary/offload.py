"""Reader of offload bundles: which GPUs a shared object holds machine code for, and what that code says itself.

clang puts the code objects of each HIP translation unit into a bundle, and the bundle into the ELF section
``.hip_fatbin`` of the host object. Bundles are found by their first bytes in whatever the loader maps, not by the name
of the section, so that stripped files and bundles embedded as data count too.

Layouts: ClangOffloadBundler ("Bundled Binary File Layout", "Compressed Offload Bundle Layout") and AMDGPUUsage ("ELF
Header") of LLVM's documentation. Compressed bundles are recognised and reported, not read.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator, Mapping

from rocmatrix.binary.elf import Header, read_header
from rocmatrix.binary.facts import Bundle, BundleEntry, CodeObject, UnreadableError

PLAIN_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
MAX_ENTRIES = 1024
"""Entries of one bundle; the largest known have about thirty."""
MAX_BUNDLES = 65_536
"""Bundles of one file: one for each translation unit."""
MAX_ID = 256
"""Bytes of an entry's id."""

_PAGE = 4096
"""clang aligns ``.hip_fatbin`` and the bundles in it to this many bytes."""
_GPU_ENTRY = re.compile(
    r"(?:hip|hipv4)-amdgcn-amd-amdhsa-(?:[a-z]*-)?(gfx[0-9a-z]+(?:-[0-9a-z-]*generic)?)((?::[a-z]+[+-])*)"
)
_HOST_KINDS = ("host-",)
_METHODS = {0: "zlib", 1: "zstd"}
_OSABI_HSA = 64
_FEATURE_MASKS = {"sramecc": (0xC00, {0x800: "-", 0xC00: "+"}), "xnack": (0x300, {0x200: "-", 0x300: "+"})}
"""EF_AMDGPU_FEATURE_*_V4: 0 unsupported, the lowest value any, then off and on."""


def read_bundles(data: bytes | mmap.mmap, header: Header, machines: Mapping[int, str]) -> tuple[Bundle, ...]:
    """Return the offload bundles in what the loader maps of a file, in their order.

    Args:
        data: the whole file.
        header: its header, for the segments.
        machines: machine number of a code object's ELF flags -> processor.

    Raises:
        UnreadableError: there are more bundles than ``MAX_BUNDLES``.
    """
    found: list[Bundle] = []
    for segment in header.segments:
        if segment.type != "PT_LOAD":
            continue
        place, end = segment.offset, segment.offset + segment.size
        while (hit := _next_magic(data, place, end)) is not None:
            aligned = (segment.address + hit - segment.offset) % _PAGE == 0
            bundle, place = _read_bundle(data, hit, end, machines, aligned=aligned)
            if bundle:
                found.append(bundle)
            if len(found) > MAX_BUNDLES:
                raise UnreadableError(f"the file holds more than {MAX_BUNDLES} offload bundles")
    return tuple(found)


def unbundle(data: bytes) -> tuple[BundleEntry, ...]:
    """Return the entries for GPUs of the plain bundle that data begins with; what follows it does not matter.

    Raises:
        UnreadableError: it is compressed, damaged or no bundle.
    """
    if data[:4] == COMPRESSED_MAGIC:
        raise UnreadableError("the offload bundle is compressed, and only plain ones are read")
    if not data.startswith(PLAIN_MAGIC):
        raise UnreadableError("this is not an offload bundle")
    try:
        entries = list(_entries(data, 0, len(data)))
    except struct.error as err:
        raise UnreadableError("the table of entries is cut off") from err
    return tuple(
        BundleEntry(target=target_of(entry), entry=entry, data=data[offset : offset + size])
        for entry, offset, size in entries
        if not entry.startswith(_HOST_KINDS)
    )


def target_of(entry: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the processor and the target features that an entry's id names; ``None`` if it names no GPU."""
    named = _GPU_ENTRY.fullmatch(entry)
    return (named[1], tuple(sorted(filter(None, named[2].split(":"))))) if named else None


def _next_magic(data: bytes | mmap.mmap, start: int, end: int) -> int | None:
    hits = [hit for magic in (PLAIN_MAGIC, COMPRESSED_MAGIC) if (hit := data.find(magic, start, end)) >= 0]
    return min(hits, default=None)


def _read_bundle(
    data: bytes | mmap.mmap, start: int, end: int, machines: Mapping[int, str], *, aligned: bool
) -> tuple[Bundle | None, int]:
    """Return the bundle at a place and where to look for the next one; ``None`` if it was only four equal letters."""
    if data[start : start + 4] == COMPRESSED_MAGIC:
        compressed = _compressed(data[start : min(start + 24, end)], end - start)
        if compressed is None:
            return None, start + 4
        what, size = compressed
        return Bundle(offset=start, problem=what), start + size
    try:
        entries = list(_entries(data, start, end))
    except (UnreadableError, struct.error) as err:
        what = str(err) if isinstance(err, UnreadableError) else "the table of entries is cut off"
        return Bundle(offset=start, problem=what, certain=aligned), start + len(PLAIN_MAGIC)
    objects = tuple(
        _code_object(entry, data[start + offset : start + offset + size], machines)
        for entry, offset, size in entries
        if not entry.startswith(_HOST_KINDS)
    )
    behind = max((start + offset + size for _, offset, size in entries), default=0)
    return Bundle(offset=start, code_objects=objects), max(behind, start + len(PLAIN_MAGIC))


def _entries(data: bytes | mmap.mmap, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """Give id, offset from the bundle's start and size of each entry of a plain bundle."""
    place = start + len(PLAIN_MAGIC)
    (count,) = struct.unpack("<Q", data[place : min(place + 8, end)])
    if not 0 < count <= MAX_ENTRIES:
        raise UnreadableError(f"the bundle claims {count} entries")
    place += 8
    for _ in range(count):
        offset, size, length = struct.unpack("<QQQ", data[place : min(place + 24, end)])
        place += 24
        name = data[place : min(place + length, end)] if length <= MAX_ID else b""
        if not name or len(name) != length or not name.isascii() or not name.decode().isprintable():
            raise UnreadableError("the id of an entry is damaged")
        place += length
        if start + offset + size > end:
            raise UnreadableError(f"the entry {name.decode()} reaches beyond the end of its segment")
        yield name.decode(), offset, size


def _compressed(head: bytes, available: int) -> tuple[str, int] | None:
    """Return what is to be said of a compressed bundle, and its size in bytes; ``None`` if this is none.

    Version 1 does not say how long it is; the search goes on behind its header.
    """
    sizes = {1: ("", 20), 2: ("<I", 24), 3: ("<Q", 32)}
    if len(head) < 16:  # noqa: PLR2004 - magic, version, method and the first size
        return None
    version, method = struct.unpack_from("<HH", head, 4)
    if version not in sizes or method not in _METHODS:
        return None
    layout, size = sizes[version]
    if layout:
        (claimed,) = struct.unpack_from(layout, head, 8)
        if not size <= claimed <= available:
            return None
        size = claimed
    return f"it is compressed ({_METHODS[method]}, version {version}), and this audit reads plain bundles only", size


def _code_object(entry: str, data: bytes, machines: Mapping[int, str]) -> CodeObject:
    """Return what an entry's id promises and what its ELF header says."""
    arch, features = target_of(entry) or (None, ())
    promised = CodeObject(entry=entry, arch=arch, features=features, size=len(data))
    if arch is None:
        return promised
    try:
        header = read_header(data)
    except UnreadableError as err:
        return _with_problem(promised, str(err) if data else "it is empty")
    if header.machine != "EM_AMDGPU" or header.os_abi != _OSABI_HSA:
        return _with_problem(promised, f"it is an ELF file for {header.machine}, not an AMD GPU code object")
    if header.type != "ET_DYN":
        return _with_problem(promised, f"it is {header.type}, not a linked code object")
    return CodeObject(
        entry=entry,
        arch=arch,
        features=features,
        size=len(data),
        elf_arch=machines.get(header.flags & 0xFF, f"machine {header.flags & 0xFF:#x}"),
        elf_features=_pinned_features(header),
        version=header.abi_version + 2,
    )


def _with_problem(promised: CodeObject, problem: str) -> CodeObject:
    return CodeObject(
        entry=promised.entry, arch=promised.arch, features=promised.features, size=promised.size, problem=problem
    )


def _pinned_features(header: Header) -> tuple[str, ...]:
    """Return the target features that the flags pin; before code object version 4 they say it otherwise."""
    if header.abi_version < 2:  # noqa: PLR2004 - ELFABIVERSION_AMDGPU_HSA_V4
        return ()
    pinned = ((name, values.get(header.flags & mask)) for name, (mask, values) in _FEATURE_MASKS.items())
    return tuple(f"{name}{setting}" for name, setting in pinned if setting)
