"""A release by git and git-lfs alone: the same publication, the same refusals, against the embedded Hub's git side.

Nothing here asks the Hub's API, but for looking at what a release left. Every request of such a release meets every
fault, and it is killed at its requests; a seeded part in each run, all of it with ``--long``.
"""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd

from rocmatrix.errors import ReleaseError, RocmatrixError
from rocmatrix.events import Event, Notice
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.release.api_hub import limit_requests
from rocmatrix.release.credentials import Credential
from rocmatrix.release.git_host import GitHost
from rocmatrix.release.git_program import TimeLimits
from rocmatrix.release.hub import Change
from rocmatrix.release.publication import Released, Wanted
from rocmatrix.release.stage import publish
from rocmatrix.release.trees import file_of
from rocmatrix.release.view import patient_view
from rocmatrix.release.withdrawal import withdraw
from tests.system.hub import READER, WRITER, RunningHub, serving
from tests.system.release_source import REPOSITORY, Source, make_source
from tests.system.test_release import BRANCH, KERNEL, QUICK, STAGING, TAG, others, ours, references, tree
from tests.system.test_release import release as release_by_api
from tests.system.test_release_faults import (
    NEXT,
    THEIRS,
    Prepared,
    kill_at,
    require_happened,
    require_old_or_new,
    table,
)

CASES, KILLS = 3, 1
RANDOM = random.Random(20261130)  # noqa: S311 - the same cases in every run
GIT_ENDPOINTS = frozenset({"git", "lfs-batch", "lfs-put", "lfs-get", "lfs-verify"})
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@contextmanager
def host_of(hub: RunningHub, token: str = WRITER, limits: TimeLimits | None = None) -> Iterator[GitHost]:
    host = GitHost(f"{hub.endpoint}/kernels", Credential(token=token, source="a test"), limits)
    try:
        yield host
    finally:
        host.close()


def release(
    hub: RunningHub,
    source: Source,
    wanted: Wanted | None = None,
    *,
    token: str = WRITER,
    limits: TimeLimits | None = None,
    said: list[str] | None = None,
) -> Released:
    def emit(event: Event) -> None:
        assert isinstance(event, Notice)
        if said is not None:
            said.append(event.message)

    with host_of(hub, token, limits) as host:
        what = wanted or source.wanted()
        return publish(what, host, store=source.store, emit=emit, credential="a test", patience=QUICK)


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The first version and the next one, with other bytes in one variant."""

    first: Source
    following: Source


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("sources")
    return Sources(
        first=make_source(folder / "first"),
        following=make_source(folder / "next", tag=NEXT, line="CHANGED = True"),
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, sources: Sources) -> Prepared:
    """The first version and somebody else's variant on a Hub; what a release of the next one does there, by git."""
    limit_requests()
    folder = tmp_path_factory.mktemp("prepared")
    with serving(folder) as hub:
        hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
        release(hub, sources.first)
        others(hub, THEIRS)
        before = tree(hub, BRANCH)
    copied = folder / "copy"
    shutil.copytree(folder / "hub", copied / "hub")
    with serving(copied) as hub:
        release(hub, sources.following)
        requests = tuple(exchange.endpoint for exchange in hub.traffic.exchanges)
        after = tree(hub, BRANCH)
    return Prepared(folder=folder / "hub", source=sources.following, before=before, after=after, requests=requests)


@contextmanager
def again(prepared: Prepared, place: Path) -> Iterator[RunningHub]:
    """Serve a copy of the prepared Hub."""
    shutil.copytree(prepared.folder, place / "hub")
    with serving(place) as hub:
        yield hub
    shutil.rmtree(place)


# -- what a release leaves -----------------------------------------------------------------------------------------


def test_both_transports_publish_the_same_and_git_asks_no_api(
    prepared: Prepared, sources: Sources, tmp_path: Path
) -> None:
    assert set(prepared.requests) <= GIT_ENDPOINTS
    with again(prepared, tmp_path / "one") as hub:
        first = references(hub)[1][TAG]
        assert hub.api().list_repo_refs(REPOSITORY, repo_type=KERNEL).tags[0].target_commit == first
        assert release_by_api(hub, sources.first) == Released(commit=first, already=True), "by the API it is there"
        by_api = release_by_api(hub, sources.following)
        assert tree(hub, by_api.commit) == prepared.after
        hub.traffic.clear()
        assert release(hub, sources.following) == Released(commit=by_api.commit, already=True)
        assert not [each for each in hub.traffic.exchanges if each.endpoint == "lfs-put" or "receive" in each.path]


