"""A release that is on the Hub already: whether its tag, and the branch that users look at, still hold it."""

from __future__ import annotations

from collections.abc import Mapping

from rocmatrix.errors import ReleaseError
from rocmatrix.release.hub import References
from rocmatrix.release.trees import BUILD, Difference, LocalFile, compare
from rocmatrix.release.view import View
from rocmatrix.release.wanted import Wanted
from rocmatrix.release.withdrawn import read_withdrawn

_MAIN = "main"


def require_standing(wanted: Wanted, view: View, references: References) -> None:
    """Refuse a release whose tag is there, where users get something else than what is to be released.

    Its branch may hold a later release instead, and variants of others besides. A pre-release has its tag alone.

    Args:
        wanted: what is to be released.
        view: the repository.
        references: branches and tags, the release's tag and ``main`` among them.

    Raises:
        ReleaseError: the tag or the branch holds something else, or the release was withdrawn; it says which.
    """
    release, where = wanted.release, f"{view.repository}@{wanted.release.tag}"
    files = wanted.expectations.content.files
    if difference := _difference(files, view, references.tags[release.tag]):
        raise ReleaseError(
            f"{release.tag} was released with other content: the Hub {difference}",
            where=where,
            fix="A tag never moves. Release what changed under a new version.",
        )
    withdrawn = {each.tag: each.reason for each in read_withdrawn(view, references.branches[_MAIN])}
    if release.tag in withdrawn:
        raise ReleaseError(
            f"{release.tag} was released and withdrawn: {withdrawn[release.tag]}",
            where=where,
            fix="Release what is to replace it under a new version.",
        )
    if not release.preliminary:
        later = [each.tag for each in wanted.later(references.tags, withdrawn) if each.major == release.major]
        _require_found(wanted, view, references, replaced=bool(later))


def _require_found(wanted: Wanted, view: View, references: References, *, replaced: bool) -> None:
    """Refuse where users of the branch find no release, or, unless a later one replaced it, not this one."""
    tag, branch = wanted.release.tag, wanted.branch
    where, head = f"{view.repository}@{branch}", references.branches.get(branch)
    if head is None:
        raise ReleaseError(
            f"{tag} was released, and somebody deleted {branch} since: users find nothing there",
            where=where,
            fix=f"Make the branch again at the tag that users shall get, {tag} for one, or release a new version.",
        )
    variants = {path: file for path, file in wanted.expectations.content.files.items() if path.startswith(f"{BUILD}/")}
    if not replaced and (difference := _difference(variants, view, head)):
        raise ReleaseError(
            f"{tag} was released, and {branch} was changed since: it {difference}",
            where=where,
            fix="Run a release or `rocmatrix yank` again that stopped on its way; or release a new version, which puts "
            "the branch right.",
        )


def _difference(wanted: Mapping[str, LocalFile], view: View, commit: str) -> Difference:
    return compare(wanted, view.tree(commit), inside=view.our_variants(commit, here=wanted))
