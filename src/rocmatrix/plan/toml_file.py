"""TOML as nodes: values with the path of keys that leads to them."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from typing import Self

from rocmatrix.errors import InputError
from rocmatrix.input_file import INPUT_LIMIT
from rocmatrix.plan.file_text import decode
from rocmatrix.plan.node import Kind, Node
from rocmatrix.plan.text import quote
from rocmatrix.plan.toml_problems import deepest_line, not_toml

_DEEPEST = 16
_NO_DEPTH = "Nothing here needs that depth."
_LONGEST_NUMBER = 10_000
"""Bits of a whole number that messages show in decimal digits; Python turns no more than 4,300 digits into a text."""

_MOST_VALUES = 50_000
"""Lines and commas together; the largest public build.toml has 3,439 sources."""

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[ \t]+')
_DOTTED = re.compile(r"[A-Za-z0-9_.-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,60}")


class _WrittenFloat(float):
    """A number that remembers how it was written, so that a message can say 2.10 and not 2.1."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


def read_toml(content: bytes, where: str) -> Node:
    """Return a TOML file as a node.

    Raises:
        InputError: the file is not UTF-8, not TOML, empty, or larger or deeper than anybody writes by hand.
    """
    text = decode(content, where, largest=INPUT_LIMIT)
    _require_modest(text, where)
    try:
        table = tomllib.loads(text.replace("\r\n", "\n"), parse_float=_WrittenFloat)
    except RecursionError as err:
        line = deepest_line(_unquoted(text), _DEEPEST)
        where = f"{where}:{line}" if line else where
        raise InputError(f"nested more than {_DEEPEST} deep", where=where, fix=_NO_DEPTH) from err
    except ValueError as err:  # TOMLDecodeError, or a number of thousands of digits
        raise not_toml(err, text, where) from err
    if not table:
        raise InputError("the file is empty", where=where, fix="Write it, or give the right file.")
    return _node(table, where=where, key="", depth=0)


def _require_modest(text: str, where: str) -> None:
    """Refuse what tomllib would take many seconds for: very many values, or dotted keys of very many parts.

    Raises:
        InputError: at the file.
    """
    if text.count("\n") + text.count(",") > _MOST_VALUES:
        raise InputError(f"more than {_MOST_VALUES} values", where=where, fix="Check that this is the right file.")
    if any(run.count(".") > _DEEPEST for run in _DOTTED.findall(_unquoted(text))):
        raise InputError(f"a key has more than {_DEEPEST} parts", where=where, fix=_NO_DEPTH)


def _unquoted(text: str) -> str:
    """Return a text without comments and blanks, and with an ``s`` for each string."""
    return _STRING.sub(lambda found: "s" if found[0][0] in "\"'" else "", text)


def _node(value: object, *, where: str, key: str, depth: int) -> Node:
    if depth > _DEEPEST:
        raise InputError(f"{key}: nested more than {_DEEPEST} deep", where=where, fix=_NO_DEPTH)
    if isinstance(value, dict):
        entries = {
            str(name): _node(inner, where=where, key=_path(key, str(name)), depth=depth + 1)
            for name, inner in value.items()
        }
        return Node(kind=Kind.MAPPING, where=where, key=key, entries=entries)
    if isinstance(value, list):
        items = [_node(inner, where=where, key=f"{key}[{n}]", depth=depth + 1) for n, inner in enumerate(value)]
        return Node(kind=Kind.LIST, where=where, key=key, items=tuple(items))
    kind = _scalar_kind(value)
    return Node(kind=kind, where=where, key=key, text=_text(value))


def _text(value: object) -> str:
    if isinstance(value, _WrittenFloat):
        return value.text
    if isinstance(value, bool):
        return str(value).lower()
    return hex(value) if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER else str(value)


def _scalar_kind(value: object) -> Kind:
    if isinstance(value, str):
        return Kind.STRING
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, int):
        return Kind.INTEGER
    if isinstance(value, float):
        return Kind.FLOAT
    if isinstance(value, dt.date | dt.time):
        return Kind.DATE
    raise TypeError(f"tomllib returned a {type(value).__name__}")


def _path(key: str, name: str) -> str:
    shown = name if _PLAIN.fullmatch(name) else quote(name)
    return f"{key}.{shown}" if key else shown
