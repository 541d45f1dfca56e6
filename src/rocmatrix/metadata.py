"""metadata.json: what the ``kernels`` client reads of a variant, with a block of our own.

The keys are those of the client's parser (``kernels`` 0.17.2, ``kernels._rust.Metadata``); it ignores top-level keys
that it does not know, which is where ``rocmatrix`` lives. Keys are written in kebab-case, optional ones are left out.
The classes are msgspec structs and not dataclasses because only those can be renamed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rocmatrix.digest import Digest
from rocmatrix.plan.model import UnitId
from rocmatrix.records import Isolation, Tested

METADATA_SCHEMA = 1
"""Version of our own block."""

METADATA_NAME = "metadata.json"
SIGNATURE_NAME = "metadata.json.sigstore"

_BYTECODE_FOLDER = "__pycache__"
_BYTECODE_SUFFIX = ".pyc"


def is_hashed(path: str) -> bool:
    """Return whether the client's digest covers a file of a variant (``kernels`` 0.17.2, compared by a test).

    All files count but the metadata and its signature at the top, and Python's bytecode.

    Args:
        path: relative to the variant, with ``/``.
    """
    if path in {METADATA_NAME, SIGNATURE_NAME}:
        return False
    return _BYTECODE_FOLDER not in path.split("/") and not path.endswith(_BYTECODE_SUFFIX)


class _Block(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """A JSON object with keys in kebab-case."""


class BackendInfo(_Block, frozen=True, kw_only=True):
    """What the variant runs on.

    Attributes:
        archs: gfx archs that every ROCm section of the kernel was compiled for, sorted; ``None`` for noarch. The client
            compares them with the device's own name, literally.
    """

    type: Literal["rocm"]
    archs: tuple[str, ...] | None = None


class KernelDependency(_Block, frozen=True, kw_only=True):
    """Another kernel that the client loads with this one, at a major version or at a revision."""

    repo_id: str
    version: int | None = None
    revision: str | None = None


class FileDigests(_Block, frozen=True, kw_only=True):
    """The client's digest of a variant: path with ``/`` -> base64 of the SHA-256 of the content."""

    algorithm: Literal["sha256"]
    files: dict[str, str]


class Builder(_Block, frozen=True, kw_only=True):
    """What made the variant, under the key that the client wants.

    Attributes:
        version: ``rocmatrix/<version>``. The client requires some text here and shows it; a bare number would read as a
            version of kernel-builder, which had no part in the build.
    """

    version: str


class GitState(_Block, frozen=True, kw_only=True):
    """The state of the git working tree that holds the kernel.

    Attributes:
        commit: ``HEAD``, 40 or 64 lower-case hexadecimal digits.
        dirty: whether the commit does not fully say which sources were built: a tracked file of the working tree was
            changed (what the client means by the word), or the kernel's folder holds a file that git neither tracks nor
            ignores.
    """

    commit: str
    dirty: bool


class Provenance(_Block, frozen=True, kw_only=True):
    """Where the variant comes from."""

    kernel_builder: Builder
    kernel: GitState


class TorchRange(_Block, frozen=True, kw_only=True):
    """The lowest and the highest torch minor that the plan served with a variant, e.g. ``2.10`` and ``2.14``."""

    min: str
    max: str


class ToolchainInfo(_Block, frozen=True, kw_only=True):
    """Which compilers made the variant; see ``rocmatrix.records.ToolchainIdentity``."""

    recipe: str
    description: str
    compilers: dict[str, str]
    recipe_digest: Digest


class HeadersInfo(_Block, frozen=True, kw_only=True):
    """Which torch headers the binding was compiled against.

    Which wheel they were read from is not said here but in the build's record: different wheels of one torch hold the
    same headers, and the same inputs give the same bytes.

    Attributes:
        torch: public version, without a local part such as ``+cpu``.
        headers_digest: of the files, names and contents.
    """

    torch: str
    headers_digest: Digest


class CheckInfo(_Block, frozen=True, kw_only=True):
    """How the numbers were checked: what executed the kernel, and on which device or why nothing did."""

    tested: Tested
    reason: str


class RocmatrixBlock(_Block, frozen=True, kw_only=True):
    """Our own block: its presence says that the variant is ours to replace.

    Attributes:
        schema: ``METADATA_SCHEMA``.
        version: the rocmatrix that wrote this file.
        unit: the unit that the variant was collected from.
        torch: what the plan served with it; ``None`` if it served no cell.
        toolchain: ``None`` for noarch; likewise ``headers``.
        isolation: where the build ran.
        checked: how the numbers were checked.
        inputs_digest: of everything that decided the payload's bytes.
        artifact_digest: of the payload: all files beside this one.
    """

    schema: int
    version: str
    unit: UnitId
    torch: TorchRange | None = None
    toolchain: ToolchainInfo | None = None
    headers: HeadersInfo | None = None
    isolation: Isolation
    checked: CheckInfo
    inputs_digest: Digest
    artifact_digest: Digest


class Metadata(_Block, frozen=True, kw_only=True):
    """The whole of metadata.json.

    Attributes:
        name: the kernel's name, with dashes.
        id: name of the extension: file stem, torch.ops namespace, key in ``sys.modules``.
        version: major version, the number of the Hub branch.
        python_depends: ids of the client's curated list.
        digest: of all files beside this one, as the client computes it.
        provenance: ``None`` if the sources are not in a git repository.
    """

    name: str
    id: str
    version: int
    license: str
    upstream: str | None = None
    source: str | None = None
    python_depends: tuple[str, ...]
    backend: BackendInfo
    kernel_depends: tuple[KernelDependency, ...]
    digest: FileDigests
    provenance: Provenance | None = None
    rocmatrix: RocmatrixBlock
