r"""Text for people: sizes, times, and foreign text made harmless.

Compiler output, paths and reasons come from outside. Before they reach a terminal every control character in them is
written out (``\x1b``), so that a source file cannot move the cursor, hide a line or set a window title.
"""

from __future__ import annotations

import unicodedata

from rocmatrix.document import encodable as encodable  # noqa: PLC0414 - one of the ways to make text harmless

_KILO = 1000
_MINUTE = 60
_SHORT = 10
_KEPT = {"\n", "\t"}
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, invisible formatting (bidirectional overrides among them), lone surrogates, line and paragraph marks."""


def visible(text: str) -> str:
    """Return the text with every control character written out; line ends and tabs (as spaces) stay.

    So is a brace of ``${{``, which would be an expression where a message is pasted into a workflow.
    """
    lines = text.replace("\r\n", "\n").expandtabs(4).replace("${{", "$\\x7b{")
    return "".join(character if _harmless(character) else _written_out(character) for character in lines)


def one_line(text: str) -> str:
    """Return the text as one line: control characters written out, runs of white space as one space.

    What a GitHub Actions runner would take for a command is written out as well: ``##[`` anywhere, ``::`` in front.
    """
    line = visible(" ".join(text.split())).replace("##[", "##\\x5b")
    return f"\\x3a{line[1:]}" if line.startswith("::") else line


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


def _harmless(character: str) -> bool:
    return character in _KEPT or unicodedata.category(character) not in _HIDDEN_CATEGORIES


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
