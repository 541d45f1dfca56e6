"""Minor versions such as ``2.10``: checked, and compared as whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MINOR_PATTERN = r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})"

_MINOR = re.compile(MINOR_PATTERN)


def is_minor(text: str) -> bool:
    """Return whether a text is ``<major>.<minor>`` and nothing else: ASCII digits, no leading zeros."""
    return _MINOR.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def minor_key(text: str) -> tuple[int, int]:
    """Return the two numbers of a minor version, which compare as versions do: 7.2 < 7.14 < 10.0.

    Raises:
        ValueError: the text is not a minor version.
    """
    if not (found := _MINOR.fullmatch(text)):
        raise ValueError(f"{text!r} is not <major>.<minor>")
    return int(found[1]), int(found[2])


def display_key(text: str) -> tuple[int, int]:
    """Return what a version is shown by; a text that is none, which a damaged plan.json may hold, comes first."""
    return minor_key(text) if is_minor(text) else (-1, -1)


def in_order(versions: Iterable[str]) -> tuple[str, ...]:
    """Return minor versions once each, lowest first."""
    return tuple(sorted(set(versions), key=minor_key))
