"""A commit by git: files through the filter of git-lfs, their objects on the server before the commit is."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from git.objects import Blob

from rocmatrix.release.git_files import LARGEST_POINTER, Pointer, belongs_into_lfs, read_pointer
from rocmatrix.release.git_program import ORIGIN, GitProgram
from rocmatrix.release.hub import Change
from rocmatrix.release.trees import ATTRIBUTES, HubFile, LocalFile, Tree

_BATCH = 100
"""LFS objects in one command: git-lfs 3.3 asks the server for as many at a time (``lfs.transfer.batchSize``)."""


def files_of(program: GitProgram, commit: str) -> Tree:
    """Return all files of a commit that is here."""
    files = {}
    for item in program.repo.commit(commit).tree.traverse():
        if isinstance(item, Blob):
            pointer = _pointer(item)
            files[str(item.path)] = HubFile(
                oid=item.hexsha,
                size=pointer.size if pointer else item.size,
                sha256=pointer.sha256 if pointer else None,
            )
    return files


def content_of(program: GitProgram, commit: str, path: str) -> bytes | None:
    """Return the bytes of a file of a commit that is here; ``None`` if they are in LFS, and not here."""
    blob = program.repo.commit(commit).tree / path
    content = bytes(blob.data_stream.read())
    return None if read_pointer(content) else content


def _pointer(blob: Blob) -> Pointer | None:
    return read_pointer(blob.data_stream.read()) if blob.size < LARGEST_POINTER else None


def make_commit(program: GitProgram, change: Change, parent: str) -> str:
    """Return a new commit on top of one that is here; nothing is pushed yet.

    Files are added by ``git add``, which runs the filter of git-lfs, and forced: a ``.gitignore`` hides nothing.

    Raises:
        OSError: a file cannot be read, or the disk is full.
    """
    clear(program)
    program.local("read-tree", parent)
    for path, file in change.additions.items():
        _write(program.folder / path, file)
    _track(program, change.additions)
    program.local("add", "--force", "--no-all", "--", ".")
    program.local_on(change.deletions, "update-index", "--force-remove")
    commit = program.local("commit-tree", program.local("write-tree"), "-p", parent, "-m", change.message)
    clear(program)
    return commit


def upload(program: GitProgram, commit: str, paths: Iterable[str]) -> None:
    """Bring the LFS objects of these files of a commit to the server; those that it has are not sent again."""
    tree = files_of(program, commit)
    wanted = sorted({sha256 for path in paths if path in tree and (sha256 := tree[path].sha256)})
    for first in range(0, len(wanted), _BATCH):
        program.network("lfs", "push", ORIGIN, "--object-id", *wanted[first : first + _BATCH])


def clear(program: GitProgram) -> None:
    """Empty the working tree; the index and the objects stay."""
    for path in program.folder.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _write(place: Path, file: LocalFile) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if file.source is not None:
        shutil.copyfile(file.source, place)
    else:
        place.write_bytes(file.content or b"")


def _track(program: GitProgram, paths: Iterable[str]) -> None:
    """Let ``.gitattributes`` name files that belong into LFS where no rule puts them there, as the Hub's API does."""
    large = [path for path in paths if path != ATTRIBUTES and belongs_into_lfs(program.folder / path)]
    missing = [path for path in large if not program.local("check-attr", "filter", "--", path).endswith(": lfs")]
    if not missing:
        return
    if not (program.folder / ATTRIBUTES).exists() and program.local("ls-files", "--", ATTRIBUTES):
        program.local("checkout-index", "--", ATTRIBUTES)
    for path in missing:
        program.local("lfs", "track", "--filename", path)
