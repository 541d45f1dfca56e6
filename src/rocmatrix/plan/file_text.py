"""The text of a user's file: UTF-8, of a size that a person would write, without characters that no editor shows."""

from __future__ import annotations

from rocmatrix.errors import InputError
from rocmatrix.input_file import too_large


def decode(content: bytes, where: str, *, largest: int) -> str:
    """Return the text of a file; a byte order mark and either kind of line end are accepted.

    Raises:
        InputError: the file is larger than ``largest`` bytes, is not UTF-8 or contains a NUL.
    """
    if len(content) > largest:
        raise too_large(where, largest)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = content.count(b"\n", 0, err.start) + 1
        raise InputError(
            f"the file is not UTF-8: byte 0x{content[err.start]:02x} at offset {err.start}",
            where=f"{where}:{line}",
            fix="Save the file as UTF-8.",
        ) from err
    if (position := text.find("\0")) >= 0:
        line = text.count("\n", 0, position) + 1
        raise InputError("the file contains a NUL character", where=f"{where}:{line}", fix="Remove it.")
    return text
