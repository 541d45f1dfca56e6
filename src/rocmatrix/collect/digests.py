"""The ``kernels`` client's digest of a variant, computed without the client.

``kernels._rust.Digest.hash_variant`` (0.17.2) is the reference; a test compares the two.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from rocmatrix.metadata import METADATA_NAME, SIGNATURE_NAME, FileDigests

_NOT_HASHED_AT_THE_TOP = frozenset({METADATA_NAME, SIGNATURE_NAME})
_BYTECODE_FOLDER = "__pycache__"
_BYTECODE_SUFFIX = ".pyc"


def hash_variant(folder: Path) -> FileDigests:
    """Return the digest block of a variant.

    All regular files count, links to files included; links to folders, the metadata and its signature at the top and
    Python's bytecode do not.

    Raises:
        OSError: a file cannot be read.
    """
    files = sorted((path.relative_to(folder).as_posix(), path) for path in _hashed_files(folder))
    return FileDigests(algorithm="sha256", files={name: _base64_sha256(path) for name, path in files})


def _hashed_files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != _BYTECODE_FOLDER]
        at_the_top = Path(parent) == folder
        for name in names:
            path = Path(parent, name)
            excluded = name.endswith(_BYTECODE_SUFFIX) or (at_the_top and name in _NOT_HASHED_AT_THE_TOP)
            if not excluded and name != _BYTECODE_FOLDER and path.is_file():
                yield path


def _base64_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return base64.b64encode(hashlib.file_digest(stream, "sha256").digest()).decode("ascii")
