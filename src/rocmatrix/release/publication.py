"""One release onto one Hub: stage, verify, promote, compare, tag, card, clean.

Each step acts only on what is missing on the Hub, under a condition that the Hub holds, and after a failure looks there
before it acts again: a release that was killed, whose answers were lost or whose machine is gone is simply run again.
Until the promotion nothing that users load has changed; the promotion is one commit; the tag comes after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rocmatrix.errors import ReleaseError
from rocmatrix.release.content import attributes
from rocmatrix.release.final_tree import change, holds, owners, require_ours
from rocmatrix.release.hub import Change, MovedError, References, TransientError
from rocmatrix.release.journal import JournalFile, Step
from rocmatrix.release.source_tag import previous_release
from rocmatrix.release.standing import require_standing
from rocmatrix.release.trees import ATTRIBUTES, Tree, changed_between, file_of, variants_of
from rocmatrix.release.verification import require_nothing_dropped, verify
from rocmatrix.release.view import View
from rocmatrix.release.wanted import Released as Released  # noqa: PLC0414 - what a publication takes and gives
from rocmatrix.release.wanted import Wanted as Wanted  # noqa: PLC0414 - as above
from rocmatrix.release.withdrawn import read_withdrawn, with_section

MAIN, CARD = "main", "README.md"


@dataclass(frozen=True, kw_only=True)
class _Base:
    """What a release builds on: the head of the version branch, or of ``main`` if there is no such branch yet."""

    commit: str
    tree: Tree
    inherited: bool
    ours: tuple[str, ...]


class Publication:
    """A release under way."""

    def __init__(self, wanted: Wanted, view: View, journal: JournalFile, tell: Callable[[str], None]) -> None:
        """Keep what it works with.

        Args:
            wanted: what is to be released.
            view: the repository.
            journal: where steps are noted.
            tell: called with a sentence for each step.
        """
        self._wanted = wanted
        self._view = view
        self._journal = journal
        self._tell = tell
        self._tagged = False

    def run(self) -> Released:
        """Release, from wherever an earlier run stopped.

        Raises:
            ReleaseError: it is refused, or the Hub does not answer; users load what they loaded before, or the complete
                new state.
        """
        return self._view.undisturbed(self._run)

    def _run(self) -> Released:
        references = self._repository()
        tagged = references.tags.get(self._wanted.release.tag)
        head = tagged or self._published(references)
        if tagged:
            require_standing(self._wanted, self._view, references)
        else:
            self._tag(head)
        if not self._wanted.release.preliminary:
            self._card()
            self._clean()
        self._view.require_shown()
        return Released(commit=head, already=tagged is not None and not self._tagged)

    def _repository(self) -> References:
        view = self._view

        def look() -> References | None:
            found = view.look()
            return found if found and MAIN in found.branches else None  # a git host makes repositories without a branch

        def make() -> None:
            try:
                view.hub.create_repository(view.repository)
            except MovedError:
                return  # somebody made it meanwhile

        references = view.persistence.ensure(f"the repository {view.repository}", look, make)
        self._journal.done(Step.REPOSITORY, references.branches.get(MAIN, ""))
        return references

    # -- stage, verify, promote ----------------------------------------------------------------------------------

    def _published(self, references: References) -> str:
        """Return a commit that holds the release, verified, where users of its kind look."""
        if self._wanted.builds_on_main:
            self._on_main(references.branches[MAIN])  # before anything is written, for what would be refused there
        base = self._base(references)
        todo = self._change(base, where=self._wanted.branch)
        staged = self._stage(base, todo) if todo else base.commit
        self._verify(staged, references)
        if self._wanted.release.preliminary or (staged == base.commit and not base.inherited):
            return staged
        head = self._promote(base, todo, staged)
        if self._view.tree(head) != self._view.tree(staged):
            odd = changed_between(self._view.tree(staged), self._view.tree(head), outside=())
            raise ReleaseError(
                f"{self._wanted.branch} does not hold what was verified: {odd[0]} differs",
                where=self._view.repository,
                fix="Nothing was tagged. Run the release again.",
            )
        self._journal.done(Step.COMPARE, head)
        return head

    def _base(self, references: References) -> _Base:
        inherited = self._wanted.branch not in references.branches
        commit = references.branches[MAIN if inherited else self._wanted.branch]
        return self._base_at(commit, inherited=inherited)

    def _base_at(self, commit: str, *, inherited: bool) -> _Base:
        ours = self._our_variants(commit, also=(ATTRIBUTES,))
        return _Base(commit=commit, tree=self._view.tree(commit), inherited=inherited, ours=ours)

    def _our_variants(self, commit: str, *, also: tuple[str, ...] = ()) -> tuple[str, ...]:
        return self._view.our_variants(commit, here=self._wanted.expectations.content.files, also=also)

    def _change(self, base: _Base, *, where: str) -> Change:
        content = self._wanted.expectations.content
        found = owners(base.tree, base.ours)
        if not base.inherited:
            require_ours(content, found, where=f"{self._view.repository}@{where}")
        return change(
            content,
            base.tree,
            found,
            inherited=base.inherited,
            attributes=attributes(self._view.read(base.commit, ATTRIBUTES)),
            message=self._wanted.message,
        )

    def _stage(self, base: _Base, todo: Change) -> str:
        """Return a commit on the staging branch that is the base with the release in it."""
        view, staging = self._view, self._wanted.staging

        def look() -> str | None:
            head = view.references().branches.get(staging)
            return head if head and holds(view.tree(head), base.tree, todo) else None

        def act() -> None:
            if staging in view.references().branches:
                view.delete_branch(staging)
            view.create_branch(staging, base.commit)
            view.commit(staging, todo, parent=base.commit)

        self._tell(f"staging {len(todo.additions)} files on {staging}")
        head = view.persistence.ensure(f"the branch {staging}", look, act)
        self._journal.done(Step.STAGE, head)
        return head

    def _verify(self, commit: str, references: References) -> None:
        self._tell(f"verifying {commit[:12]}: every file fetched anew, every promise resolved by the client")
        verify(self._view, commit, self._wanted.expectations)
        withdrawn = {each.tag for each in read_withdrawn(self._view, references.branches[MAIN])}
        previous = previous_release(references.tags, self._wanted.release.tag, withdrawn)
        if previous is not None:
            before = variants_of(self._view.tree(references.tags[previous]))
            after = variants_of(self._view.tree(commit))
            require_nothing_dropped(before, after, self._wanted.expectations, tag=previous)
        self._journal.done(Step.VERIFY, commit)

    def _promote(self, base: _Base, todo: Change, staged: str) -> str:
        """Let the version branch hold what was verified, in one step."""
        view, branch = self._view, self._wanted.branch
        before = None if base.inherited else base.commit

        def look() -> str | None:
            head = view.references().branches.get(branch)
            if head == before:
                return None
            if head is None or view.tree(head) != view.tree(staged):
                raise MovedError(f"{branch} is at {head}")
            return head

        def act() -> None:
            if base.inherited:
                view.create_branch(branch, staged)
            else:
                view.commit(branch, todo, parent=base.commit)

        self._tell(f"promoting to {branch}")
        head = view.persistence.ensure(f"the branch {branch}", look, act)
        self._journal.done(Step.PROMOTE, head)
        return head

    # -- tag, card, clean ----------------------------------------------------------------------------------------

    def _tag(self, head: str) -> None:
        view, tag = self._view, self._wanted.release.tag

        def look() -> str | None:
            found = view.references().tags.get(tag)
            if found not in {None, head}:
                raise MovedError(f"{tag} is at {found}")
            return found

        def act() -> None:
            try:
                view.create_tag(tag, head, self._wanted.message)
            except TransientError:
                self._tagged = True  # its answer may be lost, and the tag there
                raise
            self._tagged = True

        self._tell(f"tagging {head[:12]} as {tag}")
        view.persistence.ensure(f"the tag {tag}", look, act)
        self._journal.done(Step.TAG, head)

    def _card(self) -> None:
        view = self._view

        def look() -> str | None:
            main = view.head(MAIN)
            return None if self._on_main(main) else main

        def act() -> None:
            main = view.head(MAIN)
            view.commit(MAIN, self._on_main(main), parent=main)

        self._journal.done(Step.CARD, view.persistence.ensure("the card", look, act))

    def _on_main(self, main: str) -> Change:
        """Return what ``main`` lacks: the card, and the variants where they are asked for there, in one commit.

        What a later release put there stays.

        Raises:
            ReleaseError: somebody else's variant of the same name is there.
        """
        view, wanted = self._view, self._wanted
        message = f"Card of {wanted.release.tag}"
        withdrawn = read_withdrawn(view, main)
        later = wanted.later(view.references().tags, {each.tag for each in withdrawn})
        card = file_of(with_section(wanted.card, withdrawn))
        shown = later or card.matches(view.tree(main).get(CARD))
        cards = {} if shown else {CARD: card}
        if not wanted.builds_on_main or any(each.major == wanted.release.major for each in later):
            return Change(additions=cards, deletions=(), message=message)
        builds = self._change(self._base_at(main, inherited=False), where=MAIN)
        return replace(builds, additions={**builds.additions, **cards}, message=message)

    def _clean(self) -> None:
        view, staging = self._view, self._wanted.staging

        def look() -> bool | None:
            return True if staging not in view.references().branches else None

        view.persistence.ensure("removing the staging branch", look, lambda: view.delete_branch(staging))
        self._journal.done(Step.CLEAN, "")
