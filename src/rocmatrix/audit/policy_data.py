"""The parts of the policy that are read from data files with a layout of their own, as values."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

import msgspec

from rocmatrix.audit.content_facts import Fp8Flavour
from rocmatrix.plan.matrix_audit import MEGABYTE


@dataclass(frozen=True, kw_only=True)
class SecretFormat:
    """How one kind of credential looks.

    Attributes:
        name: of its kind.
        prefixes: what every one begins with.
        pattern: regular expression of a whole one, over bytes read as Latin-1.
        varied: different characters that it has at least.
        exceptions: documented examples, which are none.
    """

    name: str
    prefixes: tuple[str, ...]
    pattern: str
    varied: int
    exceptions: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class BuildRoot:
    """A folder in which sources are built, with ``/`` at the end; ``parts``: names that must follow in a path."""

    path: str
    parts: int


@dataclass(frozen=True, kw_only=True)
class BytesPolicy:
    """What must not be in the bytes of a file; the sources say where the formats and the folders come from."""

    secrets: tuple[SecretFormat, ...]
    secrets_source: str
    roots: tuple[BuildRoot, ...]
    roots_source: str


@dataclass(frozen=True, kw_only=True)
class Fp8Policy:
    """Which flavour of FP8 a processor reads, and type names of each as compilers mangle them, longest first.

    Attributes:
        archs: processor -> flavour.
        types: type name -> flavour.
        source: where the flavours come from.
    """

    archs: dict[str, Fp8Flavour]
    types: dict[str, Fp8Flavour]
    source: str


@dataclass(frozen=True, kw_only=True)
class ShimPolicy:
    """The C functions of torch's stable ABI: name -> torch minor whose headers first declare it.

    Attributes:
        newest: torch minor up to which they are known.
        oldest: torch minor that stands for itself and all before it.
    """

    since: dict[str, str]
    newest: str
    oldest: str
    source: str


@dataclass(frozen=True, kw_only=True)
class SizePolicy:
    """Bytes that a file and a variant may have."""

    file: int
    variant: int
    source: str


class _Secret(msgspec.Struct):
    name: str
    prefixes: tuple[str, ...]
    pattern: str
    varied: int
    exceptions: frozenset[str] = msgspec.field(default=frozenset(), name="except")


class _Source(msgspec.Struct):
    source: str


class _Root(msgspec.Struct):
    path: str
    parts: int


class _BytesFile(msgspec.Struct):
    secret: tuple[_Secret, ...]
    secrets: _Source
    root: tuple[_Root, ...]
    paths: _Source


class _Flavour(msgspec.Struct):
    name: Fp8Flavour
    archs: tuple[str, ...]
    source: str


class _Types(msgspec.Struct):
    flavour: Fp8Flavour
    names: tuple[str, ...]


class _Fp8File(msgspec.Struct):
    flavour: tuple[_Flavour, ...]
    type: tuple[_Types, ...]


class _Since(msgspec.Struct):
    torch: str
    names: tuple[str, ...]


class _ShimFile(msgspec.Struct):
    newest: str
    source: str
    since: tuple[_Since, ...]


class _Size(msgspec.Struct, rename="kebab"):
    file_mb: int
    variant_mb: int
    source: str


class _LimitsFile(msgspec.Struct):
    size: _Size


def bytes_policy(text: bytes) -> BytesPolicy:
    """Return what ``bytes.toml`` says."""
    read = msgspec.convert(tomllib.loads(text.decode()), type=_BytesFile)
    return BytesPolicy(
        secrets=tuple(
            SecretFormat(
                name=row.name,
                prefixes=row.prefixes,
                pattern=row.pattern,
                varied=row.varied,
                exceptions=row.exceptions,
            )
            for row in read.secret
        ),
        secrets_source=read.secrets.source,
        roots=tuple(BuildRoot(path=row.path, parts=row.parts) for row in read.root),
        roots_source=read.paths.source,
    )


def fp8_policy(text: bytes) -> Fp8Policy:
    """Return what ``fp8.toml`` says."""
    read = msgspec.convert(tomllib.loads(text.decode()), type=_Fp8File)
    types = {name: row.flavour for row in read.type for name in row.names}
    return Fp8Policy(
        archs={arch: row.name for row in read.flavour for arch in row.archs},
        types={name: types[name] for name in sorted(types, key=len, reverse=True)},
        source="; ".join(row.source for row in read.flavour),
    )


def shim_policy(text: bytes) -> ShimPolicy:
    """Return what ``torch_shim.toml`` says."""
    read = msgspec.convert(tomllib.loads(text.decode()), type=_ShimFile)
    return ShimPolicy(
        since={name: row.torch for row in read.since for name in row.names},
        newest=read.newest,
        oldest=read.since[0].torch,
        source=read.source,
    )


def size_policy(text: bytes) -> SizePolicy:
    """Return what ``limits.toml`` says of sizes."""
    size = msgspec.convert(tomllib.loads(text.decode()), type=_LimitsFile).size
    return SizePolicy(file=size.file_mb * MEGABYTE, variant=size.variant_mb * MEGABYTE, source=size.source)
