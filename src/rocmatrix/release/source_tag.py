"""The tag that a release is made from: its name, and that it is the commit that was built."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.errors import MissingRequirementError, ReleaseError
from rocmatrix.plan.model import PlannedKernel
from rocmatrix.release.content import Content
from rocmatrix.release.credentials import without_secrets

if TYPE_CHECKING:
    from git import Repo

_VERSION = re.compile(r"v(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)(?P<pre>-[0-9A-Za-z.-]+)?")
"""Semantic Versioning 2.0.0, section 2 and 9, after a ``v``; build metadata is not used."""
_READ = ("build.toml", "CARD.md", "benchmarks", "torch-ext")
"""What of a kernel's folder goes into a release or its card beside the variants."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """What a tag says.

    Attributes:
        source: the tag in the sources' repository, ``gemm-v1.2.0`` where one repository holds several kernels.
        tag: the tag on the Hub, ``v1.2.0``.
        major: major version, the number of the Hub branch.
        order: for comparing releases.
        preliminary: a pre-release: loaders must not find it by version.
    """

    source: str
    tag: str
    major: int
    order: tuple[int, int, int]
    preliminary: bool


def read_version(tag: str) -> Release | None:
    """Return what a tag on the Hub says; ``None`` if it is no release of ours."""
    match = _VERSION.fullmatch(tag)
    if match is None:
        return None
    major, minor, patch = (int(match[name]) for name in ("major", "minor", "patch"))
    preliminary = match["pre"] is not None
    return Release(source=tag, tag=tag, major=major, order=(major, minor, patch), preliminary=preliminary)


def previous_release(tags: Iterable[str], tag: str, withdrawn: Collection[str]) -> str | None:
    """Return the last release of the same major version before one, pre-releases and withdrawn ones aside.

    Args:
        tags: on the Hub.
        tag: the release that is asked about.
        withdrawn: tags that do not count.
    """
    this = read_version(tag)
    known = [version for name in tags if name not in withdrawn and (version := read_version(name))]
    earlier = [
        each for each in known if this and not each.preliminary and each.major == this.major and each.order < this.order
    ]
    return max(earlier, key=lambda each: each.order).tag if earlier else None


def later_releases(tags: Iterable[str], release: Release, withdrawn: Collection[str]) -> tuple[Release, ...]:
    """Return the releases after one, of any major version; pre-releases and withdrawn ones do not count.

    Args:
        tags: on the Hub.
        release: the one that is asked about.
        withdrawn: tags that do not count.
    """
    known = [each for name in tags if name not in withdrawn and (each := read_version(name))]
    return tuple(each for each in known if not each.preliminary and each.order > release.order)


def read_tag(source: str, kernel: PlannedKernel, *, several: bool) -> Release:
    """Return what a tag of the sources says.

    Args:
        source: the tag.
        kernel: which kernel is released.
        several: whether the repository holds more than one kernel, so that tags name theirs.

    Raises:
        ReleaseError: the tag is not of the form that this kernel's releases have, or of another major version.
    """
    prefix = f"{kernel.name}-" if several else ""
    release = read_version(source.removeprefix(prefix)) if source.startswith(prefix) else None
    if release is None:
        raise ReleaseError(
            f"{source!r} is no tag of a release of {kernel.name}",
            where="--tag",
            fix=f"Tags of its releases are {prefix}vX.Y.Z, with X = {kernel.version}, the version of its build.toml.",
        )
    if release.major != kernel.version:
        raise ReleaseError(
            f"{source} is of major version {release.major}, and build.toml says version = {kernel.version}",
            where="--tag",
            fix=f"Tag {prefix}v{kernel.version}.Y.Z, or change general.version and build again.",
        )
    return Release(
        source=source, tag=release.tag, major=release.major, order=release.order, preliminary=release.preliminary
    )


def require_built_commit(release: Release, content: Content, project: Path) -> str:
    """Return the commit of the tag, if it is what was built.

    Raises:
        ReleaseError: there is no such tag, it is not annotated, or the variants were built from another commit or from
            changed files.
        MissingRequirementError: git is not there.
    """
    with without_secrets():
        commit = _commit_of(release, project)
    for variant, metadata in content.metadata.items():
        built = metadata.provenance.kernel if metadata.provenance else None
        if built is None or built.commit != commit or built.dirty:
            state = "no known commit" if built is None else f"commit {built.commit[:12]}"
            changed = " with changed files" if built and built.dirty else ""
            raise ReleaseError(
                f"{variant} was built from {state}{changed}, and {release.source} is commit {commit[:12]}",
                fix=f"Check out {release.source}, and run `rocmatrix run` there.",
            )
    return commit


def require_tag_of_checkout(release: Release, project: Path, *, may_lack: bool = False) -> None:
    """Refuse a tag that a release of what is checked out would refuse, before anything is built for it.

    Args:
        release: what the tag says.
        project: a folder in the repository of the sources.
        may_lack: whether it is well that there is no such tag yet.

    Raises:
        ReleaseError: there is no such tag, it is not annotated, or it is another commit than the one checked out.
        MissingRequirementError: git is not there.
    """
    with without_secrets(), _repository(project) as repo:
        if may_lack and release.source not in [tag.name for tag in repo.tags]:
            return
        commit = _tagged_commit(repo, release)
        head = repo.head.commit.hexsha if repo.head.is_valid() else "nothing"
        if commit != head:
            raise ReleaseError(
                f"{release.source} is commit {commit[:12]}, and {head[:12]} is checked out",
                where=str(repo.working_dir),
                fix=f"Check out {release.source}, or take a tag that is not there yet.",
            )


def _commit_of(release: Release, project: Path) -> str:
    with _repository(project) as repo:
        commit = _tagged_commit(repo, release)
        _require_clean(repo, release, commit, project)
        return commit


@contextmanager
def _repository(project: Path) -> Iterator[Repo]:
    """Open the repository of the sources.

    Raises:
        ReleaseError: there is none.
        MissingRequirementError: git is not there.
    """
    try:
        import git  # noqa: PLC0415 - fails where there is no git program
    except ImportError as err:
        raise MissingRequirementError("git is not installed", fix="Install git.") from err
    try:
        repo = git.Repo(project, search_parent_directories=True)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError) as err:
        raise ReleaseError(
            "a release is made from a tag, and this is no git repository", where=str(project), fix="Run `git init`."
        ) from err
    with repo:
        yield repo


def _tagged_commit(repo: Repo, release: Release) -> str:
    found = next((tag for tag in repo.tags if tag.name == release.source), None)
    if found is None:
        raise ReleaseError(
            f"there is no tag {release.source} in the repository of the sources",
            where=str(repo.working_dir),
            fix=f"Run `git tag -a {release.source} -m '…'` at the commit that was built.",
        )
    if found.tag is None:
        raise ReleaseError(
            f"{release.source} is no annotated tag, so that nobody knows who made it and when",
            where=str(repo.working_dir),
            fix=f"Run `git tag -a -f {release.source} -m '…'`.",
        )
    try:
        return str(found.commit.hexsha)
    except ValueError as err:
        raise ReleaseError(
            f"{release.source} is no tag of a commit",
            where=str(repo.working_dir),
            fix=f"Remove it, and run `git tag -a {release.source} -m '…'` at the commit that was built.",
        ) from err


def _require_clean(repo: Repo, release: Release, commit: str, project: Path) -> None:
    """Refuse files of the kernel's folder that a release reads and that are not those of the tag.

    Raises:
        ReleaseError: it names them.
    """
    paths = [str(project.absolute() / name) for name in _READ]
    changed = repo.git.diff("--name-only", commit, "--", *paths).splitlines()
    new = repo.git.ls_files("--others", "--exclude-standard", "--", *paths).splitlines()
    if changed or new:
        raise ReleaseError(
            f"{(changed + new)[0]} is not what {release.source} holds, and it would be released",
            where=str(repo.working_dir),
            fix=f"Check out {release.source}, without changed files.",
        )
