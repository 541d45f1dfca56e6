"""What the readers of binaries found: frozen values. Nothing here opens a file or judges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.binary.kernel_facts import Kernel


class UnreadableError(Exception):
    """A file is not what its place or its first bytes promise; the message is one sentence without the path."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DynamicSymbol:
    """A symbol that the loader resolves or offers.

    Attributes:
        defined: whether this file defines it; else the loader looks for it elsewhere.
        version: symbol version that is asked for, e.g. ``GLIBC_2.14``; ``None`` without one and for defined symbols.
        library: file that the version is asked of, e.g. ``libc.so.6``; ``None`` without a version.
        weak: whether the loader goes on without it (undefined), or takes another one first (defined).
    """

    name: str
    defined: bool
    version: str | None
    library: str | None = None
    weak: bool = False


@dataclass(frozen=True, kw_only=True)
class VersionNeed:
    """A version that the loader demands of a library before anything runs, e.g. ``GLIBC_2.14`` of ``libc.so.6``."""

    library: str
    version: str


class Relro(StrEnum):
    """How much of what the loader relocates becomes read-only before the program runs."""

    NONE = "none"
    PARTIAL = "partial"
    """Not the addresses of functions that are bound when they are first called."""
    FULL = "full"


class CxxRuntime(StrEnum):
    """A C++ runtime library that is linked with a shared object, statically or not."""

    LIBSTDCXX = "libstdc++"
    LIBCXX = "libc++"
    LIBCXXABI = "libc++abi"
    LIBGCC = "libgcc"
    LIBUNWIND = "libunwind"


@dataclass(frozen=True, kw_only=True)
class CxxSigns:
    """Signs of how a shared object came by its C++ runtime; exceptions cross libraries only if there is one of it.

    Attributes:
        defined: functions of the C++ ABI (throwing, catching, unwinding) that the file itself defines, sorted: local
            ones too where the file has a symbol table.
        undefined: those that it asks of other libraries, sorted.
        inside: runtimes whose own messages are in the file's bytes: what stripping does not remove.
        symbol_table: whether there was a symbol table to look for local functions in.
    """

    defined: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    inside: tuple[CxxRuntime, ...] = ()
    symbol_table: bool = False


@dataclass(frozen=True, kw_only=True)
class ElfFacts:
    """What the loader reads of a shared object, and what its makers left in it.

    Attributes:
        soname: ``DT_SONAME``; ``None`` without one.
        needed: ``DT_NEEDED`` in order.
        rpath: ``DT_RPATH``; ``None`` without one; likewise ``runpath``.
        symbols: the dynamic symbol table without local symbols, in its order.
        version_needs: all of ``DT_VERNEED``, whether a symbol uses them or not: the loader does not ask.
        build_id: hexadecimal digits of the GNU build id; ``None`` without one.
        executable_stack: whether the loader makes stacks executable for it: asked for, or nothing said about it.
        text_relocations: whether the loader has to write into code (``DT_TEXTREL``).
        relro: what is read-only after loading.
        cxx: how it came by its C++ runtime.
        comments: what compilers and linkers say of themselves in ``.comment``, in order, each once; empty where the
            section headers are gone.
    """

    soname: str | None
    needed: tuple[str, ...]
    rpath: str | None
    runpath: str | None
    symbols: tuple[DynamicSymbol, ...]
    version_needs: tuple[VersionNeed, ...]
    build_id: str | None = None
    executable_stack: bool = False
    text_relocations: bool = False
    relro: Relro = Relro.FULL
    cxx: CxxSigns = CxxSigns()
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CodeObject:
    """One entry of an offload bundle that is meant for a GPU, or a code object that lies in a file by itself.

    Attributes:
        entry: id of the entry, e.g. ``hipv4-amdgcn-amd-amdhsa--gfx942``; ``""`` without a bundle.
        arch: the processor that the id names, e.g. ``gfx942``; ``None`` if it names none.
        features: target features that the id names, e.g. ``("xnack+",)``; empty: good for any setting.
        size: bytes.
        elf_arch: the processor that the code object's own ELF flags name; ``None`` if they were not read.
        elf_features: features that its flags pin, as ``features``.
        version: code object version (3 to 6); ``None`` if it was not read.
        problem: why this is not a code object that can be loaded, one sentence; ``None`` if it is one.
        offset: bytes from the start of the file, or of the uncompressed bundle; ``None`` if it is not known.
        target: target id that its metadata names, e.g. ``amdgcn-amd-amdhsa--gfx942:sramecc+``; ``None`` without one.
        kernels: what its metadata says of its kernels, in order.
        metadata_problem: why the metadata could not be read, one sentence; ``None`` if it was.
    """

    entry: str
    arch: str | None
    features: tuple[str, ...]
    size: int
    elf_arch: str | None = None
    elf_features: tuple[str, ...] = ()
    version: int | None = None
    problem: str | None = None
    offset: int | None = None
    target: str | None = None
    kernels: tuple[Kernel, ...] = ()
    metadata_problem: str | None = None


class BundleKind(StrEnum):
    """What holds the code objects."""

    PLAIN = "offload bundle"
    COMPRESSED = "compressed offload bundle"
    PACKAGE = "offload package"
    """What clang makes with ``--offload-new-driver``."""


@dataclass(frozen=True, kw_only=True)
class Compression:
    """How a bundle is compressed: ``zlib`` or ``zstd``, version of the header, bytes before and after."""

    method: str
    version: int
    size: int
    uncompressed: int


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """An offload bundle: code objects of one translation unit.

    Attributes:
        offset: bytes from the start of the file.
        problem: why nothing in it could be read, one sentence; ``None`` if it was read.
        certain: whether this must be a bundle, going by its place; else its first bytes may be there by chance.
        kind: its format.
        compression: ``None`` if it is not compressed.
    """

    offset: int
    code_objects: tuple[CodeObject, ...] = ()
    problem: str | None = None
    certain: bool = True
    kind: BundleKind = BundleKind.PLAIN
    compression: Compression | None = None


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
