"""Digests of bytes, files, folders and documents: the identities that records compare.

Every digest is written as ``sha256:<64 hex digits>``, so that a reader never has to guess the algorithm.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NewType

Digest = NewType("Digest", str)
"""``sha256:`` followed by 64 lower-case hexadecimal digits."""

_PREFIX = "sha256:"


def of_bytes(data: bytes) -> Digest:
    """Return the digest of these bytes."""
    return Digest(_PREFIX + hashlib.sha256(data).hexdigest())


def of_file(path: Path) -> Digest:
    """Return the digest of a file's content, read in blocks.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        return Digest(_PREFIX + hashlib.file_digest(stream, "sha256").hexdigest())


def of_parts(parts: Iterable[tuple[str, bytes]]) -> Digest:
    """Return the digest of named byte strings, independent of their order.

    Each part is hashed on its own first, so that no choice of names and contents can imitate another list of parts.
    """
    lines = sorted(f"{hashlib.sha256(data).hexdigest()}  {json.dumps(name)}\n" for name, data in parts)
    return of_bytes("".join(lines).encode())


def of_folder(folder: Path) -> Digest:
    """Return the digest of all regular files below a folder: names relative to it, and contents.

    File modes and times do not count. Symbolic links to files are followed, those to folders are not, as by the
    ``kernels`` client.

    Raises:
        OSError: a file or folder cannot be read.
    """
    files = sorted(path for path in below(folder) if path.is_file())
    return of_named_files({path.relative_to(folder).as_posix(): path for path in files})


def below(folder: Path) -> Iterator[Path]:
    """Yield all files, folders and links below a folder, however deep; links are not followed.

    ``Path.rglob`` passes over a folder that cannot be read: a digest would be that of less than there is.

    Raises:
        OSError: a folder cannot be read.
    """
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))


def of_named_files(files: Mapping[str, Path]) -> Digest:
    """Return the digest of files under the names they are known by."""
    lines = sorted(f"{of_file(path).removeprefix(_PREFIX)}  {json.dumps(name)}\n" for name, path in files.items())
    return of_bytes("".join(lines).encode())


def canonical_json(document: object) -> bytes:
    """Return the one JSON text of a document made of dictionaries, lists, strings, numbers, booleans and ``None``."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
