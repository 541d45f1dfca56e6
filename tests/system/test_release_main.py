"""Builds on ``main`` where they are asked for, and pre-releases, which no user finds by version."""

import dataclasses
from pathlib import Path

import pytest

from rocmatrix.errors import ReleaseError
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.release.publication import Released, Wanted
from rocmatrix.release.trees import Tree
from tests.golden.make_dist import DIST
from tests.system.conftest import StubBuilder, hip_soname
from tests.system.hub import RunningHub
from tests.system.release_source import REPOSITORY, Source, make_source
from tests.system.test_release import BRANCH, KERNEL, TAG, ask, others, references, release, tree, yank
from tests.system.test_release_users import VARIANT, Place, user
from tests.system.verbs import Verbs

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2
PRELIMINARY = "v2.1.0-rc.1"


def on_main(source: Source, **allowances: object) -> Wanted:
    """Return a release with builds on ``main``; that only version 1 may have them is the command line's to say."""
    return dataclasses.replace(source.wanted(**allowances), builds_on_main=True)


def built(files: Tree) -> Tree:
    return {path: file for path, file in files.items() if path.startswith(("build/", "benchmarks/"))}


def test_main_gets_what_the_version_branch_has_in_the_commit_of_the_card(hub: RunningHub, source: Source) -> None:
    release(hub, source, on_main(source))
    assert built(tree(hub, "main")) == built(tree(hub, BRANCH)) != {}
    main = hub.api(None).list_repo_commits(REPOSITORY, repo_type=KERNEL)
    assert main[0].title == f"Card of {TAG}"
    hub.traffic.clear()
    assert release(hub, source, on_main(source)).already
    assert {exchange.method for exchange in hub.traffic.exchanges} <= {"GET", "HEAD"}


def test_main_without_the_option_holds_no_builds(hub: RunningHub, source: Source) -> None:
    release(hub, source)
    assert built(tree(hub, "main")) == {}


def test_on_main_too_other_peoples_variants_stay_and_our_stale_ones_go(
    hub: RunningHub, source: Source, tmp_path: Path
) -> None:
    release(hub, source, on_main(source))
    theirs = others(hub, "torch213-cxx11-cu130-x86_64-linux", branch="main")
    before = {path: file for path, file in tree(hub, "main").items() if path in theirs}
    smaller = make_source(tmp_path / "smaller", tag="v2.1.0", rocms=["7.2"])
    drop = frozenset(f"torch2.{minor}-rocm7.{rocm}" for minor in range(10, 20) for rocm in range(20))
    release(hub, smaller, on_main(smaller, drop=drop))
    now = tree(hub, "main")
    assert {path: file for path, file in now.items() if path in theirs} == before
    assert not [path for path in now if "rocm71" in path]
    assert built(tree(hub, BRANCH)).items() <= built(now).items()


def test_somebody_elses_variant_on_main_stops_the_release_before_anything_is_written(
    hub: RunningHub, source: Source
) -> None:
    hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
    others(hub, VARIANT, branch="main")
    before = references(hub)
    with pytest.raises(ReleaseError, match="only its owner"):
        release(hub, source, on_main(source))
    assert references(hub) == before


def test_a_lost_answer_to_the_commit_on_main_does_no_harm(hub: RunningHub, source: Source) -> None:
    hub.faults.plan(Fault(endpoint="commit", kind=FaultKind.REPLY_LOST, skip=1))
    release(hub, source, on_main(source))
    titles = [each.title for each in hub.api(None).list_repo_commits(REPOSITORY, repo_type=KERNEL)]
    assert titles.count(f"Card of {TAG}") == 1
    assert built(tree(hub, "main")) == built(tree(hub, BRANCH))


def test_a_withdrawn_release_is_gone_from_main_too(hub: RunningHub, source: Source, changed: Source) -> None:
    first = release(hub, source, on_main(source))
    release(hub, changed, on_main(changed))
    yank(hub, source, "v2.1.0")
    ours = {path: file for path, file in tree(hub, first.commit).items() if path.startswith("build/")}
    for branch in ("main", BRANCH):
        assert {path: file for path, file in tree(hub, branch).items() if path.startswith("build/")} == ours, branch


def test_only_version_1_may_be_asked_onto_main(source: Source, tmp_path: Path, commands: Verbs) -> None:
    words = ("release", "--tag", TAG, "--hub", "embedded", "--allow-untested", "--builds-on-main", "--dry-run")
    done = ask(commands, source, *words, home=tmp_path)
    assert (done.returncode, "is version 1, and" in done.stderr) == (2, True), done.stderr


def test_an_earlier_release_again_changes_nothing_on_main(hub: RunningHub, source: Source, changed: Source) -> None:
    release(hub, source, on_main(source))
    release(hub, changed, on_main(changed))
    before = references(hub)
    assert release(hub, source, on_main(source)).already
    assert references(hub) == before
    yank(hub, source, "v2.1.0")
    release(hub, source, on_main(source))
    card = hub.api(None).hf_hub_download(REPOSITORY, "README.md", repo_type=KERNEL, local_dir=hub.home)
    assert f"## Release {TAG}" in Path(card).read_text(), "the later one is withdrawn"


# -- pre-releases --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def preliminary(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return make_source(tmp_path_factory.mktemp("preliminary"), tag=PRELIMINARY, line="PRELIMINARY = True")


@pytest.mark.needs_llvm
def test_a_pre_release_is_found_by_its_tag_and_by_no_version(
    hub: RunningHub, source: Source, preliminary: Source, tmp_path: Path, hip_stub: StubBuilder
) -> None:
    stable = release(hub, source)
    card = tree(hub, "main")
    early = release(hub, preliminary)
    branches, tags = references(hub)
    assert tags == {TAG: stable.commit, PRELIMINARY: early.commit}
    assert branches.keys() == {"main", BRANCH, f"pre/{PRELIMINARY}"}
    assert (branches[BRANCH], branches[f"pre/{PRELIMINARY}"]) == (stable.commit, early.commit)
    assert tree(hub, "main") == card, "users of the page see the last release"
    place = Place(hub=hub, commit=stable.commit, stub=hip_stub(hip_soname(DIST / "kernels/scale/build" / VARIANT)))
    script = "".join(
        f'place = kernels.install_kernel("{REPOSITORY}", trust_remote_code=True, {named})\n'
        'print((place / "__init__.py").read_text())\n'
        for named in ("version=2", f'revision="{PRELIMINARY}"')
    )
    (tmp_path / "user").mkdir()
    found = user(place, tmp_path / "user", script)
    assert found.count("PRELIMINARY = True") == 1
    assert found[-2:].count("PRELIMINARY = True") == 1, "by its tag"
    assert release(hub, preliminary) == Released(commit=early.commit, already=True)


def test_the_release_after_a_pre_release_is_compared_with_the_last_real_one(
    hub: RunningHub, source: Source, preliminary: Source, changed: Source
) -> None:
    first = release(hub, source)
    early = release(hub, preliminary)
    released = release(hub, changed)
    assert references(hub)[1] == {TAG: first.commit, PRELIMINARY: early.commit, "v2.1.0": released.commit}
    assert built(tree(hub, released.commit)) != built(tree(hub, early.commit))


def test_a_first_pre_release_makes_no_version_branch(hub: RunningHub, preliminary: Source) -> None:
    release(hub, preliminary)
    assert references(hub)[0].keys() == {"main", f"pre/{PRELIMINARY}"}
