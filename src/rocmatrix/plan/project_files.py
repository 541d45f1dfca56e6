"""What build.toml says against what lies on the disk, as pure functions of a listing of the project's folders.

The official parser looks at none of this. rocmatrix reads every file that a build may read before it builds, and says
in terms of build.toml what is not there, is a symbolic link, or is spelled in another case than on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import Compat
from rocmatrix.plan.manifest_fields import STRICTER
from rocmatrix.plan.manifest_model import Manifest
from rocmatrix.plan.matrix_model import KernelEntry
from rocmatrix.plan.text import nearest, quote


class Entry(StrEnum):
    """What lies under a name in a folder, links not followed."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a symbolic link"
    OTHER = "neither a file nor a folder"


Listing = Callable[[str], Mapping[str, Entry]]
"""From a folder, relative to the project with ``/`` and ``""`` for the project itself, to what lies in it; a folder
that is not there or cannot be read has nothing."""


def require_sources(manifest: Manifest, listing: Listing, where: str) -> None:
    """Refuse sources and include folders of what is built for ROCm that are not as build.toml says.

    Args:
        manifest: what build.toml says.
        listing: the project's folders.
        where: build.toml, for messages.

    Raises:
        InputError: the first path that is not there, is or goes through a symbolic link, differs from the disk in
            upper and lower case, or is a folder instead of a file (or the reverse).
    """
    for named in _declared(manifest, where):
        _require(named, listing)


def require_processors(manifest: Manifest, compat: Compat, where: str) -> None:
    """Refuse a gfx arch of build.toml that no LLVM knows: nothing can be compiled for it, ever.

    What AMD withdrew and what no ROCm is known to target are processors, and only warned about.

    Raises:
        InputError: with the processor that was probably meant.
    """
    named = [(f"kernel.{kernel.id}.rocm-archs", kernel.rocm_archs or ()) for kernel in manifest.rocm_kernels]
    named.append(("torch-noarch.rocm_archs", manifest.noarch_archs or ()))
    for key, archs in named:
        for number, arch in enumerate(archs):
            if compat.is_processor(arch.split(":", 1)[0]):
                continue
            close = nearest(arch, [row.name for row in compat.archs])
            meant = f"Did you mean {close}? " if close else ""
            what = f"{key}[{number}]: {quote(arch)} is no processor that any LLVM knows"
            raise InputError(what, where=where, fix=f"{meant}{STRICTER}")


def no_manifest(entry: KernelEntry, listing: Listing) -> InputError:
    """Return the error for a kernel without build.toml, with the folder that was probably meant.

    Args:
        entry: the kernel in matrix.yaml.
        listing: the folders below matrix.yaml's own.
    """
    parent, name = str(PurePosixPath(entry.path).parent), PurePosixPath(entry.path).name
    beside = [one for one, kind in listing("" if parent == "." else parent).items() if kind is not Entry.FILE]
    if name in beside or entry.path == ".":
        what, meant = f"the folder {quote(entry.path)} has no build.toml", ""
    else:
        close = nearest(name, beside)
        what = f"there is no folder {quote(entry.path)}"
        meant = f"Did you mean {quote(_joined('' if parent == '.' else parent, close))}? " if close else ""
    fix = f"{meant}A kernel is the folder of a kernel-builder project, relative to matrix.yaml."
    return InputError(f"{what}: {quote(f'{entry.path}/build.toml')} is not there", where=entry.where, fix=fix)


@dataclass(frozen=True, kw_only=True)
class _Named:
    """A path that build.toml names, the key that names it, and what should lie there."""

    key: str
    path: str
    wanted: Entry
    where: str

    def error(self, what: str, fix: str) -> InputError:
        return InputError(f"{self.key}: {what}", where=self.where, fix=fix)


def _declared(manifest: Manifest, where: str) -> Iterator[_Named]:
    """Yield everything that build.toml names for ROCm."""
    sections: list[tuple[str, Sequence[str], Sequence[str]]] = [
        (f"kernel.{kernel.id}", kernel.src, kernel.include or ()) for kernel in manifest.rocm_kernels
    ]
    if manifest.torch:
        sections.append(("torch", manifest.torch.src, manifest.torch.include or ()))
    for section, sources, include in sections:
        for name, paths, wanted in (("src", sources, Entry.FILE), ("include", include, Entry.FOLDER)):
            for number, path in enumerate(paths):
                yield _Named(key=f"{section}.{name}[{number}]", path=path, wanted=wanted, where=where)


def _require(named: _Named, listing: Listing) -> None:
    folder = ""
    parts = PurePosixPath(named.path).parts
    for number, name in enumerate(parts):
        entries, place = listing(folder), _joined(folder, name)
        wanted = named.wanted if number == len(parts) - 1 else Entry.FOLDER
        found = entries.get(name)
        if found is None:
            raise _missing(named, folder, name, entries)
        if found is Entry.LINK:
            what = f"{quote(named.path)}: {quote(place)} is a symbolic link"
            raise named.error(what, f"Put the file itself there, and name it. {STRICTER}")
        if found is not wanted:
            raise named.error(f"{quote(place)} is {found}", f"{wanted.capitalize()} belongs here.")
        folder = place


def _missing(named: _Named, folder: str, name: str, entries: Iterable[str]) -> InputError:
    if alike := next((entry for entry in entries if entry.casefold() == name.casefold()), None):
        what = f"{quote(named.path)}: the disk has {quote(_joined(folder, alike))}, in other upper and lower case"
        return named.error(what, f"Write it as on the disk: most file systems tell the two apart. {STRICTER}")
    place, close = _joined(folder, name), nearest(name, entries)
    beside = f"Did you mean {quote(_joined(folder, close))}? " if close else ""
    missing = f": {quote(place)}" if place != named.path else ""
    fix = f"{beside}Correct the path, or add what it names. {STRICTER}"
    return named.error(f"{quote(named.path)}{missing} is not there", fix)


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name
