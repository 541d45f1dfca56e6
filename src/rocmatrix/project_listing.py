"""Kernel projects on the disk: matrix.yaml and build.toml read, held against what lies there, and planned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rocmatrix.input_file import read_input
from rocmatrix.plan.agreement import override_of, require_plan_of
from rocmatrix.plan.compat import Compat, load_compat
from rocmatrix.plan.manifest import Manifest, parse_manifest
from rocmatrix.plan.matrix import parse_matrix
from rocmatrix.plan.matrix_model import KernelEntry, Matrix
from rocmatrix.plan.model import Plan
from rocmatrix.plan.planner import make_plan
from rocmatrix.plan.project_files import Entry, Listing, no_manifest, require_processors, require_sources
from rocmatrix.plan.yaml_file import LARGEST_YAML


def read_matrix(path: Path) -> Matrix:
    """Return what the matrix.yaml at a path says; raises ``InputError`` if it cannot be read or is none."""
    return parse_matrix(read_input(path, largest=LARGEST_YAML), str(path))


def load_plan(matrix: Path, *, toolchain: str | None) -> Plan:
    """Read matrix.yaml and the build.toml of each kernel it names, and plan.

    Raises:
        InputError: a file is missing, is not what it should be, or promises what cannot be planned.
    """
    compat = load_compat()
    parsed = read_matrix(matrix)
    manifests = {entry.path: read_manifest(matrix.parent, entry, compat) for entry in parsed.kernels}
    return make_plan(parsed, manifests, compat, toolchain=toolchain)


def require_current_plan(plan: Plan, matrix: Path, *, where: str) -> None:
    """Refuse a plan that is not the one that matrix.yaml and build.toml of each kernel ask for now.

    Args:
        plan: from an output folder, with or without ``--toolchain``.
        matrix: path of matrix.yaml.
        where: the plan's file, for messages.

    Raises:
        InputError: they differ, or nothing can be planned.
    """
    require_plan_of(plan, load_plan(matrix, toolchain=override_of(plan)), where=where, matrix=str(matrix))


def read_manifest(root: Path, entry: KernelEntry, compat: Compat) -> Manifest:
    """Return the build.toml of a kernel that matrix.yaml names, if all that it says is so.

    Args:
        root: the folder of matrix.yaml.
        entry: the kernel.
        compat: what exists outside.

    Raises:
        InputError: it is not there or not what it should be, or a source or gfx arch that it names does not exist.
    """
    folder = root / entry.path
    path = folder / "build.toml"
    if not os.path.lexists(path):
        raise no_manifest(entry, folder_listing(root))
    manifest = parse_manifest(read_input(path), str(path))
    require_processors(manifest, compat, str(path))
    require_sources(manifest, folder_listing(folder), str(path))
    return manifest


def folder_listing(project: Path) -> Listing:
    """Return a listing of a project's folders; a folder that is not there or cannot be read has nothing in it."""

    @cache
    def listing(folder: str) -> Mapping[str, Entry]:
        try:
            with os.scandir(project / folder) as entries:
                return {entry.name: _kind(entry) for entry in entries}
        except OSError:  # the caller says that what it looks for is not there
            return {}

    return listing


def _kind(entry: os.DirEntry[str]) -> Entry:
    if entry.is_symlink():
        return Entry.LINK
    if entry.is_dir(follow_symlinks=False):
        return Entry.FOLDER
    return Entry.FILE if entry.is_file(follow_symlinks=False) else Entry.OTHER
