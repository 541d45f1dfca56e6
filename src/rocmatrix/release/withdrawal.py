"""Withdrawing a release: a new commit brings the previous good state of our variants back; the tag does not move."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.errors import InputError, ReleaseError
from rocmatrix.plain_text import bounded, one_line
from rocmatrix.plan.model import PlannedKernel
from rocmatrix.release.content import Content
from rocmatrix.release.final_tree import change, holds, owners
from rocmatrix.release.hub import Change, MovedError
from rocmatrix.release.publication import CARD, MAIN
from rocmatrix.release.source_tag import Release, later_releases, previous_release, read_version
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
        reason: for the card; control characters in it are written out, and what is too long for one line is cut.
        tell: called with a sentence for each step.

    Raises:
        InputError: there is no such release, or the reason is no text.
        ReleaseError: the Hub does not allow it or does not answer, or there is no branch to bring anything back to.
    """
    withdrawal = Withdrawal(tag=tag, reason=_text(reason))
    version = read_version(tag)
    if version is None:
        raise _no_release(tag, view)
    return view.undisturbed(lambda: _withdraw(view, kernel, version, withdrawal, tell))


def _text(reason: str) -> str:
    """Return the reason as the list, the card and the commit hold it."""
    try:
        reason.encode()
    except UnicodeEncodeError as err:  # bytes of a command line that are no text are lone surrogates in Python
        raise InputError(
            f"the reason is no text: {one_line(reason)}",
            where="--reason",
            fix="Write it in UTF-8; nothing was changed.",
        ) from err
    return bounded(reason)


def _no_release(tag: str, view: View) -> InputError:
    known = ", ".join(sorted(view.references().tags)) or "none"
    return InputError(f"there is no release {one_line(tag)}", where=view.repository, fix=f"Its releases are: {known}.")


def _withdraw(
    view: View, kernel: PlannedKernel, release: Release, withdrawal: Withdrawal, tell: Callable[[str], None]
) -> Withdrawn:
    """Withdraw once, from wherever an earlier run stopped; what would be refused is refused before anything is written.

    Raises:
        MovedError: somebody else changed something meanwhile.
    """
    branch = f"v{release.major}"
    tags = dict(view.references().tags)
    _require_there(view, release, branch)
    withdrawn = {each.tag for each in _note(view, withdrawal, tell)}
    if release.preliminary:  # no user finds it by version: neither its variants nor the same ones of a release go
        head = view.references().branches.get(branch, tags[release.tag])
        view.require_shown()
        return Withdrawn(tag=release.tag, branch=branch, restored=None, commit=head, changed=False)
    task = _Restoration(view=view, kernel=kernel, release=release, tags=tags, withdrawn=withdrawn, tell=tell)
    if view.our_variants(view.head(MAIN)):  # a release was asked to put its builds there, too
        task.run(MAIN)
    done = task.run(branch)
    view.require_shown()
    return done


def _require_there(view: View, release: Release, branch: str) -> None:
    references = view.references()
    if release.tag not in references.tags:
        raise _no_release(release.tag, view)
    for name in (MAIN,) if release.preliminary else (MAIN, branch):
        if name not in references.branches:
            raise ReleaseError(
                f"there is no branch {name}",
                where=view.repository,
                fix=f"Make {name} again on the Hub, at a commit that it shall hold, and withdraw {release.tag} then.",
            )


def _note(view: View, withdrawal: Withdrawal, tell: Callable[[str], None]) -> tuple[Withdrawal, ...]:
    """Write the release into the list and the card on ``main``: users are told before anything moves."""

    def wanted(main: str) -> tuple[tuple[Withdrawal, ...], dict[str, LocalFile]]:
        others = tuple(each for each in read_withdrawn(view, main) if each.tag != withdrawal.tag)
        everything = (*others, withdrawal)
        card = file_of(with_section(view.read(main, CARD), everything))
        return everything, {LIST: list_of(everything), CARD: card}

    def look() -> tuple[Withdrawal, ...] | None:
        main = view.head(MAIN)
        everything, files = wanted(main)
        there = all(file.matches(view.tree(main).get(path)) for path, file in files.items())
        return everything if there else None

    def act() -> None:
        main = view.head(MAIN)
        additions = wanted(main)[1]
        todo = Change(additions=additions, deletions=(), message=f"Withdraw {withdrawal.tag}\n\n{withdrawal.reason}")
        view.commit(MAIN, todo, parent=main)

    tell(f"the card says that {withdrawal.tag} is withdrawn")
    return view.persistence.ensure("the list of withdrawn releases", look, act)


@dataclass(frozen=True, kw_only=True)
class _Restoration:
    """Brings the variants of the last release that is not withdrawn back, where users find the withdrawn one now.

    Attributes:
        view: the repository.
        kernel: whose release it is.
        release: the withdrawn one.
        tags: on the Hub: name -> commit.
        withdrawn: tags that are withdrawn, this one among them.
        tell: called with a sentence for each step.
    """

    view: View
    kernel: PlannedKernel
    release: Release
    tags: Mapping[str, str]
    withdrawn: Collection[str]
    tell: Callable[[str], None]

    def run(self, branch: str) -> Withdrawn:
        """Bring them back on a branch.

        Raises:
            MovedError: somebody else changed it meanwhile.
        """
        view, tag, head = self.view, self.release.tag, self.view.head(branch)
        if not self._is_found(head):
            return Withdrawn(tag=tag, branch=branch, restored=None, commit=head, changed=False)
        previous = previous_release(self.tags, tag, self.withdrawn)
        base, ours = view.tree(head), view.our_variants(head)
        message = f"Withdraw {tag}: {previous or 'nothing'} is back"
        with tempfile.TemporaryDirectory(prefix="rocmatrix-withdrawal-") as folder:
            content = _content(view, self.kernel, self.tags[previous] if previous else None, Path(folder))
            todo = change(content, base, owners(base, ours), inherited=False, attributes=None, message=message)
            commit = self._commit(branch, head, todo, previous) if todo else head  # the one before may be the same
        return Withdrawn(tag=tag, branch=branch, restored=previous, commit=commit, changed=True)

    def _is_found(self, head: str) -> bool:
        """Whether users find the withdrawn release there: its variants, and not as those of a later release."""
        found = self._variants(head)
        if found != self._variants(self.tags[self.release.tag]):
            return False
        later = later_releases(self.tags, self.release, self.withdrawn)
        return all(self._variants(self.tags[each.tag]) != found for each in later if each.major == self.release.major)

    def _variants(self, commit: str) -> Tree:
        return _of(self.view.tree(commit), self.view.our_variants(commit))

    def _commit(self, branch: str, head: str, todo: Change, previous: str | None) -> str:
        view, base = self.view, self.view.tree(head)

        def look() -> str | None:
            now = view.head(branch)
            if now == head:
                return None
            if not holds(view.tree(now), base, todo):
                raise MovedError(f"{branch} is at {now}")
            return now

        self.tell(f"{branch} goes back to {previous or 'what it was before the first release'}")
        return view.persistence.ensure(f"the branch {branch}", look, lambda: view.commit(branch, todo, parent=head))


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
