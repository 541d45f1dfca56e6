"""Files as git and git-lfs keep them: pointers, and which files belong into LFS. Pure but for reading a file's head."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*"
    rb"oid sha256:(?P<oid>[0-9a-f]{64})\nsize (?P<size>0|[1-9][0-9]{0,18})\n"
)
"""git-lfs, docs/spec.md."""
LARGEST_POINTER = 1024
"""Bytes; a pointer file is shorter (git-lfs, docs/spec.md)."""
_LARGE = 10 << 20
"""Bytes from which the Hub takes a file only in LFS (huggingface.co/docs/hub/repositories-getting-started)."""
_SAMPLE = 512
"""Bytes by which huggingface_hub 2.4.0 lets the Hub decide (``UploadInfo.sample``)."""
_PATTERN_CHARACTERS = frozenset("*?[]\\!#, ")


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """What a pointer file says: SHA-256 of the content in hexadecimal, and its size in bytes."""

    sha256: str
    size: int


def read_pointer(content: bytes) -> Pointer | None:
    """Return what a file says if it is a pointer file; ``None`` if it is a file like others."""
    match = _POINTER.fullmatch(content)
    return Pointer(sha256=match["oid"].decode("ascii"), size=int(match["size"])) if match else None


def belongs_into_lfs(path: Path) -> bool:
    """Whether a file on the disk is too large or too binary for git itself, as the Hub sees it.

    Raises:
        OSError: it cannot be read.
    """
    if path.stat().st_size > _LARGE:
        return True
    with path.open("rb") as stream:
        head = stream.read(_SAMPLE)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut at its end
    except UnicodeDecodeError:
        return True
    return b"\0" in head


def exclusions(paths: Iterable[str]) -> str:
    """Return ``lfs.fetchexclude`` for paths; one that a pattern cannot say is left out, and is fetched too."""
    return ",".join(f"/{path}" for path in paths if not _PATTERN_CHARACTERS & set(path))
