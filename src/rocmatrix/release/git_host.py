"""A Hub, or any host of git and git-lfs, by git alone: GitPython and git-lfs, with time limits, nothing repeated."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rocmatrix.errors import ReleaseError
from rocmatrix.release.credentials import Credential
from rocmatrix.release.git_clone import clone_files
from rocmatrix.release.git_commit import clear, content_of, files_of, make_commit, upload
from rocmatrix.release.git_credential import CredentialHelper
from rocmatrix.release.git_program import (
    ORIGIN,
    AbsentError,
    GitProgram,
    Host,
    TimeLimits,
    require_programs,
)
from rocmatrix.release.hub import Change, MovedError, References
from rocmatrix.release.trees import Tree

_HEADS, _TAGS, _PEELED = "refs/heads/", "refs/tags/", "^{}"
_MAIN = "main"


class GitHost:
    """Implements ``Hub`` by git and git-lfs.

    It works in a folder of its own, which ``close`` removes: a repository that commits are made in, and a fresh one for
    each download.
    """

    def __init__(self, base: str, credential: Credential, limits: TimeLimits | None = None) -> None:
        """Keep address and credential; nothing is asked yet.

        Args:
            base: address below which repositories lie as ``namespace/name``.
            credential: for it.
            limits: of time.

        Raises:
            MissingRequirementError: git-lfs is not installed.
        """
        require_programs()
        self._base = base.rstrip("/")
        self._credential = credential
        self._limits = limits or TimeLimits()
        self._helper = CredentialHelper(self._base, credential)
        self._folder = Path(tempfile.mkdtemp(prefix="rocmatrix-git-"))
        self._programs: dict[str, GitProgram] = {}
        self._made: list[tuple[Change, str, str]] = []
        self._numbers = itertools.count()

    @property
    def name(self) -> str:
        """Its address."""
        return self._base

    def close(self) -> None:
        """Forget the credential, and remove what was written on this machine."""
        for program in self._programs.values():
            program.close()
        self._programs.clear()
        self._helper.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # -- branches and tags ---------------------------------------------------------------------------------------

    def references(self, repository: str) -> References | None:
        """Return branches and tags; ``None`` if there is no such repository."""
        try:
            rows = self._program(repository).network("ls-remote", "--heads", "--tags", ORIGIN).splitlines()
        except AbsentError:
            return None
        found = {name: commit for commit, _, name in (row.partition("\t") for row in rows)}
        tags = {name.removeprefix(_TAGS): commit for name, commit in found.items() if name.startswith(_TAGS)}
        peeled = {name.removesuffix(_PEELED): commit for name, commit in tags.items() if name.endswith(_PEELED)}
        return References(
            branches={name.removeprefix(_HEADS): at for name, at in found.items() if name.startswith(_HEADS)},
            tags={name: peeled.get(name, commit) for name, commit in tags.items() if not name.endswith(_PEELED)},
        )

    def create_repository(self, repository: str) -> None:
        """Give an empty repository its branch ``main``; git cannot make the repository itself."""
        program = self._program(repository)
        with _mended(repository):
            program.network("ls-remote", ORIGIN)
            clear(program)
            program.local("read-tree", "--empty")
            commit = program.local("commit-tree", program.local("write-tree"), "-m", "initial commit")
            program.push(commit, _HEADS + _MAIN, expected=None)

    def create_branch(self, repository: str, branch: str, commit: str) -> None:
        """Let a new branch begin at a commit."""
        with _mended(repository):
            self._having(repository, commit).push(commit, _HEADS + branch, expected=None)

    def delete_branch(self, repository: str, branch: str) -> None:
        """Delete a branch."""
        found = self.references(repository)
        head = found.branches.get(branch) if found else None
        if head is None:
            raise MovedError(f"{branch} is gone")
        with _mended(repository):
            self._program(repository).push("", _HEADS + branch, expected=head)

    def create_tag(self, repository: str, tag: str, commit: str, message: str) -> None:
        """Tag a commit: an annotated tag, which is never moved."""
        program = self._having(repository, commit)
        program.local("tag", "--force", "--annotate", "--no-sign", "--message", message, tag, commit)
        with _mended(repository):
            program.push(_TAGS + tag, _TAGS + tag, expected=None)

    # -- files ---------------------------------------------------------------------------------------------------

    def tree(self, repository: str, commit: str) -> Tree:
        """Return all files of a commit."""
        return files_of(self._having(repository, commit), commit)

    def read(self, repository: str, commit: str, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of small files that a commit has: from git, or where they are in LFS from a fresh clone."""
        program = self._having(repository, commit)
        found = {path: content_of(program, commit, path) for path in paths}
        large = [path for path, content in found.items() if content is None]
        if large:
            with tempfile.TemporaryDirectory(prefix="rocmatrix-release-") as folder:
                self.download(repository, commit, large, Path(folder))
                found |= {path: (Path(folder) / path).read_bytes() for path in large}
        return {path: content for path, content in found.items() if content is not None}

    def commit(self, repository: str, branch: str, change: Change, *, parent: str) -> str:
        """Commit to a branch whose head is ``parent``, and return the new head.

        The same change on the same parent is the same commit: promoting a release is a fast-forward to what was staged.
        """
        program = self._having(repository, parent)
        known = (commit for made, at, commit in self._made if made is change and at == parent)
        commit = next(known, None)
        with _mended(repository):
            if commit is None:
                commit = make_commit(program, change, parent)
                upload(program, commit, change.additions)
                self._made.append((change, parent, commit))
            program.push(commit, _HEADS + branch, expected=parent)
        return commit

    def download(self, repository: str, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Fetch files of a commit anew, past all caches, to the same paths below a folder."""
        fresh = GitProgram(self._folder / f"clone-{next(self._numbers)}", self._host(repository))
        try:
            with _mended(repository):
                clone_files(fresh, commit, tuple(paths), folder)
        finally:
            fresh.close()

    # -- git -----------------------------------------------------------------------------------------------------

    def _host(self, repository: str) -> Host:
        return Host(
            address=f"{self._base}/{repository}",
            repository=repository,
            credential=self._credential,
            settings=self._helper.settings(),
            limits=self._limits,
        )

    def _program(self, repository: str) -> GitProgram:
        """Return git in the repository of this machine where commits are made."""
        if repository not in self._programs:
            self._programs[repository] = GitProgram(
                self._folder / f"work-{next(self._numbers)}", self._host(repository)
            )
        return self._programs[repository]

    def _having(self, repository: str, commit: str) -> GitProgram:
        """Return git where a commit of the server is here too."""
        program = self._program(repository)
        with _mended(repository):
            program.fetch(commit)
        return program


@contextmanager
def _mended(repository: str) -> Iterator[None]:
    """Tell a person about a repository that is not there."""
    try:
        yield
    except AbsentError as err:
        raise ReleaseError(
            f"there is no such repository, or this credential may not see it: {err}",
            where=repository,
            fix="Make it by the host's own means; git alone cannot.",
        ) from err
