"""What the readers of binaries found: frozen values. Nothing here opens a file or judges."""

from __future__ import annotations

from dataclasses import dataclass


class UnreadableError(Exception):
    """A file is not what its place or its first bytes promise; the message is one sentence without the path."""


@dataclass(frozen=True, kw_only=True)
class DynamicSymbol:
    """A symbol that the loader resolves or offers.

    Attributes:
        defined: whether this file defines it; else the loader looks for it elsewhere.
        version: symbol version that is asked for, e.g. ``GLIBC_2.14``; ``None`` without one and for defined symbols.
    """

    name: str
    defined: bool
    version: str | None


@dataclass(frozen=True, kw_only=True)
class VersionNeed:
    """A version that the loader demands of a library before anything runs, e.g. ``GLIBC_2.14`` of ``libc.so.6``."""

    library: str
    version: str


@dataclass(frozen=True, kw_only=True)
class ElfFacts:
    """What the loader reads of a shared object.

    Attributes:
        soname: ``DT_SONAME``; ``None`` without one.
        needed: ``DT_NEEDED`` in order.
        rpath: ``DT_RPATH``; ``None`` without one; likewise ``runpath``.
        symbols: the dynamic symbol table without local symbols, in its order.
        version_needs: all of ``DT_VERNEED``, whether a symbol uses them or not: the loader does not ask.
    """

    soname: str | None
    needed: tuple[str, ...]
    rpath: str | None
    runpath: str | None
    symbols: tuple[DynamicSymbol, ...]
    version_needs: tuple[VersionNeed, ...]


@dataclass(frozen=True, kw_only=True)
class CodeObject:
    """One entry of an offload bundle that is meant for a GPU.

    Attributes:
        entry: id of the entry, e.g. ``hipv4-amdgcn-amd-amdhsa--gfx942``.
        arch: the processor that the id names, e.g. ``gfx942``; ``None`` if it names none.
        features: target features that the id names, e.g. ``("xnack+",)``; empty: good for any setting.
        size: bytes.
        elf_arch: the processor that the code object's own ELF flags name; ``None`` if they were not read.
        elf_features: features that its flags pin, as ``features``.
        version: code object version (3 to 6); ``None`` if it was not read.
        problem: why this is not a code object that can be loaded, one sentence; ``None`` if it is one.
    """

    entry: str
    arch: str | None
    features: tuple[str, ...]
    size: int
    elf_arch: str | None = None
    elf_features: tuple[str, ...] = ()
    version: int | None = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """An offload bundle: code objects of one translation unit.

    Attributes:
        offset: bytes from the start of the file.
        problem: why nothing in it could be read, one sentence; ``None`` if it was read.
        certain: whether this must be a bundle, going by its place; else its first bytes may be there by chance.
    """

    offset: int
    code_objects: tuple[CodeObject, ...] = ()
    problem: str | None = None
    certain: bool = True


@dataclass(frozen=True, kw_only=True)
class BundleEntry:
    """The code object of one GPU in an offload bundle.

    Attributes:
        entry: id of the entry, e.g. ``hipv4-amdgcn-amd-amdhsa--gfx942``.
        target: the processor and the target features that the id names; ``None`` if it names no GPU.
        data: the code object.
    """

    entry: str
    target: tuple[str, tuple[str, ...]] | None
    data: bytes