def test_a_release_by_git_leaves_an_annotated_tag_the_card_and_no_staging_branch(
    prepared: Prepared, tmp_path: Path
) -> None:
    with again(prepared, tmp_path / "one") as hub:
        released = release(hub, prepared.source)
        branches, tags = references(hub)
        assert branches.keys() == {"main", BRANCH}
        assert tags[NEXT] == branches[BRANCH] == released.commit
        repository = hub.hub.root / f"kernels/{REPOSITORY}.git"
        kind = subprocess.run(
            ["git", "cat-file", "-t", NEXT], cwd=repository, check=True, capture_output=True, text=True, timeout=60
        )
        assert kind.stdout.strip() == "tag"
        card = hub.api().hf_hub_download(REPOSITORY, "README.md", repo_type=KERNEL, local_dir=tmp_path / "card")
        assert f"Release {NEXT}" in Path(card).read_text()
        assert all(file.sha256 for path, file in prepared.after.items() if path.endswith(".so") and THEIRS not in path)


def test_a_gitignore_and_a_file_that_no_rule_puts_into_lfs_are_no_hindrance(tmp_path: Path) -> None:
    limit_requests()
    source = make_source(tmp_path / "source", large="# 12 MB\n" * 1_500_000)
    with serving(tmp_path) as hub:
        hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
        ignore = CommitOperationAdd(".gitignore", b"build/\n*.so\n")
        hub.api().create_commit(REPOSITORY, [ignore], commit_message="m", repo_type=KERNEL)
        head = release(hub, source).commit
        published = tree(hub, head)
        assert [path for path in published if path.endswith(".so")]
        assert published["benchmarks/benchmark_large.py"].sha256
        hiding = {".gitignore": file_of(b"*\n"), "folder/hidden": file_of(b"1")}
        with host_of(hub) as host:
            after = host.commit(REPOSITORY, BRANCH, Change(additions=hiding, deletions=(), message="m"), parent=head)
        assert tree(hub, after).keys() == published.keys() | hiding.keys(), "nor one that is committed with them"


# -- refusals ------------------------------------------------------------------------------------------------------


def test_other_content_under_the_same_tag_is_refused_with_the_difference(prepared: Prepared, tmp_path: Path) -> None:
    with again(prepared, tmp_path / "one") as hub:
        before = references(hub)
        with pytest.raises(ReleaseError, match=r"has other bytes in build/.*rocm72.*__init__\.py"):
            release(hub, make_source(tmp_path / "other", line="OTHER = True"))
        assert references(hub) == before


@pytest.mark.parametrize("token", [READER, "hf_nobodyNOBODYnobody"])
def test_who_may_not_push_is_told_what_to_ask_for(prepared: Prepared, tmp_path: Path, token: str) -> None:
    with again(prepared, tmp_path / "one") as hub:
        before = references(hub)
        with pytest.raises(ReleaseError, match="does not allow it") as caught:
            release(hub, prepared.source, token=token)
        assert "the right to push" in str(caught.value)
        assert token not in str(caught.value)
        assert references(hub) == before


def test_a_repository_that_git_cannot_make_is_asked_for(sources: Sources, tmp_path: Path) -> None:
    limit_requests()
    with serving(tmp_path) as hub:
        with pytest.raises(ReleaseError, match="there is no such repository"):
            release(hub, sources.first)
        assert references(hub) == ({}, {})


def test_a_repository_without_a_branch_is_released_to(sources: Sources, tmp_path: Path) -> None:
    """As git hosts make them; the embedded Hub's lose their branch here."""
    limit_requests()
    with serving(tmp_path) as hub:
        hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
        folder = hub.hub.root / f"kernels/{REPOSITORY}.git"
        subprocess.run(["git", "update-ref", "-d", "refs/heads/main"], cwd=folder, check=True, timeout=60)
        released = release(hub, sources.first)
        assert references(hub)[1] == {TAG: released.commit}
        assert references(hub)[0].keys() == {"main", BRANCH}


def test_a_push_in_between_begins_the_release_anew(prepared: Prepared, tmp_path: Path) -> None:
    said: list[str] = []
    with again(prepared, tmp_path / "one") as hub:
        theirs: dict[str, bytes] = {}

        class Interrupting(GitHost):
            def commit(self, repository: str, branch: str, change: Change, *, parent: str) -> str:
                if branch == BRANCH and not theirs:  # after the last look at the branch, right before the push
                    theirs.update(others(hub, "torch213-cxx11-cu129-x86_64-linux"))
                return super().commit(repository, branch, change, parent=parent)

        host = Interrupting(f"{hub.endpoint}/kernels", Credential(token=WRITER, source="a test"))
        try:
            publish(
                prepared.source.wanted(),
                host,
                store=prepared.source.store,
                emit=lambda event: said.append(event.message) if isinstance(event, Notice) else None,
                credential="a test",
                patience=QUICK,
            )
        finally:
            host.close()
        assert any("somebody else changed it meanwhile" in line for line in said), said
        assert theirs.keys() <= tree(hub, references(hub)[1][NEXT]).keys()


