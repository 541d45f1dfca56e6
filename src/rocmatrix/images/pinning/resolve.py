"""All pins of a recipe resolved, and what came of each: confirmed, filled in, changed, or refused with the reason."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import zstandard
from msgspec import structs

from rocmatrix.errors import MissingRequirementError, RocmatrixError
from rocmatrix.images.pinning.bases import resolve_base
from rocmatrix.images.pinning.debs import read_archive
from rocmatrix.images.pinning.python_index import hashes_of
from rocmatrix.images.pinning.rpms import Rpm, newest, read_repository
from rocmatrix.images.pinning.web import Web
from rocmatrix.images.pins import PinKind
from rocmatrix.images.recipe_file import BaseEntry, PinsEntry, PinsFile

_DAMAGED = (lzma.LZMAError, zlib.error, zstandard.ZstdError)


class Outcome(StrEnum):
    """What came of a pin."""

    CONFIRMED = "confirmed"
    """The place has exactly this."""
    CHANGED = "changed"
    """It was filled in, or the place has another version by now; the file has the new one."""
    KEPT = "kept"
    """Nothing to ask: it is verified and names no place."""
    REFUSED = "refused"
    """The place cannot be reached, lacks it, or has other content under the same name."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """One pin; ``detail`` is what changed or why it was refused."""

    name: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How pins are asked for.

    Attributes:
        web: fetches.
        today: ``YYYY-MM-DD``, written to what was resolved.
        say: takes the name of each place before it is asked.
        upgrade: whether bases move to what their tags are now; else they stay where they are while that exists.
    """

    web: Web
    today: str
    say: Callable[[str], None]
    upgrade: bool = False


def resolve(pins: PinsFile, asking: Asking) -> tuple[PinsFile, tuple[Resolved, ...]]:
    """Ask for every pin, and return the file with the answers; what was refused stays as it was."""
    said: list[Resolved] = []
    bases = [_base(one, asking, said) for one in pins.bases]
    sets = [_set(one, asking, said) for one in pins.sets]
    return structs.replace(pins, bases=tuple(bases), sets=tuple(sets)), tuple(said)


def _base(base: BaseEntry, asking: Asking, said: list[Resolved]) -> BaseEntry:
    asking.say(base.reference)
    try:
        with _readable(base.reference):
            digest = resolve_base(asking.web, base.reference, None if asking.upgrade else base.digest)
    except RocmatrixError as err:
        said.append(Resolved(name=base.name, outcome=Outcome.REFUSED, detail=str(err)))
        return base
    said.append(_compared(base.name, {"digest": base.digest or ""}, {"digest": digest}))
    return structs.replace(base, digest=digest, source=_resolved_at(base.reference), date=asking.today, verified=True)


def _set(one: PinsEntry, asking: Asking, said: list[Resolved]) -> PinsEntry:
    if not one.address:
        detail = "names no place to ask" if one.verified else "is not verified and names no place to ask"
        said.append(Resolved(name=one.name, outcome=Outcome.KEPT if one.verified else Outcome.REFUSED, detail=detail))
        return one
    asking.say(one.address)
    try:
        with _readable(one.address):
            packages = _RESOLVERS[one.kind](one, asking.web)
    except RocmatrixError as err:
        said.append(Resolved(name=one.name, outcome=Outcome.REFUSED, detail=str(err)))
        return one
    said.append(_compared(one.name, one.packages, packages))
    source = _resolved_at(one.address)
    return structs.replace(one, packages=packages, source=source, date=asking.today, verified=True)


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Turn what is raised on an answer of another form, such as a portal's page for logging in, into one message."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError, *_DAMAGED) as err:
        raise MissingRequirementError(
            f"the answer cannot be read: {type(err).__name__}: {err}",
            where=place,
            fix="See what serves it: a proxy may answer with a page of its own, or the address be another service's.",
        ) from err


def _resolved_at(place: str) -> str:
    return f"resolved at {place}"


def _compared(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Resolved:
    changes = [f"{key}: {before.get(key) or 'none'} -> {now}" for key, now in after.items() if before.get(key) != now]
    outcome = Outcome.CHANGED if changes else Outcome.CONFIRMED
    return Resolved(name=name, outcome=outcome, detail="; ".join(changes))


def _rpm(one: PinsEntry, web: Web) -> dict[str, str]:
    """Return the set with the newest file of each package that has none, and every other one found with its SHA-256.

    Another content under a name that is pinned is never taken instead.
    """
    packages = read_repository(web, one.address)
    there = {package.file: package.sha256 for package in packages}
    named = {name: _file_of(packages, name, one) for name in one.packages if not one.packages[name]}
    pinned = {file: sha256 for file, sha256 in one.packages.items() if sha256}
    for file, sha256 in pinned.items():
        if file not in there:
            fix = "AMD may have moved this release: name where it is in pins.toml, or choose another."
            raise MissingRequirementError(f"the repository has no {file}", where=one.address, fix=fix)
        if there[file] != sha256:
            raise MissingRequirementError(
                f"{file} is not the file that was pinned: its SHA-256 is {there[file]}, pinned is {sha256}",
                where=one.address,
                fix="Do not use it before its publisher has explained it; then write the new SHA-256 into pins.toml.",
            )
    return dict(sorted({**pinned, **{package.file: package.sha256 for package in named.values()}}.items()))


def _file_of(packages: tuple[Rpm, ...], name: str, one: PinsEntry) -> Rpm:
    found = newest(packages, name)
    if found is None:
        fix = "Correct the name in pins.toml; a release may name its packages otherwise."
        raise MissingRequirementError(f"the repository has no {name}", where=one.address, fix=fix)
    return found


def _dnf(one: PinsEntry, web: Web) -> dict[str, str]:
    packages: list[Rpm] = [package for address in one.address.split() for package in read_repository(web, address)]
    return {name: _dnf_version(packages, name, version, one) for name, version in one.packages.items()}


def _dnf_version(packages: list[Rpm], name: str, version: str, one: PinsEntry) -> str:
    if any(package.name == name and "-".join(package.evr[1:]) == version for package in packages):
        return version
    found = newest(packages, name)
    if found is None:
        fix = "Correct the name in pins.toml, or add the repository that has it."
        raise MissingRequirementError(f"no repository has {name}", where=one.address, fix=fix)
    return "-".join(found.evr[1:])


def _apt(one: PinsEntry, web: Web) -> dict[str, str]:
    there = read_archive(web, one.address)
    if absent := [name for name in one.packages if name not in there]:
        fix = "Correct the name in pins.toml; packages of a suite come and go."
        raise MissingRequirementError(f"the archive has no {absent[0]}", where=one.address, fix=fix)
    return {name: there[name] for name in one.packages}


def _pip(one: PinsEntry, web: Web) -> dict[str, str]:
    versions = {name: version.split()[0] for name, version in one.packages.items()}
    hashes = {name: hashes_of(web, one.address, name, version) for name, version in versions.items()}
    return {
        name: " ".join([version, *(f"--hash=sha256:{sha}" for sha in hashes[name])])
        for name, version in versions.items()
    }


_RESOLVERS: Mapping[PinKind, Callable[[PinsEntry, Web], dict[str, str]]] = {
    PinKind.APT: _apt,
    PinKind.DNF: _dnf,
    PinKind.RPM: _rpm,
    PinKind.PIP: _pip,
    PinKind.PYPI: _pip,
}
