"""What a build leaves: ``build.json``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.digest import Digest
from rocmatrix.plan.model import UnitId
from rocmatrix.records.common import RECORD_SCHEMA, Outcome


class Isolation(StrEnum):
    """Where a build ran: promise 5 of the design."""

    CONTAINER = "container"
    HOST = "host"


@dataclass(frozen=True, kw_only=True)
class ToolchainIdentity:
    """What a toolchain turned out to be once it was resolved.

    Attributes:
        recipe: as in the toolchain's spec.
        description: for people and for ``metadata.json``: which compiler, and whose it is.
        compilers: name of each tool -> its version, e.g. ``{"clang": "22.1.8", "ziglang": "0.17.1"}``.
        recipe_digest: digest of the recipe's own files (stub sources, headers, flags).
        image_digest: digest of the container image; ``None`` on the host.
    """

    recipe: str
    description: str
    compilers: dict[str, str]
    recipe_digest: Digest
    image_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class HeadersOrigin:
    """Where the torch headers of a build came from.

    Attributes:
        torch: version of the wheel, e.g. ``2.13.0`` (or with a local part, ``2.13.0+cpu``).
        wheel: file name of the wheel.
        wheel_digest: digest of the whole wheel as the package index states it, ``""`` if it states none; checked only
            when the whole wheel was fetched.
        headers_digest: digest of the header files that were used, names and contents.
        transferred: bytes fetched to get them; 0 when they came from the cache.
        how: ``range requests``, ``whole wheel``, ``local wheel`` or ``cache``.
        hip: ROCm minor as ``torch.version.hip`` of this wheel says it, e.g. ``7.2``; ``None`` if the wheel says none:
            then it is promised by compat.toml, not read, that a torch for the unit's ROCm has these headers.
    """

    torch: str
    wheel: str
    wheel_digest: str
    headers_digest: Digest
    transferred: int
    how: str
    hip: str | None = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One thing that was tried on a fresh build before it was accepted.

    Attributes:
        name: e.g. ``no-cxx-runtime-inside``, ``loads``, ``error-message``.
        passed: whether it held.
        detail: what was seen.
    """

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, kw_only=True)
class PayloadFile:
    """One file of a payload: path relative to it with ``/``, bytes, digest."""

    path: str
    size: int
    digest: Digest


@dataclass(frozen=True, kw_only=True)
class InputDigests:
    """The parts of a build's inputs, so that a later run can say which of them changed.

    Attributes:
        sources: build.toml and every file that the build may read.
        unit: what the plan asks for: variant, ABI, torch, ROCm, gfx archs.
        toolchain: the toolchain's identity; ``None`` for noarch, or if it could not be resolved.
        headers: the torch headers; ``None`` if the unit needs none.
        recipe: what rocmatrix itself adds: its recipe version, the C++ standard and the files that it generates.
    """

    sources: Digest
    unit: Digest
    toolchain: Digest | None
    headers: Digest | None
    recipe: Digest


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """``build.json``: how a payload was made, or why it was not.

    Attributes:
        inputs_digest: of everything that decides the payload's bytes: sources, unit, toolchain identity, headers,
            recipe.
        artifact_digest: of the payload folder; ``None`` if the build failed.
        uid: 8 hexadecimal digits that name the extension, and the namespace of its ops, in this kernel's variants.
        started: UTC, ISO 8601.
        seconds: wall time of the build.
        files: what the payload holds.
        error: the compiler's own first error with file and line, or the gate that failed; ``None`` if it passed.
        error_code: the exit code that this failure ends a run with (4 build, 3 environment); 0 if it passed.
        inputs: the parts that ``inputs_digest`` is made of; ``None`` if they are not known.
    """

    schema: int = RECORD_SCHEMA
    unit: UnitId
    inputs_digest: Digest
    artifact_digest: Digest | None
    outcome: Outcome
    rocmatrix: str
    uid: str
    toolchain: ToolchainIdentity | None
    isolation: Isolation
    headers: HeadersOrigin | None
    gates: tuple[Gate, ...]
    started: str
    seconds: float
    files: tuple[PayloadFile, ...]
    error: str | None = None
    error_code: int = 0
    inputs: InputDigests | None = None