def test_a_withdrawal_by_git_gives_users_the_release_before(prepared: Prepared, tmp_path: Path) -> None:
    with again(prepared, tmp_path / "one") as hub:
        second = release(hub, prepared.source)
        with host_of(hub) as host:
            view = patient_view(host, REPOSITORY, patience=QUICK)
            withdrawn = withdraw(view, prepared.source.kernel, NEXT, "wrong numbers", lambda _: None)
        assert (withdrawn.restored, withdrawn.changed) == (TAG, True)
        assert tree(hub, BRANCH) == prepared.before
        assert ours(tree(hub, BRANCH)) != ours(tree(hub, second.commit))
        assert references(hub)[1][NEXT] == second.commit
        card = hub.api().hf_hub_download(REPOSITORY, "README.md", repo_type=KERNEL, local_dir=tmp_path / "card")
        assert f"`{NEXT}`: wrong numbers" in Path(card).read_text()


# -- the credential ------------------------------------------------------------------------------------------------


def spied(folder: Path, seen: Path) -> str:
    """Return a PATH on which git and git-lfs first write down their arguments and their environment."""
    folder.mkdir()
    for program in ("git", "git-lfs"):
        script = f'#!/bin/sh\n{{ echo "$0 $@"; env; }} >> {seen}\nexec {shutil.which(program)} "$@"\n'
        (folder / program).write_text(script)
        (folder / program).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_the_token_is_in_no_argument_environment_file_or_message(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked for while a push is held up: in the arguments and environments of git, and in every file it wrote."""
    seen, scratch, said = tmp_path / "seen", tmp_path / "scratch", list[str]()
    scratch.mkdir()
    monkeypatch.setenv("PATH", spied(tmp_path / "programs", seen))
    monkeypatch.setenv("HF_TOKEN", WRITER)
    monkeypatch.setenv("GIT_TRACE", "1")
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    found: list[Path] = []
    looked = 0

    def look(_: object) -> None:
        nonlocal looked
        files = [path for path in scratch.rglob("*") if path.is_file()]
        looked = max(looked, len(files))
        for path in files:
            try:
                found.extend([path] if WRITER.encode() in path.read_bytes() else [])
            except OSError:
                continue  # git has removed it

    with again(prepared, tmp_path / "one") as hub:
        hub.traffic.tell = look
        hub.faults.plan(Fault(endpoint="lfs-batch", kind=FaultKind.STATUS, status=500))
        release(hub, prepared.source, said=said)
    told = seen.read_text()
    assert "git-lfs" in told
    assert "push" in told
    assert WRITER not in told
    assert looked > 50, "there were files to look at"
    assert found == []
    assert not [line for line in said if WRITER in line]
    assert not list(scratch.iterdir()), "nothing is left on this machine"


# -- faults --------------------------------------------------------------------------------------------------------


def test_a_server_that_leaves_an_object_out_does_not_hold_a_release_for_ever(
    prepared: Prepared, tmp_path: Path
) -> None:
    """git-lfs 3.3 waits without end for an object that the answer to its batch does not have."""
    source = make_source(tmp_path / "source", tag=NEXT, large="# 12 MB\n" * 1_500_000)
    wanted, said = source.wanted(), list[str]()
    empty = Fault(endpoint="lfs-batch", kind=FaultKind.STATUS, status=200, document={"objects": []})
    with again(prepared, tmp_path / "one") as hub:
        hub.faults.plan(empty)
        begun = time.monotonic()
        release(hub, source, wanted, limits=TimeLimits(network=5.0), said=said)
        assert hub.faults.happened == (empty,)
        assert references(hub)[1].keys() == {TAG, NEXT}
        assert time.monotonic() - begun > 5.0, "it was stopped, and begun again"
    assert any("did not complete in 5 secs" in line for line in said), said


def test_no_fault_of_one_request_leaves_half_a_release_by_git(
    prepared: Prepared, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    wanted = prepared.source.wanted()
    faults, stopped = table(prepared.requests), 0
    for number, fault in enumerate(faults if pytestconfig.getoption("--long") else RANDOM.sample(faults, CASES)):
        with again(prepared, tmp_path / str(number)) as hub:
            hub.faults.plan(fault)
            try:
                release(hub, prepared.source, wanted)
            except RocmatrixError:
                stopped += 1
            require_happened(hub, fault)
            hub.faults.clear()
            require_old_or_new(hub, prepared)
            release(hub, prepared.source, wanted)
            branches, tags = references(hub)
            assert tree(hub, BRANCH) == tree(hub, tags[NEXT]) == prepared.after, fault
            assert branches.keys() == {"main", BRANCH}, fault
            assert STAGING not in branches
    assert stopped < len(faults) / 2


def test_a_release_by_git_that_is_killed_at_any_request_is_run_again(
    prepared: Prepared, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    requests = range(1, len(prepared.requests) + 1)
    numbers = requests if pytestconfig.getoption("--long") else RANDOM.sample(requests, KILLS)
    for number in numbers:
        with again(prepared, tmp_path / str(number)) as hub:
            words = ("--transport", "git", "--hub", f"{hub.endpoint}/kernels")
            kill_at(hub, number, prepared.source, *words)
            require_old_or_new(hub, prepared)
            release(hub, prepared.source)
            assert tree(hub, BRANCH) == tree(hub, references(hub)[1][NEXT]) == prepared.after
