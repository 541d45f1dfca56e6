"""Pins: which base image and which versions a recipe takes, who said so, when, and whether it was tried.

A pin that nobody has resolved against the place it names is not verified; a release waits until it is
(``rocmatrix images pin``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})\Z")


class PinKind(StrEnum):
    """How the packages of a set are had; each kind is one file in the build context, ``pins/<kind>``."""

    APT = "apt"
    """Debian's packages, ``name=version``."""
    DNF = "dnf"
    """Packages of the distribution's own repositories, ``name-version``; a version that is not known is left out."""
    RPM = "rpm"
    """Files below an address, with their SHA-256; a package of which only the name is known has none."""
    PIP = "pip"
    """Python packages of an index of their own, ``name==version``, with hashes where they are known."""
    PYPI = "pypi"
    """Python packages of the index that pip is configured with, with hashes."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a pin comes from.

    Attributes:
        source: who says it.
        date: when that was read, ``YYYY-MM-DD`` or ``YYYY-MM``.
        verified: whether it was resolved against the place itself.
    """

    source: str
    date: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Base:
    """The image that a recipe begins with.

    Attributes:
        name: how recipe.toml names it.
        reference: ``registry/repository:tag``.
        digest: ``sha256:…`` of its manifest; ``None`` if it is not known.
    """

    name: str
    reference: str
    digest: str | None
    provenance: Provenance

    @property
    def pulled(self) -> str:
        """What the Dockerfile's ``FROM`` says: by digest where there is one."""
        if self.digest is None:
            return self.reference
        repository, _, tag = self.reference.rpartition(":")
        return f"{repository if repository and '/' not in tag else self.reference}@{self.digest}"

    @property
    def identity(self) -> str:
        """What a recipe digest holds of it."""
        return self.digest or self.reference


@dataclass(frozen=True, kw_only=True)
class PinSet:
    """Packages of one origin.

    Attributes:
        name: how recipe.toml names the set.
        address: repository or index; empty for what the base image or pip is configured with. Several repositories of
            ``PinKind.DNF`` are separated by spaces; of ``PinKind.APT`` it is ``URL SUITE COMPONENT``. For these two
            only ``rocmatrix images pin`` reads it.
        packages: version by name; for ``PinKind.RPM`` the SHA-256 by file name, or nothing by the name of a package.
    """

    name: str
    kind: PinKind
    address: str
    packages: dict[str, str]
    provenance: Provenance

    @property
    def unresolved(self) -> tuple[str, ...]:
        """Packages that cannot be installed yet: files are checked, and these have no checksum."""
        return tuple(name for name, sha256 in self.packages.items() if self.kind is PinKind.RPM and not sha256)

    def lines(self) -> bytes:
        """Return the set as the Dockerfile reads it, one package a line."""
        written = {
            PinKind.APT: "{name}={version}\n",
            PinKind.DNF: "{name}-{version}\n",
            PinKind.RPM: "{version}  {name}\n",
            PinKind.PIP: "{name}=={version}\n",
            PinKind.PYPI: "{name}=={version}\n",
        }[self.kind]
        rows = (
            written.format(name=name, version=version) if version else f"{name}\n"
            for name, version in sorted(self.packages.items())
        )
        return "".join(rows).encode()


def named_base(reference: str) -> Base:
    """Return the base that a user named, with its digest if the reference has one."""
    found = _DIGEST.search(reference)
    provenance = Provenance(source="named by the user", date="", verified=True)
    return Base(
        name=reference,
        reference=reference[: found.start()] if found else reference,
        digest=found[1] if found else None,
        provenance=provenance,
    )


def unverified(base: Base, sets: tuple[PinSet, ...]) -> tuple[str, ...]:
    """Return the names of the pins that nobody has resolved; a base without a digest is one of them."""
    odd = [] if base.provenance.verified and base.digest else [f"base {base.reference}"]
    return (*odd, *(f"{one.kind} packages {one.name}" for one in sets if not one.provenance.verified))
