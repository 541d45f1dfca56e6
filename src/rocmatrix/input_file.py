"""Reading files that users wrote: regular files of reasonable size, and one clear message for all else."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from rocmatrix.errors import InputError

INPUT_LIMIT = 1 << 20
"""Bytes of a file that are read at most where no other limit is named; the largest build.toml known in the wild has
552,430."""


def too_large(where: str, largest: int) -> InputError:
    """Return the error for a file of more than ``largest`` bytes, for the caller to raise."""
    fix = "Check that this is the file that was meant: nobody writes one of that size by hand."
    return InputError(f"the file is larger than {largest} bytes", where=where, fix=fix)


def read_input(path: Path, *, largest: int = INPUT_LIMIT) -> bytes:
    """Return the content of a regular file of at most ``largest`` bytes, without waiting on pipes.

    Raises:
        InputError: the path is missing, is no regular file, cannot be read, or the file is too large.
    """
    try:
        if path.is_dir():  # Python opens no stream on a folder
            raise InputError("this is a folder and not a regular file", where=str(path), fix="Name the file itself.")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InputError("this is not a regular file", where=str(path), fix="Name the file itself.")
            content = stream.read(largest + 1)
    except OSError as err:
        raise InputError(
            f"the file cannot be read: {err.strerror}", where=str(path), fix="Check the path, or name another file."
        ) from err
    if len(content) > largest:
        raise too_large(str(path), largest)
    return content


def read_input_or_stdin(path: Path, *, largest: int = INPUT_LIMIT) -> tuple[str, bytes]:
    """Return what to call an input, and its content: a file as ``read_input`` reads it, or ``-``, the standard input.

    Raises:
        InputError: as ``read_input``.
    """
    if str(path) != "-":
        return str(path), read_input(path, largest=largest)
    content = sys.stdin.buffer.read(largest + 1)
    if len(content) > largest:
        raise too_large("standard input", largest)
    return "standard input", content
