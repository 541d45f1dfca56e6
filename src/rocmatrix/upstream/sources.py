"""Which public indexes there are to ask: ``sources.toml``, or a file of the same form that the user names."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from urllib.parse import urlsplit

import msgspec

from rocmatrix.document import require_schema
from rocmatrix.errors import InputError
from rocmatrix.plan.text import quote

_SCHEMA = 1


class PageKind(StrEnum):
    """What a page lists; ``sources.toml`` says what each is."""

    TORCH_WHEELS = "torch-wheels"
    ROCM_PACKAGES = "rocm-packages"
    ROCM_FOLDERS = "rocm-folders"
    PROJECTS = "projects"
    TORCH_VERSIONS = "torch-versions"


@dataclass(frozen=True, kw_only=True)
class Source:
    """One index.

    Attributes:
        url: its page; ``None`` for what pip finds by its own configuration.
        stream: release stream of the ROCm releases that it lists.
    """

    name: str
    kind: PageKind
    date: str
    source: str
    verified: bool
    url: str | None = None
    stream: str | None = None


@dataclass(frozen=True, kw_only=True)
class _File:
    schema: int
    sources: tuple[Source, ...]


def shipped_sources() -> tuple[Source, ...]:
    """Return the indexes that come with this rocmatrix."""
    return read_sources(resources.files(__package__).joinpath("sources.toml").read_bytes(), "sources.toml")


def read_sources(content: bytes, where: str) -> tuple[Source, ...]:
    """Return the indexes that a file of the form of ``sources.toml`` names.

    Raises:
        InputError: it is not of this form, names none or one twice, or an address is not one of HTTP.
    """
    try:
        file = msgspec.convert(tomllib.loads(content.decode("utf-8")), _File)
    except (ValueError, msgspec.ValidationError) as err:  # not UTF-8, not TOML, or of another form
        fix = "Its form is that of rocmatrix/upstream/sources.toml."
        raise InputError(f"this is no file of sources: {ascii(str(err))[1:-1]}", where=where, fix=fix) from err
    require_schema(file.schema, _SCHEMA, where)
    if not file.sources:
        raise InputError("the file names no source", where=where, fix="Add a [[sources]] table.")
    names = [source.name for source in file.sources]
    for source in file.sources:
        if names.count(source.name) > 1:
            raise InputError(f"{quote(source.name)} names two sources", where=where, fix="Give each its own name.")
        _require_address(source, where)
    return file.sources


def _require_address(source: Source, where: str) -> None:
    if source.kind is PageKind.TORCH_VERSIONS:
        return
    address = urlsplit(source.url or "")
    if address.scheme not in {"http", "https"} or not address.hostname:
        what = f"{quote(source.name)}: {quote(source.url or '')} is not an address of HTTP"
        raise InputError(what, where=where, fix="Write e.g. https://host/path/")
    if address.username or address.password:
        what = f"{quote(source.name)}: its address carries credentials"
        raise InputError(what, where=where, fix="Put them into ~/.netrc: a file of sources is no place for secrets.")
