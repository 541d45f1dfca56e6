"""What readers found in a variant: frozen values that rules look at. Nothing here opens a file or judges.

The readers are ``elf``, ``offload`` and ``variant``; the rules are in ``rules``.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocmatrix.digest import Digest
from rocmatrix.plan.model import Abi
from rocmatrix.records import Finding, Outcome, PayloadFile, Severity


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
class Binary:
    """One shared object. ``path`` is relative to the variant, with ``/``."""

    path: str
    elf: ElfFacts
    bundles: tuple[Bundle, ...]


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A file that could not be read as what it should be, and why."""

    path: str
    what: str


@dataclass(frozen=True, kw_only=True)
class VariantFile:
    """A regular file of a variant: path relative to it with ``/``, bytes, and the two forms of its digest.

    Attributes:
        digest: SHA-256 as records write it.
        client_digest: algorithm of ``metadata.json`` -> base64 as the ``kernels`` client writes it.
    """

    path: str
    size: int
    digest: Digest
    client_digest: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class MetadataFacts:
    """What ``metadata.json`` says, as far as rules look at it; ``archs`` is empty where the key is absent."""

    name: str
    id: str
    archs: tuple[str, ...]
    algorithm: str | None
    digests: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class OpsFacts:
    """What ``_ops.py`` says.

    Attributes:
        imports: modules that it imports from its own package.
        namespaces: the ``torch.ops`` namespaces that it names, sorted.
    """

    imports: tuple[str, ...]
    namespaces: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class VariantFacts:
    """Everything that was read of a variant directory, or of a single shared object.

    Attributes:
        folder: whether this is a directory; a single shared object has no files, metadata or names around it.
        files: regular files that count for the client's digest.
        metadata: ``None`` if there is no ``metadata.json`` or it cannot be read.
        ops: ``None`` if there is no ``_ops.py`` or it cannot be read.
        strays: links out of the directory and things that are no files, as paths.
    """

    folder: bool
    files: tuple[VariantFile, ...] = ()
    binaries: tuple[Binary, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    metadata: MetadataFacts | None = None
    ops: OpsFacts | None = None
    strays: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a variant was promised to be. ``None`` means that nobody promised anything about that.

    Attributes:
        name: name of the kernel, with dashes.
        variant: name of the directory that the client loads.
        abi: what the binary is bound to.
        archs: gfx archs that must be there.
        hip_soname: the HIP runtime's SONAME in the ROCm of the variant.
        extension: name of the extension module, e.g. ``_gemm_rocm_1a2b3c4d``.
        files: what the build says it made.
    """

    name: str | None = None
    variant: str | None = None
    abi: Abi | None = None
    archs: tuple[str, ...] | None = None
    hip_soname: str | None = None
    extension: str | None = None
    files: tuple[PayloadFile, ...] | None = None

    @property
    def ours(self) -> bool:
        """Whether this is the payload of a build of ours, which becomes a variant only when it is collected."""
        return self.files is not None


def outcome(findings: tuple[Finding, ...]) -> Outcome:
    """Return how an audit with these findings ends: any error fails it."""
    failed = any(finding.severity is Severity.ERROR for finding in findings)
    return Outcome.FAILED if failed else Outcome.PASSED
