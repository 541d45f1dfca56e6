"""Withdrawals where things are not as they were: the same files under two tags, other majors, others at work."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.errors import InputError, ReleaseError
from rocmatrix.release.api_hub import ApiHub
from rocmatrix.release.credentials import Credential
from rocmatrix.release.hub import References
from rocmatrix.release.view import patient_view
from rocmatrix.release.withdrawal import Withdrawn, withdraw
from tests.system.hub import WRITER, RunningHub
from tests.system.meddling import MeddledHub, Meddling, delete_branch, delete_tag, put
from tests.system.release_source import REPOSITORY, Source, git, make_source
from tests.system.test_release import BRANCH, QUICK, TAG, ours, references, release, tree, yank
from tests.system.test_release_main import on_main

NEXT, PRELIMINARY, SAME = "v2.1.0", "v2.0.0-rc.1", "v2.0.1"
NOBODY = Meddling(when="before", what="nothing", does=lambda: None)
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Source]:
    """One commit under three tags."""
    made = make_source(tmp_path_factory.mktemp("tagged"))
    for tag in (PRELIMINARY, SAME):
        git(made.root, "tag", "-a", tag, "-m", tag)
    return {tag: replace(made, tag=tag) for tag in (TAG, PRELIMINARY, SAME)}


def withdrawing(hub: ApiHub, source: Source, tag: str) -> Withdrawn:
    return withdraw(patient_view(hub, REPOSITORY, patience=QUICK), source.kernel, tag, "wrong", lambda _: None)


# -- the same files under two tags ---------------------------------------------------------------------------------


def test_a_pre_release_withdrawn_takes_the_release_of_the_same_files_from_nobody(
    hub: RunningHub, tagged: dict[str, Source]
) -> None:
    release(hub, tagged[PRELIMINARY])
    release(hub, tagged[TAG], on_main(tagged[TAG]))
    before = references(hub)
    assert not yank(hub, tagged[TAG], PRELIMINARY).changed
    assert references(hub)[0][BRANCH] == before[0][BRANCH]
    assert ours(tree(hub, "main")) == ours(tree(hub, BRANCH)) != {}
    assert f"`{PRELIMINARY}`: wrong numbers" in card(hub)


def test_a_pre_release_is_withdrawn_where_no_release_ever_was(hub: RunningHub, tagged: dict[str, Source]) -> None:
    release(hub, tagged[PRELIMINARY])
    assert not yank(hub, tagged[TAG], PRELIMINARY).changed
    assert f"`{PRELIMINARY}`: wrong numbers" in card(hub)


def test_of_two_releases_of_the_same_files_the_later_one_stays_until_it_is_withdrawn(
    hub: RunningHub, tagged: dict[str, Source]
) -> None:
    for tag in (TAG, SAME):
        release(hub, tagged[tag], on_main(tagged[tag]))
    before = ours(tree(hub, BRANCH))
    assert not yank(hub, tagged[TAG], TAG).changed
    assert ours(tree(hub, BRANCH)) == ours(tree(hub, "main")) == before != {}
    assert yank(hub, tagged[TAG], SAME).changed
    assert ours(tree(hub, BRANCH)) == ours(tree(hub, "main")) == {}, "neither is to be had any more"


def test_of_two_releases_of_the_same_files_the_earlier_one_is_back(hub: RunningHub, tagged: dict[str, Source]) -> None:
    for tag in (TAG, SAME):
        release(hub, tagged[tag])
    head = references(hub)[0][BRANCH]
    withdrawn = yank(hub, tagged[TAG], SAME)
    assert (withdrawn.restored, withdrawn.changed, withdrawn.commit) == (TAG, True, head), "with nothing to commit"


# -- which branch --------------------------------------------------------------------------------------------------


def test_the_branch_of_a_withdrawal_is_that_of_the_tag(hub: RunningHub, source: Source, changed: Source) -> None:
    """build.toml may be of the next major version by then."""
    first = release(hub, source)
    release(hub, changed)
    kernel = replace(source.kernel, version=3)
    view = patient_view(ApiHub(hub.endpoint, Credential(token=WRITER, source="")), REPOSITORY, patience=QUICK)
    withdrawn = withdraw(view, kernel, NEXT, "wrong", lambda _: None)
    assert (withdrawn.branch, withdrawn.restored) == (BRANCH, TAG)
    assert ours(tree(hub, BRANCH)) == ours(tree(hub, first.commit))


class Without(ApiHub):
    """Shows all branches but one."""

    def __init__(self, hub: RunningHub, branch: str) -> None:
        """Talk to a Hub as somebody who may write."""
        super().__init__(hub.endpoint, Credential(token=WRITER, source="a test"))
        self._branch = branch

    def references(self, repository: str) -> References | None:
        """Return branches and tags."""
        found = super().references(repository)
        assert found is not None
        return replace(found, branches={name: at for name, at in found.branches.items() if name != self._branch})


@pytest.mark.parametrize("branch", [BRANCH, "main"])
def test_without_its_branch_a_withdrawal_is_refused_before_anything_is_written(
    hub: RunningHub, source: Source, branch: str
) -> None:
    release(hub, source)
    before = references(hub)
    with pytest.raises(ReleaseError, match=f"there is no branch {branch}"):
        withdrawing(Without(hub, branch), source, TAG)
    assert references(hub) == before


# -- others at work ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2], ids=["note", "restoration"])
def test_a_branch_that_others_delete_meanwhile_is_said(
    hub: RunningHub, source: Source, changed: Source, number: int
) -> None:
    release(hub, source)
    release(hub, changed)
    gone = Meddling(when="before", what="commit", number=number, does=lambda: delete_branch(hub, BRANCH))
    with pytest.raises(ReleaseError, match="there is no branch v2"):
        withdrawing(MeddledHub(hub, gone), source, NEXT)


def test_a_tag_that_others_delete_meanwhile_is_said(hub: RunningHub, source: Source) -> None:
    release(hub, source)

    def others_work() -> None:
        delete_tag(hub, TAG)
        put(hub, "main", {"x.txt": b"1"})

    with pytest.raises(InputError, match=rf"there is no release {TAG}"):
        withdrawing(MeddledHub(hub, Meddling(when="before", what="commit", does=others_work)), source, TAG)


# -- what the card says --------------------------------------------------------------------------------------------


def test_a_reason_is_shown_as_text_whatever_is_in_it(hub: RunningHub, source: Source) -> None:
    release(hub, source)
    view = patient_view(MeddledHub(hub, NOBODY), REPOSITORY, patience=QUICK)
    withdraw(view, source.kernel, TAG, "a\x1b[31m\n## Install\n<b> `rm` " + "x" * 9999, lambda _: None)
    *_, heading, _, line = card(hub).splitlines()
    assert heading == "## Withdrawn releases"
    assert line.startswith(r"- `v2.0.0`: a\\x1b\[31m \#\# Install \<b\> \`rm\` xxx")
    assert line.endswith("x…")
    message = hub.api().list_repo_commits(REPOSITORY, repo_type="kernel")[0].message
    assert ("\x1b" in message, len(message)) == (False, 1000)


def test_a_reason_that_is_no_text_is_refused_before_anything_is_written(hub: RunningHub, source: Source) -> None:
    release(hub, source)
    before = references(hub)
    view = patient_view(MeddledHub(hub, NOBODY), REPOSITORY, patience=QUICK)
    for tag, reason, said in (
        (TAG, "bad \udcff", "the reason is no text"),
        ("v2.0.0\udcff", "r", "there is no release"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            withdraw(view, source.kernel, tag, reason, lambda _: None)
        str(caught.value).encode()
    assert references(hub) == before


@pytest.mark.parametrize("tag", ["x` <b>", "v2.0.0\udcff"])
def test_a_list_that_names_no_release_is_refused(hub: RunningHub, source: Source, tag: str) -> None:
    release(hub, source)
    put(hub, "main", {".rocmatrix/withdrawn.json": json.dumps([{"tag": tag, "reason": "r"}]).encode()})
    before = references(hub)
    with pytest.raises(ReleaseError, match="it is no list of withdrawn releases"):
        yank(hub, source, TAG)
    assert references(hub) == before


def card(hub: RunningHub) -> str:
    return Path(hub.api().hf_hub_download(REPOSITORY, "README.md", repo_type="kernel", local_dir=hub.home)).read_text()
