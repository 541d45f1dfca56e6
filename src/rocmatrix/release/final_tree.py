"""What a version branch holds after a release: other people's variants as they were, ours as they are now. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rocmatrix.errors import ReleaseError
from rocmatrix.release.content import Content
from rocmatrix.release.hub import Change
from rocmatrix.release.trees import ATTRIBUTES, BUILD, LocalFile, Tree, in_variant, is_signature, variants_of


@dataclass(frozen=True, kw_only=True)
class Owners:
    """Whose the variants of a branch are.

    Attributes:
        ours: variants that carry our block in metadata.json.
        others: all other folders of ``build/``.
    """

    ours: tuple[str, ...]
    others: tuple[str, ...]


def owners(tree: Tree, ours: Iterable[str]) -> Owners:
    """Return whose the variants of a branch are, given those whose metadata has our block."""
    mine = set(ours)
    variants = variants_of(tree)
    return Owners(
        ours=tuple(name for name in variants if name in mine),
        others=tuple(name for name in variants if name not in mine),
    )


def require_ours(content: Content, base: Owners, *, where: str) -> None:
    """Refuse a release that would write into somebody else's variant.

    Raises:
        ReleaseError: it names the variants.
    """
    taken = [name for name in content.variants if name in base.others]
    if taken:
        raise ReleaseError(
            f"{', '.join(taken)} on this branch was not made by rocmatrix, and only its owner may replace it",
            where=where,
            fix="Agree with its owner: who removes it, or which of the two keeps its ROCm and torch.",
        )


def change(
    content: Content, base: Tree, base_owners: Owners, *, inherited: bool, attributes: LocalFile | None, message: str
) -> Change:
    """Return the one commit that makes ``base`` the final tree.

    Args:
        content: what is published.
        base: the branch as it is.
        base_owners: whose its variants are.
        inherited: the branch is new and began at another one, whose ``build`` and ``benchmarks`` are of another
            version: they are removed, as kernel-builder does.
        attributes: ``.gitattributes`` if it has to change.
        message: of the commit.
    """
    additions = {path: file for path, file in content.files.items() if not file.matches(base.get(path))}
    if attributes is not None:
        additions[ATTRIBUTES] = attributes
    stale = [
        path
        for path in base
        if path not in content.files
        and (
            (inherited and path.partition("/")[0] in {BUILD, "benchmarks"})
            or any(in_variant(path, name) for name in base_owners.ours)
        )
        and not (is_signature(path) and _stays(path, content, additions))
    ]
    return Change(additions=additions, deletions=tuple(sorted(stale)), message=message)


def _stays(path: str, content: Content, additions: dict[str, LocalFile]) -> bool:
    """Whether a signature still signs something: the metadata beside it is published, and does not change."""
    metadata = path.removesuffix(".sigstore")
    return metadata in content.files and metadata not in additions


def holds(tree: Tree, base: Tree, todo: Change) -> bool:
    """Whether a revision is ``base`` with a change made, and nothing else is different.

    ``.gitattributes`` may differ: a Hub adds lines of its own for what it puts into LFS.
    """
    for path, file in todo.additions.items():
        if path != ATTRIBUTES and not file.matches(tree.get(path)):
            return False
    apart = {*todo.additions, *todo.deletions, ATTRIBUTES}
    untouched = {path: file for path, file in base.items() if path not in apart}
    gone = not any(path in tree for path in todo.deletions)
    return gone and {path: file for path, file in tree.items() if path not in apart} == untouched
