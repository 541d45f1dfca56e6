"""Digests of output folders by name: what one job of a workflow tells later ones, so that nobody swaps a folder.

Artifacts of a workflow pass through a store that every job of the run may write to: a machine that only checks could
delete one and upload another under its name. Outputs of a job cannot be changed by another job. So a job that ran
before such a machine says what the folders were, and those who use them compare.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from rocmatrix import digest, document
from rocmatrix.digest import Digest
from rocmatrix.document import DocumentError
from rocmatrix.errors import InputError
from rocmatrix.plan.text import quote

NO_NAMES: Mapping[Path, str] = MappingProxyType({})
"""All are called as the last part of their path says."""


def digests_of(paths: Iterable[Path], names: Mapping[Path, str] = NO_NAMES) -> dict[str, Digest]:
    """Return the digest of each file or folder under its name.

    Args:
        paths: files and folders.
        names: what those of them are called whose name is not the last part of their path.

    Raises:
        InputError: a path is not there, has no name, is or holds what is neither file nor folder, or two have one name.
    """
    found: dict[str, Digest] = {}
    for path in paths:
        name = _name(path, names)
        if not os.path.lexists(path):
            raise InputError("there is no such file or folder", where=str(path), fix="Name what a job left.")
        if name in found:
            raise InputError(f"two of them are named {name}", where=str(path), fix="Name each of them once.")
        _require_files(path)
        found[name] = digest.of_folder(path) if path.is_dir() else digest.of_file(path)
    return found


def require_digests(paths: Iterable[Path], stated: Mapping[str, str], names: Mapping[Path, str] = NO_NAMES) -> None:
    """Refuse files and folders that are not what was stated of them; ``names`` as in ``digests_of``.

    Raises:
        InputError: nothing was stated of one, or the digests of some are others; all those are named.
    """
    others: list[tuple[Path, str]] = []
    for path in paths:
        (found,) = digests_of([path]).values()
        wanted = stated.get(_name(path, names))
        if wanted is None:
            what, fix = "no digest is stated for it", "It was not there when the digests were made: do not use it."
            raise InputError(what, where=str(path), fix=fix)
        if found != wanted:
            others.append((path, f"its digest is {found}, and {wanted} is stated"))
    if others:
        more = "".join(f"; so was {quote(_name(path, names))}" for path, _ in others[1:])
        what = f"it was replaced or changed: {others[0][1]}{more}"
        raise InputError(what, where=str(others[0][0]), fix="Do not use it; find out which job or machine wrote it.")


def require_all(paths: Iterable[Path], stated: Mapping[str, str], names: Mapping[Path, str] = NO_NAMES) -> None:
    """Refuse to go on without a file or folder that was stated: it would be missing without a word.

    ``names`` as in ``digests_of``.

    Raises:
        InputError: it names the first such one.
    """
    given = {_name(path, names) for path in paths}
    if lacking := sorted(name for name in stated if name not in given):
        more = f", nor are {len(lacking) - 1} more" if len(lacking) > 1 else ""
        what = f"{quote(lacking[0])} is stated and not here{more}"
        raise InputError(what, where="--digests", fix="Give every folder that was stated, or find out who removed it.")


def read_digests(text: bytes, where: str) -> dict[str, str]:
    """Return digests by name from their JSON, as ``rocmatrix digest`` writes it.

    Raises:
        InputError: the text is none.
    """
    try:
        return document.from_json(text, dict[str, str])
    except DocumentError as err:
        fix = "Hand over what `rocmatrix digest` wrote: one object of names and digests."
        raise InputError(f"these are no digests: {err}", where=where, fix=fix) from err


def _name(path: Path, names: Mapping[Path, str]) -> str:
    """Return what a path is called, one that ends in ``.`` or ``..`` too."""
    if path in names:
        return names[path]
    name = os.path.basename(os.path.abspath(path))  # noqa: PTH100, PTH119 - follows no link, which are to be refused
    if not name:
        raise InputError("this folder has no name", where=str(path), fix="Name what a job left.")
    return name


def _require_files(path: Path) -> None:
    """Refuse what is or holds a link, a pipe or a device: a digest of regular files alone would not speak of it."""
    for each in (path, *(digest.below(path) if path.is_dir() and not path.is_symlink() else ())):
        if each.is_symlink():
            raise InputError("this is a link, and no output folder has one", where=str(each), fix="Do not use it.")
        if not each.is_file() and not each.is_dir():
            said = "this is neither a file nor a folder, and no output folder has one"
            raise InputError(said, where=str(each), fix="Do not use it.")
