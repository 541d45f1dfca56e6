"""The token of the embedded Hub's user: the environment's, or one in a file that only its owner reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from rocmatrix.errors import InputError
from rocmatrix.hubserver.hub import unusable

VARIABLE = "ROCMATRIX_HUB_TOKEN"
_FILE = "token"
_SHORTEST, _LONGEST = 8, 1024


def token_of(folder: Path) -> tuple[str, str]:
    """Return the token and where it is; one is made where there is none.

    Args:
        folder: of the Hub.

    Raises:
        InputError: what is there is no token, or the folder cannot be used.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        token, source = named, VARIABLE
    else:
        path = folder / _FILE
        try:
            token, source = _kept(path), str(path)
        except OSError as err:
            raise unusable(folder, err) from err
    plain = token.isascii() and token.isprintable() and " " not in token
    if not plain or not _SHORTEST <= len(token) <= _LONGEST:
        raise InputError(
            f"this is no token: {_SHORTEST} to {_LONGEST} printable ASCII characters without spaces",
            where=source,
            fix="Remove it, and one is made.",
        )
    return token, source


def _kept(path: Path) -> str:
    """Return the token in a file, which is made if it is missing; only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_bytes().decode("ascii", "replace").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(f"hf_{secrets.token_urlsafe(24)}\n")
    return path.read_text(encoding="ascii").strip()
