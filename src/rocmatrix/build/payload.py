"""The payload: what a variant holds, apart from metadata.json."""

from __future__ import annotations

from pathlib import Path

from rocmatrix import digest
from rocmatrix.build import ops_module
from rocmatrix.build.sources import Project
from rocmatrix.plan.extension import EXTENSION_SUFFIX, OPS_NAME
from rocmatrix.records import PayloadFile


def write_payload(project: Project, folder: Path, *, extension: str, library: Path | None) -> tuple[str, ...]:
    """Write the payload of a variant below a folder.

    The files of the module are taken that have one of the suffixes in ``pyext``, data among them; ``_ops.py`` is
    generated, and the shared object is added under the extension's name.

    Args:
        project: the kernel project.
        folder: where the payload goes; made here.
        extension: name of the extension without suffix.
        library: the shared object; ``None`` for noarch.

    Returns:
        The files of the module that were left out, relative to it.
    """
    folder.mkdir(parents=True)
    suffixes = tuple(f".{suffix}" for suffix in project.manifest.pyext)
    left_out = []
    for file in project.files:
        if not file.path.startswith(project.module_folder):
            continue
        name = file.path.removeprefix(project.module_folder)
        if not name.endswith(suffixes):
            left_out.append(name)
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    (folder / OPS_NAME).write_text(ops_module.text(extension, compiled=library is not None), encoding="utf-8")
    if library:
        place = folder / f"{extension}{EXTENSION_SUFFIX}"
        place.write_bytes(library.read_bytes())
        place.chmod(0o755)
    return tuple(left_out)


def list_files(folder: Path) -> tuple[PayloadFile, ...]:
    """Return what a payload holds, sorted by path."""
    found = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return tuple(PayloadFile(path=name, size=path.stat().st_size, digest=digest.of_file(path)) for name, path in found)
