"""Files of a commit, fetched anew: a fresh clone, and every LFS object checked by ``git lfs fsck``."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from rocmatrix.errors import ReleaseError
from rocmatrix.release.git_commit import files_of
from rocmatrix.release.git_files import exclusions
from rocmatrix.release.git_program import ORIGIN, GitProgram


def clone_files(program: GitProgram, commit: str, paths: Collection[str], folder: Path) -> None:
    """Fetch files of a commit to the same paths below a folder.

    Args:
        program: git in a new repository; nothing that was there before can stand in for what the server has.
        commit: on the server.
        paths: of files; those that the commit does not have are left out.
        folder: where they go.

    Raises:
        ReleaseError: an LFS object is not what its pointer says.
    """
    program.fetch(commit)
    program.local("checkout", "-q", "--detach", commit)
    tree = files_of(program, commit)
    wanted = [path for path in paths if path in tree]
    if any(tree[path].sha256 for path in wanted):
        others = exclusions(path for path, file in tree.items() if file.sha256 and path not in set(wanted))
        program.local("config", "lfs.fetchexclude", others)
        program.network("lfs", "pull", ORIGIN)
        _check_objects(program, commit)
    for path in wanted:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(program.folder / path, folder / path)


def _check_objects(program: GitProgram, commit: str) -> None:
    try:
        program.local("lfs", "fsck", "--objects", commit)
    except ReleaseError as err:
        raise ReleaseError(
            f"`git lfs fsck` of a fresh clone finds fault with {commit[:12]}: {err.what}",
            where=err.where,
            fix="Run the same release again; if it happens again, the server or what is before it is at fault.",
        ) from err
