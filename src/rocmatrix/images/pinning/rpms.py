"""What a repository of RPM packages has: file names with their SHA-256, and the newest version of each name."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass

from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.pinning.unpacking import unpacked
from rocmatrix.images.pinning.web import Web

_REPO = "{http://linux.duke.edu/metadata/repo}"
_COMMON = "{http://linux.duke.edu/metadata/common}"
_ARCHS = ("x86_64", "noarch")


@dataclass(frozen=True, kw_only=True)
class Rpm:
    """One package of a repository; ``evr`` is epoch, version and release."""

    name: str
    evr: tuple[str, str, str]
    file: str
    sha256: str


def read_repository(web: Web, address: str) -> tuple[Rpm, ...]:
    """Return the packages of a repository for x86-64.

    Raises:
        MissingRequirementError: it cannot be reached, or its metadata is damaged or expired from a cache.
    """
    base = address.rstrip("/")
    listing = _parsed(web.get(f"{base}/repodata/repomd.xml"), base)
    entry = listing.find(f"{_REPO}data[@type='primary']")
    location = entry.find(f"{_REPO}location") if entry is not None else None
    checksum = entry.find(f"{_REPO}checksum") if entry is not None else None
    if location is None or checksum is None:
        raise _damaged(base, "repomd.xml names no list of packages")
    content = web.get(f"{base}/{location.get('href')}")
    if checksum.get("type") != "sha256" or hashlib.sha256(content).hexdigest() != checksum.text:
        raise _damaged(base, "the list of packages is not the one that repomd.xml names")
    return tuple(_packages(_parsed(unpacked(content, base), base)))


def newest(packages: Iterable[Rpm], name: str) -> Rpm | None:
    """Return the newest package of a name, or ``None`` if there is none."""
    found = [one for one in packages if one.name == name]
    return max(found, key=lambda one: tuple(map(_ordered, one.evr)), default=None)


def _packages(primary: ET.Element) -> Iterable[Rpm]:
    for package in primary.iter(f"{_COMMON}package"):
        version = package.find(f"{_COMMON}version")
        checksum = package.find(f"{_COMMON}checksum")
        location = package.find(f"{_COMMON}location")
        if version is None or checksum is None or location is None or checksum.get("type") != "sha256":
            continue
        if package.findtext(f"{_COMMON}arch") in _ARCHS:
            yield Rpm(
                name=package.findtext(f"{_COMMON}name") or "",
                evr=(version.get("epoch") or "0", version.get("ver") or "", version.get("rel") or ""),
                file=(location.get("href") or "").rpartition("/")[2],
                sha256=checksum.text or "",
            )


def _ordered(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that orders versions as RPM does: runs of digits as numbers, above runs of letters; ``~`` below all.

    https://rpm-software-management.github.io/rpm/man/rpm-version.7
    """
    rows: list[tuple[int, int, str]] = []
    for part in re.findall(r"\d+|[A-Za-z]+|~|\^", version):
        if part.isdigit():
            rows.append((3, int(part), ""))
        elif part == "~":
            rows.append((-1, 0, ""))
        else:
            rows.append((1, 0, "") if part == "^" else (2, 0, part))
    return (*rows, (0, 0, ""))


def _parsed(content: bytes, where: str) -> ET.Element:
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise _damaged(where, "its metadata has a document type, which no repository has")
    try:
        return ET.fromstring(content)  # noqa: S314 - without a document type there are no entities to expand
    except ET.ParseError as err:
        raise _damaged(where, f"its metadata is no XML: {err}") from err


def _damaged(where: str, what: str) -> MissingRequirementError:
    fix = "Try again; a proxy or mirror may hold files of two states."
    return MissingRequirementError(f"the repository cannot be read: {what}", where=where, fix=fix)
