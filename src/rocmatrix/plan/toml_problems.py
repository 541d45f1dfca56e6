"""What is wrong with a file that is no TOML, in words about the file and not about the parser that met it."""

from __future__ import annotations

import re

from rocmatrix.errors import InputError
from rocmatrix.plan.text import quote

_POSITION = re.compile(r"(.*) \(at (?:line ([0-9]+), column [0-9]+|end of document)\)", re.DOTALL)
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_.-]|"[^"\n]*"|'[^'\n]*')+)\s*=""")
_TABLE = re.compile(r"\s*(\[[^\[\]\n]+\]|\[\[[^\[\]\n]+\]\])\s*(?:#.*)?")
_INLINE_KEY = re.compile(r"Duplicate inline table key '(.*)'", re.DOTALL)
_LONG_NUMBER = re.compile(r"(?<![\w\"'])[0-9][0-9_]{3999,}")
_BRACKET = re.compile(r"[\[{\]}\n]")


def not_toml(err: ValueError, text: str, where: str) -> InputError:
    """Return the error for what tomllib refused, for the caller to raise.

    Args:
        err: what it said: a ``TOMLDecodeError``, or a ``ValueError`` for a number of thousands of digits.
        text: the file.
        where: its name, for the message.
    """
    found = _POSITION.fullmatch(str(err))
    lines = text.rstrip().split("\n")
    if found is None:
        number = _LONG_NUMBER.search(text)
        line = f":{text.count(chr(10), 0, number.start()) + 1}" if number else ""
        fix = "Check it: the numbers of this file are small."
        return InputError("this is not TOML: a number has thousands of digits", where=where + line, fix=fix)
    position = int(found[2]) if found[2] else len(lines)
    where = f"{where}:{position}"
    if twice := _twice(found[1], lines[:position]):
        return InputError(f"this is not TOML: {twice} is there twice", where=where, fix="Remove one, or rename it.")
    return InputError(f"this is not TOML: {ascii(found[1])[1:-1]}", where=where, fix="Correct the line.")


def deepest_line(bare: str, deepest: int) -> int | None:
    """Return the first line in which more than ``deepest`` brackets are open.

    Args:
        bare: the text of the file without what is quoted.
        deepest: how many may be open.
    """
    line, depth = 1, 0
    for found in _BRACKET.finditer(bare):
        if found[0] == "\n":
            line += 1
        else:
            depth += 1 if found[0] in "[{" else -1
        if depth > deepest:
            return line
    return None


def _twice(problem: str, lines: list[str]) -> str | None:
    """Return what a problem of the last of these lines says is there twice, ``None`` if it says something else."""
    if inline := _INLINE_KEY.fullmatch(problem):
        return f"the key {quote(inline[1])}"
    declared = problem.startswith("Cannot declare") or problem == "Cannot overwrite a value"
    if declared and (table := _TABLE.fullmatch(lines[-1])):
        return f"the table {quote(table[1])}"
    if problem == "Cannot overwrite a value":  # said where the value ends, which may be lines after its key
        key = next((found for line in reversed(lines) if (found := _KEY.match(line))), None)
        return f"the key {quote(key[1])}" if key else None
    return None
