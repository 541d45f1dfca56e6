"""The token of the embedded Hub's user: the environment's, or one in a file that only its owner reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from rocmatrix.errors import InputError

VARIABLE = "ROCMATRIX_HUB_TOKEN"
_FILE = "token"
_SHORTEST, _LONGEST = 8, 1024


def token_of(folder: Path) -> tuple[str, str]:
    """Return the token and where it is; one is made where there is none.

    Args:
        folder: of the Hub.

    Raises:
        InputError: what is there is no token.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        token, source = named, VARIABLE
    else:
        path = folder / _FILE
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as stream:
                stream.write(f"hf_{secrets.token_urlsafe(24)}\n")
        token, source = path.read_text(encoding="utf-8").strip(), str(path)
    plain = token.isascii() and token.isprintable() and " " not in token
    if not plain or not _SHORTEST <= len(token) <= _LONGEST:
        raise InputError(
            f"this is no token: {_SHORTEST} to {_LONGEST} printable ASCII characters without spaces",
            where=source,
            fix="Remove it, and one is made.",
        )
    return token, source
