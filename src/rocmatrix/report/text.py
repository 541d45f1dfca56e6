"""Text for people: sizes, times, and foreign text made harmless."""

from __future__ import annotations

from rocmatrix.document import encodable as encodable  # noqa: PLC0414 - one of the ways to make text harmless
from rocmatrix.plain_text import one_line as one_line  # noqa: PLC0414 - as above
from rocmatrix.plain_text import visible as visible  # noqa: PLC0414 - as above

_KILO = 1000
_MINUTE = 60
_SHORT = 10


def size(count: int) -> str:
    """Return a number of bytes for people, in decimal units as disks and downloads are sold: ``3.4 MB``."""
    if count < _KILO:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= _KILO
        if value < _KILO - 0.5 or unit == "TB":
            return f"{value:.1f} {unit}"
    raise AssertionError("the last unit takes every size")


def duration(seconds: float) -> str:
    """Return seconds for people: ``0.4 s``, ``12 s``, ``3 min 05 s``, ``2 h 07 min``."""
    if seconds < _SHORT - 0.05:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    minutes, rest = divmod(whole, _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes:02} min"


def clock(seconds: float) -> str:
    """Return seconds in at most seven columns for tables: ``0.4 s``, ``12 s``, ``3:05``, ``2:07:00``."""
    whole = round(seconds)
    if whole < _MINUTE:
        return duration(seconds)
    minutes, rest = divmod(whole, _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 cell``, ``3 cells``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
