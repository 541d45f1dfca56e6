"""The build context: what an engine's builder sees of a recipe, the same bytes from every machine."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

from rocmatrix.errors import InputError
from rocmatrix.images.pins import PinSet
from rocmatrix.images.recipe_file import DOCKERFILE, PINS_FILE, RECIPE_FILE
from rocmatrix.input_file import read_input

CERTIFICATES = "certificates/extra.crt"
"""Certificates of the caller's site in PEM, empty if there are none: for stages that are not in the final image."""

PINS_FOLDER = "pins"
_OURS = (RECIPE_FILE, PINS_FILE, "README.md")
_MOST_FILES = 500
_LARGEST = 16 << 20


def read_context(folder: Path, sets: tuple[PinSet, ...]) -> dict[str, bytes]:
    """Return the files of a recipe and one file for each kind of pin; hidden files and what we read do not count.

    Raises:
        InputError: there is no Dockerfile, a file is not a regular one of the folder, too large, or there are too many.
    """
    if not (folder / DOCKERFILE).is_file():
        fix = "A recipe is a folder with Dockerfile and recipe.toml; docs/containers.md shows one."
        raise InputError("there is no Dockerfile", where=str(folder), fix=fix)
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if not path.is_dir()]
    kept = [name for name in names if name.as_posix() not in _OURS and not any(p.startswith(".") for p in name.parts)]
    if len(kept) > _MOST_FILES:
        fix = "Keep nothing but the recipe in its folder."
        raise InputError(f"the folder has {len(kept)} files, more than {_MOST_FILES}", where=str(folder), fix=fix)
    files: dict[str, bytes] = {}
    for name in kept:
        if name.parts[0] in (PINS_FOLDER, CERTIFICATES.partition("/")[0]):
            fix = f"Rename it: {PINS_FOLDER}/ and certificates/ of the build context are made by rocmatrix."
            raise InputError("this name is taken", where=str(folder / name), fix=fix)
        if not _is_within(folder / name, folder):  # a recipe's build has a network: it must not see a file of a home
            fix = "Put the file itself there."
            raise InputError("this is a link out of the recipe's folder", where=str(folder / name), fix=fix)
        files[name.as_posix()] = read_input(folder / name, largest=_LARGEST)
    for one in sets:
        path = f"{PINS_FOLDER}/{one.kind}"
        files[path] = files.get(path, b"") + one.lines()
    return files


def _is_within(path: Path, folder: Path) -> bool:
    real = Path(os.path.realpath(path))  # where links go round in circles, reading says so
    return real.is_relative_to(folder.resolve())


def pack(files: Mapping[str, bytes], certificates: bytes) -> bytes:
    """Return the context as a tar archive without names, times and owners of this machine."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in sorted({**files, CERTIFICATES: certificates}.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()
