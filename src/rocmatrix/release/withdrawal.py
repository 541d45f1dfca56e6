"""Withdrawing a release: a new commit brings the previous good state of our variants back; the tag does not move."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.errors import InputError, ReleaseError
from rocmatrix.plan.model import PlannedKernel
from rocmatrix.release.content import Content
from rocmatrix.release.final_tree import change, holds, owners
from rocmatrix.release.hub import Change, MovedError
from rocmatrix.release.publication import CARD, MAIN, RESTARTS
from rocmatrix.release.source_tag import previous_release, read_version
from rocmatrix.release.trees import LocalFile, Tree, file_of, file_on_disk, in_variant
from rocmatrix.release.view import View
from rocmatrix.release.withdrawn import LIST, Withdrawal, list_of, read_withdrawn, with_section


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """What a withdrawal came to.

    Attributes:
        tag: that is withdrawn.
        branch: where users found it.
        restored: the release whose variants are there now; ``None`` if there was no earlier one, and ours are gone.
        commit: head of the branch.
        changed: whether the branch held the withdrawn release; a later one stays.
    """

    tag: str
    branch: str
    restored: str | None
    commit: str
    changed: bool


def withdraw(view: View, kernel: PlannedKernel, tag: str, reason: str, tell: Callable[[str], None]) -> Withdrawn:
    """Withdraw a release; run again it changes nothing.

    Args:
        view: the repository.
        kernel: whose release it is.
        tag: on the Hub.
        reason: for the card.
        tell: called with a sentence for each step.

    Raises:
        InputError: there is no such release.
        ReleaseError: the Hub does not allow it or does not answer.
    """
    version = read_version(tag)
    if version is None or tag not in view.references().tags:
        known = ", ".join(sorted(view.references().tags)) or "none"
        raise InputError(f"there is no release {tag}", where=view.repository, fix=f"Its releases are: {known}.")
    for _ in range(RESTARTS):
        try:
            withdrawn = _note(view, Withdrawal(tag=tag, reason=reason), tell)
            tags = {each.tag for each in withdrawn}
            if view.our_variants(view.references().branches[MAIN]):  # a release was asked to put its builds there, too
                _restore(view, kernel, tag, tags, tell, branch=MAIN)
            restored = _restore(view, kernel, tag, tags, tell, branch=f"v{kernel.version}")
            view.require_shown()
        except MovedError as err:
            view.begin_again()
            tell(f"somebody else changed {view.repository} meanwhile ({err}); beginning again")
        else:
            return restored
    raise ReleaseError(f"{view.repository} is changed by others again and again", fix="Run it again later.")


def _note(view: View, withdrawal: Withdrawal, tell: Callable[[str], None]) -> tuple[Withdrawal, ...]:
    """Write the release into the list and the card on ``main``: users are told before anything moves."""

    def wanted(main: str) -> tuple[tuple[Withdrawal, ...], dict[str, LocalFile]]:
        others = tuple(each for each in read_withdrawn(view, main) if each.tag != withdrawal.tag)
        everything = (*others, withdrawal)
        card = file_of(with_section(view.read(main, CARD), everything))
        return everything, {LIST: list_of(everything), CARD: card}

    def look() -> tuple[Withdrawal, ...] | None:
        main = view.references().branches[MAIN]
        everything, files = wanted(main)
        there = all(file.matches(view.tree(main).get(path)) for path, file in files.items())
        return everything if there else None

    def act() -> None:
        main = view.references().branches[MAIN]
        additions = wanted(main)[1]
        todo = Change(additions=additions, deletions=(), message=f"Withdraw {withdrawal.tag}\n\n{withdrawal.reason}")
        view.commit(MAIN, todo, parent=main)

    tell(f"the card says that {withdrawal.tag} is withdrawn")
    return view.persistence.ensure("the list of withdrawn releases", look, act)


def _restore(
    view: View, kernel: PlannedKernel, tag: str, withdrawn: set[str], tell: Callable[[str], None], *, branch: str
) -> Withdrawn:
    """Bring the variants of the last release that is not withdrawn back, if users find the withdrawn one now."""
    references = view.references()
    head = references.branches.get(branch)
    if head is None:
        raise ReleaseError(f"there is no branch {branch}", where=view.repository)
    ours = view.our_variants(head)
    if _of(view.tree(head), ours) != _of(view.tree(references.tags[tag]), view.our_variants(references.tags[tag])):
        return Withdrawn(tag=tag, branch=branch, restored=None, commit=head, changed=False)
    previous = previous_release(references.tags, tag, withdrawn)
    with tempfile.TemporaryDirectory(prefix="rocmatrix-withdrawal-") as folder:
        content = _content(view, kernel, references.tags[previous] if previous else None, Path(folder))
        base = view.tree(head)
        message = f"Withdraw {tag}: {previous or 'nothing'} is back"
        todo = change(content, base, owners(base, ours), inherited=False, attributes=None, message=message)

        def look() -> str | None:
            now = view.references().branches[branch]
            if now == head:
                return None
            if not holds(view.tree(now), base, todo):
                raise MovedError(f"{branch} is at {now}")
            return now

        tell(f"{branch} goes back to {previous or 'what it was before the first release'}")
        commit = view.persistence.ensure(f"the branch {branch}", look, lambda: view.commit(branch, todo, parent=head))
    return Withdrawn(tag=tag, branch=branch, restored=previous, commit=commit, changed=True)


def _of(tree: Tree, variants: tuple[str, ...]) -> Tree:
    return {path: file for path, file in tree.items() if any(in_variant(path, name) for name in variants)}


def _content(view: View, kernel: PlannedKernel, commit: str | None, folder: Path) -> Content:
    """Return our variants of a commit, fetched; nothing without one."""
    if commit is None:
        return Content(kernel=kernel, variants=(), files={}, metadata={})
    variants = view.our_variants(commit)
    paths = tuple(_of(view.tree(commit), variants))
    view.download(commit, paths, folder)
    files = {path: file_on_disk(folder / path) for path in paths}
    return Content(kernel=kernel, variants=variants, files=files, metadata={})
