"""The forms of recipe.toml and pins.toml, read from a recipe's folder with one clear message for what is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from rocmatrix.errors import InputError
from rocmatrix.images.pins import Base, PinKind, PinSet, Provenance
from rocmatrix.input_file import read_input
from rocmatrix.plan.text import allowed, quote

SCHEMA = 1
RECIPE_FILE = "recipe.toml"
PINS_FILE = "pins.toml"
DOCKERFILE = "Dockerfile"

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
_Absolute = Annotated[str, msgspec.Meta(pattern=r"^/[!-~]*$")]
_Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
_Minor = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+$")]
_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
_Package = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9+_.\[\],~^-]*$")]
_Version = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9+_.:~^= -]*$")]


class ToolPaths(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``tools`` of an image."""

    hipcc: _Absolute
    clang: _Absolute
    ninja: _Absolute
    python: _Absolute


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of ``expected-findings``."""

    rule: _Name
    match: _Text
    reason: _Text


class ImageEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """One entry of ``images``: arguments that choose it, and what it is."""

    args: dict[_Name, _Text] = {}
    hip: tuple[_Minor, ...] = ()
    base: _Name
    pins: tuple[_Name, ...] = ()
    build_gigabytes: Annotated[float, msgspec.Meta(gt=0, le=1000)]
    tools: ToolPaths
    environment: dict[_Name, str] = {}
    expected_findings: tuple[Finding, ...] = ()


class RecipeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``recipe.toml``."""

    schema: int
    description: _Text
    compiler: _Text
    releasable: bool
    images: Annotated[tuple[ImageEntry, ...], msgspec.Meta(min_length=1)]


class BaseEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of ``bases``."""

    name: _Name
    reference: _Text
    digest: _Sha256 | None = None
    source: _Text
    date: _Date
    verified: bool


class PinsEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of ``sets``."""

    name: _Name
    kind: PinKind
    address: str = ""
    source: _Text
    date: _Date
    verified: bool
    packages: Annotated[dict[_Package, _Version], msgspec.Meta(min_length=1)]


class PinsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``pins.toml``."""

    schema: int
    bases: tuple[BaseEntry, ...] = ()
    sets: tuple[PinsEntry, ...] = ()

    def base(self, name: str) -> Base | None:
        """Return the base of a name."""
        found = next((one for one in self.bases if one.name == name), None)
        if found is None:
            return None
        return Base(name=name, reference=found.reference, digest=found.digest, provenance=_provenance(found))

    def pin_set(self, name: str) -> PinSet | None:
        """Return the set of a name."""
        found = next((one for one in self.sets if one.name == name), None)
        if found is None:
            return None
        return PinSet(
            name=name,
            kind=found.kind,
            address=found.address,
            packages=dict(found.packages),
            provenance=_provenance(found),
        )


def _provenance(entry: BaseEntry | PinsEntry) -> Provenance:
    return Provenance(source=entry.source, date=entry.date, verified=entry.verified)


def read_recipe_file(folder: Path) -> RecipeFile:
    """Return the recipe.toml of a folder; raises ``InputError`` where there is none or it is not one."""
    return _read(folder / RECIPE_FILE, RecipeFile)


def read_pins_file(path: Path) -> PinsFile:
    """Return a pins.toml; raises ``InputError`` where it is not one or two entries have one name."""
    pins = _read(path, PinsFile)
    for entries in (pins.bases, pins.sets):
        names = [one.name for one in entries]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"{twice[0]!r} is there twice", where=str(path), fix="Give each entry a name of its own.")
    for one in pins.sets:
        if _USER_INFORMATION.search(one.address):  # not quoted: logs are read by more people than the file
            raise InputError(
                f"the address of the set {one.name!r} has a user name or password",
                where=str(path),
                fix="Leave out what is before the @: the file is shared, and builds keep addresses in the image's"
                " history. Name a mirror that asks for neither.",
            )
    return pins


_USER_INFORMATION = re.compile(r"//[^/?#\s]*@")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*?)`(?: - at `\$(?P<place>.*)`)?", re.DOTALL)
_T = TypeVar("_T", RecipeFile, PinsFile)


def _read(path: Path, kind: type[_T]) -> _T:
    fix = "docs/containers.md shows what belongs into it."
    if not path.exists():
        raise InputError(f"there is no {path.name}", where=str(path.parent), fix=f"Write it; {fix}")
    try:
        table = tomllib.loads(read_input(path).decode())
        made = msgspec.convert(table, kind)
    except UnicodeDecodeError as err:
        raise InputError(f"this is no UTF-8 text: {err.reason} at byte {err.start}", where=str(path), fix=fix) from err
    except tomllib.TOMLDecodeError as err:
        raise InputError(f"this is no TOML: {err}", where=str(path), fix=fix) from err
    except msgspec.ValidationError as err:
        raise _not_of_its_form(str(err), kind, str(path), fix) from err
    if made.schema != SCHEMA:
        raise InputError(f"schema is {made.schema}, and this rocmatrix reads {SCHEMA}", where=str(path), fix=fix)
    return made


def _not_of_its_form(problem: str, kind: type[RecipeFile | PinsFile], where: str, fix: str) -> InputError:
    """Return the error for what msgspec refused; of a key that there is not, the nearest that there is."""
    found = _UNKNOWN.fullmatch(problem)
    if found is None:
        return InputError(problem, where=where, fix=fix)
    place = re.sub(r"\[\.\.\.\]", "", found["place"] or "").lstrip(".")
    struct = _STRUCTS.get(re.sub(r"\[\d+\]", "", place), kind)
    advice = allowed(found["key"], struct.__struct_encode_fields__)
    return InputError(f"{place + ': ' if place else ''}there is no key {quote(found['key'])}", where=where, fix=advice)


_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "images": ImageEntry,
    "images.tools": ToolPaths,
    "images.expected-findings": Finding,
    "bases": BaseEntry,
    "sets": PinsEntry,
}
"""Which keys there are below each place of the two files."""
