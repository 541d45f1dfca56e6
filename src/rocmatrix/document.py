"""JSON documents from frozen dataclasses and back, and their JSON Schemas.

Every file that stages hand to each other is one dataclass. This module is the only one that knows how they are written:
indented by two, keys in the order of the fields, a newline at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from rocmatrix.errors import InputError

T = TypeVar("T")


class DocumentError(ValueError):
    """A text is not the document it should be; the message says at which key."""


def to_json(document: object) -> bytes:
    """Return the JSON text of a dataclass."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def encodable(text: str) -> str:
    """Return the text without lone surrogates, which file names that are not UTF-8 bring and JSON cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def from_json(text: bytes, kind: type[T]) -> T:
    """Return the dataclass that a JSON text describes.

    Unknown keys are ignored, so that an older rocmatrix reads what a newer one wrote as long as ``schema`` agrees.

    Raises:
        DocumentError: the text is not JSON, a key is missing or a value has the wrong type.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as err:
        raise DocumentError(str(err)) from err
    except RecursionError as err:
        raise DocumentError("it is nested too deep") from err


def with_texts(document: T, change: Callable[[str], str]) -> T:
    """Return a dataclass in which every text is what a function makes of it; words of an enumeration have to stay."""
    return msgspec.convert(_changed(msgspec.to_builtins(document), change), type(document))


def to_builtins(document: object) -> object:
    """Return a dataclass as dictionaries, lists, strings and numbers, as its JSON text would hold them."""
    return msgspec.to_builtins(document)


def schema(kind: type) -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a dataclass."""
    made: dict[str, object] = msgspec.json.schema(kind)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def require_schema(found: int, expected: int, where: str) -> None:
    """Refuse a document whose ``schema`` number this rocmatrix does not know.

    Raises:
        InputError: the numbers differ.
    """
    if found != expected:
        raise InputError(
            f"schema {found} is not known, only {expected}",
            where=where,
            fix="Use the rocmatrix version that wrote the file, or make it anew.",
        )


def _changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _changed(each, change) for key, each in value.items()}
    return [_changed(each, change) for each in value] if isinstance(value, list | tuple) else value
