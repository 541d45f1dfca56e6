"""Atomic changes of files and folders: the old state or the new one, never a part, whenever the process is killed.

A file is written beside its place, flushed to disk and renamed. A folder is renamed aside and the new one renamed in.
What a kill leaves behind carries one of two marks in its name, and ``recover`` puts it back or removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rocmatrix.errors import InputError

PARTIAL = ".partial-"
"""In the name of what is not finished."""

ASIDE = ".aside-"
"""In the name of what was renamed aside, after the name of its place."""


def recover(folders: Iterable[Path]) -> None:
    """Put back what was renamed aside and not replaced, and remove what was never finished.

    Only direct children of the folders are looked at: what lies further down belongs to others, whatever its name.
    """
    for path in [child for folder in folders if folder.is_dir() for child in folder.iterdir()]:
        place = path.with_name(path.name.partition(ASIDE)[0])
        if ASIDE in path.name and not place.exists():
            path.rename(place)
        elif ASIDE in path.name or PARTIAL in path.name:
            _remove(path)


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees its old content or its new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}{PARTIAL}", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.chmod(0o644)
        partial.rename(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_named(path: Path, content: bytes) -> None:
    """Write a file whose place the user named, as ``write_file`` does.

    Raises:
        InputError: it cannot be written there.
    """
    try:
        write_file(path, content)
    except OSError as err:
        raise InputError(
            f"the file cannot be written: {err.strerror}", where=str(path), fix="Name a folder that can be written to."
        ) from err


def replace_folder(place: Path, staged: Path) -> None:
    """Move a finished folder into a place, the old one renamed aside first and removed afterwards."""
    for path in staged.rglob("*"):
        if path.is_file() and not path.is_symlink():
            _sync_file(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    aside = _rename_aside(place)
    staged.rename(place)
    _sync_folder(place.parent)
    if aside:
        shutil.rmtree(aside)


def discard_folder(place: Path) -> None:
    """Remove a folder; a process killed midway leaves it whole or gone after ``recover``."""
    if place.is_dir():
        doomed = place.with_name(f"{place.name}{PARTIAL}doomed")
        shutil.rmtree(doomed, ignore_errors=True)
        place.rename(doomed)
        shutil.rmtree(doomed)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _rename_aside(place: Path) -> Path | None:
    if not place.exists():
        return None
    aside = place.with_name(f"{place.name}{ASIDE}{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    place.rename(aside)
    return aside


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    _sync_file(path)
