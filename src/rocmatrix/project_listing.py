"""The folders of a kernel project as ``plan.project_files`` asks for them: each read once, links not followed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rocmatrix.plan.project_files import Entry, Listing


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
