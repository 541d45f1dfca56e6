"""The ``kernels`` client's digest of a variant, computed without the client.

``kernels._rust.Digest.hash_variant`` (0.17.2) is the reference; a test compares the two.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from rocmatrix.metadata import FileDigests, is_hashed


def hash_variant(folder: Path) -> FileDigests:
    """Return the digest block of a variant.

    Links to files count as files, links to folders do not; see ``is_hashed`` for what is left out besides.

    Raises:
        OSError: a file cannot be read.
    """
    paths = {path.relative_to(folder).as_posix(): path for path in _files(folder)}
    hashed = sorted((name, path) for name, path in paths.items() if is_hashed(name))
    return FileDigests(algorithm="sha256", files={name: _base64_sha256(path) for name, path in hashed})


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (path for name in names if (path := Path(parent, name)).is_file())


def _base64_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return base64.b64encode(hashlib.file_digest(stream, "sha256").digest()).decode("ascii")
