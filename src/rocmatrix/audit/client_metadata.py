"""Whether the ``kernels`` client accepts a metadata.json: the keys that its parser demands, and their kinds.

The parser is Rust code inside of the client (0.17.2, ``kernels._rust.Metadata``); a test compares the two on mistakes
of every kind. It ignores keys that it does not know, and so does this.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

MAX_METADATA = 1 << 20
"""Bytes that are read at most."""

_Whole = Annotated[int, msgspec.Meta(ge=0)]
_Version = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][-a-z0-9]*[a-z0-9]$")]


class _Part(msgspec.Struct, rename="kebab"):
    """A JSON object with keys in kebab-case."""


class _Backend(_Part):
    type: Literal["cann", "cpu", "cuda", "metal", "neuron", "rocm", "tpu", "xpu"]
    archs: list[str] | None = None


class _Dependency(_Part):
    repo_id: str
    version: _Whole | None = None
    revision: str | None = None


class _Digest(_Part):
    algorithm: Literal["sha256", "sha512"]
    files: dict[str, str]


class _Builder(_Part):
    version: str


class _Provenance(_Part):
    kernel_builder: _Builder


class _Metadata(_Part):
    name: _Name
    id: str
    version: _Whole
    license: str
    python_depends: list[str]
    backend: _Backend
    kernel_depends: list[_Dependency] = []
    kernels_minver: _Version | None = None
    digest: _Digest | None = None
    provenance: _Provenance | None = None


def metadata_problem(path: Path) -> str | None:
    """Return why the client refuses a metadata.json, one sentence; ``None`` if it accepts it or cannot be read here."""
    try:
        with path.open("rb") as stream:
            read = msgspec.json.decode(stream.read(MAX_METADATA), type=_Metadata)
    except OSError:
        return None  # the reader of the variant has said so
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as err:
        return str(err)[:200]
    if any(one.version is None and one.revision is None for one in read.kernel_depends):
        return "a kernel in kernel-depends has neither a version nor a revision"
    return None
