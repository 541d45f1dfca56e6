"""A release on the embedded Hub, by the real client: complete or absent, repeated without harm, others untouched."""

import json
import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, snapshot_download

from rocmatrix.collect.stage import collect_kernels
from rocmatrix.errors import ReleaseError
from rocmatrix.events import discard
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.release.api_hub import ApiHub
from rocmatrix.release.credentials import Credential
from rocmatrix.release.persistence import Patience, Persistence, SystemClock
from rocmatrix.release.publication import Released, Wanted
from rocmatrix.release.serving import misserved
from rocmatrix.release.stage import publish
from rocmatrix.release.trees import Tree
from rocmatrix.release.view import View
from rocmatrix.release.withdrawal import Withdrawn, withdraw
from tests.system.hub import READER, STRANGER, WRITER, RunningHub
from tests.system.release_source import REPOSITORY, Source, git, make_source
from tests.system.verbs import Verbs

KERNEL = "kernel"
SECONDS = 120
BRANCH, TAG, STAGING = "v2", "v2.0.0", "staging/v2.0.0"
QUICK = Patience(first_wait=0.01)
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


def release(hub: RunningHub, source: Source, wanted: Wanted | None = None, token: str = WRITER) -> Released:
    there = ApiHub(hub.endpoint, Credential(token=token, source="a test"))
    what = wanted or source.wanted()
    return publish(what, there, store=source.store, emit=discard, credential="a test", patience=QUICK)


def tree(hub: RunningHub, revision: str) -> Tree:
    return ApiHub(hub.endpoint, Credential(token=None, source="")).tree(REPOSITORY, revision)


def references(hub: RunningHub) -> tuple[dict[str, str], dict[str, str]]:
    found = ApiHub(hub.endpoint, Credential(token=None, source="")).references(REPOSITORY)
    return (dict(found.branches), dict(found.tags)) if found else ({}, {})


def others(hub: RunningHub, name: str, branch: str = BRANCH) -> dict[str, bytes]:
    """Let somebody else publish a variant; return its files."""
    metadata = {"name": "scale", "id": "scale_cuda", "version": 2, "license": "mit", "python-depends": []}
    metadata["backend"] = {"type": "cuda"}
    files = {
        f"build/{name}/metadata.json": json.dumps(metadata).encode(),
        f"build/{name}/k.abi3.so": b"\x7fELF\0others",
    }
    operations = [CommitOperationAdd(path, content) for path, content in files.items()]
    hub.api().create_commit(REPOSITORY, operations, commit_message="theirs", revision=branch, repo_type=KERNEL)
    return files


# -- what a release leaves -----------------------------------------------------------------------------------------


def test_a_first_release_is_all_there(hub: RunningHub, source: Source, tmp_path: Path) -> None:
    released = release(hub, source)
    branches, tags = references(hub)
    assert branches.keys() == {"main", BRANCH}, "the staging branch is gone"
    assert tags == {TAG: released.commit} == {TAG: branches[BRANCH]}
    folder = Path(
        snapshot_download(REPOSITORY, repo_type=KERNEL, revision=TAG, endpoint=hub.endpoint, local_dir=tmp_path / "x")
    )
    published = source.store.variants_folder("scale")
    for path in published.rglob("*"):
        if path.is_file():
            assert (folder / "build" / path.relative_to(published)).read_bytes() == path.read_bytes()
    assert (folder / "benchmarks/benchmark_scale.py").is_file()
    assert all(file.sha256 for path, file in tree(hub, TAG).items() if path.endswith(".so")), "binaries are in LFS"
    card = hub.api().hf_hub_download(REPOSITORY, "README.md", repo_type=KERNEL, local_dir=tmp_path / "card")
    assert f"Release {TAG}" in Path(card).read_text()
    assert r"on the host\, in no container" in Path(card).read_text(), "how it was built is told"


def test_the_same_release_again_writes_nothing(hub: RunningHub, source: Source) -> None:
    first = release(hub, source)
    hub.traffic.clear()
    again = release(hub, source)
    assert again == Released(commit=first.commit, already=True)
    assert {exchange.method for exchange in hub.traffic.exchanges} <= {"GET", "HEAD"}


def test_the_next_version_uploads_only_what_changed(hub: RunningHub, source: Source, changed: Source) -> None:
    first = release(hub, source)
    hub.traffic.clear()
    second = release(hub, changed)
    assert not [each for each in hub.traffic.exchanges if each.endpoint in {"lfs-put", "lfs-part"}]
    assert tree(hub, first.commit) != tree(hub, second.commit)
    assert references(hub)[1] == {TAG: first.commit, "v2.1.0": second.commit}


def test_other_content_under_the_same_tag_is_refused_with_the_difference(
    hub: RunningHub, source: Source, tmp_path: Path
) -> None:
    first = release(hub, source)
    with pytest.raises(ReleaseError, match=r"has other bytes in build/.*rocm72.*__init__\.py"):
        release(hub, make_source(tmp_path / "again", line="CHANGED = True"))
    assert references(hub)[1] == {TAG: first.commit}


def test_a_gitignore_of_the_repository_hides_nothing(hub: RunningHub, source: Source) -> None:
    hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
    ignore = CommitOperationAdd(".gitignore", b"build/\n*.so\n")
    hub.api().create_commit(REPOSITORY, [ignore], commit_message="m", repo_type=KERNEL)
    released = release(hub, source)
    assert [path for path in tree(hub, released.commit) if path.endswith(".so")]


# -- other people's variants ---------------------------------------------------------------------------------------


def test_other_peoples_variants_stay_byte_for_byte(hub: RunningHub, source: Source, changed: Source) -> None:
    release(hub, source)
    theirs = others(hub, "torch213-cxx11-cu130-x86_64-linux")
    before = {path: file for path, file in tree(hub, BRANCH).items() if path in theirs}
    release(hub, changed)
    assert {path: file for path, file in tree(hub, BRANCH).items() if path in theirs} == before


def test_a_variant_of_ours_that_is_promised_no_more_is_removed_if_that_is_meant(
    hub: RunningHub, source: Source, tmp_path: Path
) -> None:
    release(hub, source)
    smaller = make_source(tmp_path / "smaller", tag="v2.1.0", rocms=["7.2"])
    with pytest.raises(ReleaseError, match=r"torch2\.10-rocm7\.1") as caught:
        release(hub, smaller)
    assert "--drop" in str(caught.value)
    assert references(hub)[1].keys() == {TAG}
    drop = frozenset(word for word in str(caught.value).split() if word.startswith("torch"))
    release(hub, smaller, smaller.wanted(drop=drop))
    assert not [path for path in tree(hub, BRANCH) if "rocm71" in path]


def test_somebody_elses_variant_of_the_same_name_is_not_replaced(hub: RunningHub, source: Source) -> None:
    hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
    hub.api().create_branch(REPOSITORY, branch=BRANCH, repo_type=KERNEL)
    others(hub, "torch-stable-abi210-rocm72-x86_64-linux")
    before = tree(hub, BRANCH)
    with pytest.raises(ReleaseError, match="only its owner"):
        release(hub, source)
    assert tree(hub, BRANCH) == before


def test_a_variant_that_would_shadow_ours_stops_the_release(hub: RunningHub, source: Source) -> None:
    hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
    hub.api().create_branch(REPOSITORY, branch=BRANCH, repo_type=KERNEL)
    others(hub, "torch-stable-abi213-rocm72-x86_64-linux")
    before = references(hub)
    with pytest.raises(ReleaseError, match="would not get what was made for them"):
        release(hub, source)
    branches, tags = references(hub)
    assert (branches[BRANCH], tags) == (before[0][BRANCH], {})


# -- refusals before anything is written ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowances", "said"),
    [
        ({"untested": False}, "nothing has executed"),
        ({"host_builds": False}, "not built in a container"),
        ({"toolchains": frozenset({"almalinux"})}, "does not allow the toolchain"),
    ],
)
def test_what_the_author_did_not_allow_is_refused(source: Source, allowances: dict[str, object], said: str) -> None:
    with pytest.raises(ReleaseError, match=said):
        source.wanted(**allowances)


def test_a_tag_that_is_not_the_built_commit_is_refused(tmp_path: Path) -> None:
    made = make_source(tmp_path)
    (made.project / "scale.hip").write_text("// changed\n")
    git(made.root, "commit", "-qam", "later")
    git(made.root, "tag", "-a", "v2.0.1", "-m", "later")
    git(made.root, "tag", "light")
    for tag, said in {
        "v2.0.1": "was built from commit",
        "v2.0.2": "there is no tag",
        "v3.0.0": "major version 3",
        "light": "no tag of a release",
    }.items():
        with pytest.raises(ReleaseError, match=said):
            Source(root=made.root, store=made.store, plan=made.plan, tag=tag).wanted()


@pytest.mark.parametrize("token", [READER, STRANGER, "hf_nobodyNOBODYnobody"])
def test_who_may_not_write_is_told_what_to_ask_for(hub: RunningHub, source: Source, token: str) -> None:
    hub.api().create_repo(REPOSITORY, repo_type=KERNEL)
    before = references(hub)
    with pytest.raises(ReleaseError) as caught:
        release(hub, source, token=token)
    assert token not in str(caught.value)
    assert "role write" in str(caught.value) or "credential" in str(caught.value)
    assert references(hub) == before


# -- withdrawing ---------------------------------------------------------------------------------------------------


def ours(files: Tree) -> Tree:
    return {path: file for path, file in files.items() if path.startswith("build/torch-stable-abi")}


def yank(hub: RunningHub, source: Source, tag: str) -> Withdrawn:
    there = ApiHub(hub.endpoint, Credential(token=WRITER, source="a test"))
    persistence = Persistence(SystemClock(), QUICK, lambda _: None)
    view = View(hub=there, persistence=persistence, repository=REPOSITORY)
    return withdraw(view, source.kernel, tag, "wrong numbers for K = 384", lambda _: None)


def test_a_withdrawn_release_gives_users_the_one_before_and_keeps_its_tag(
    hub: RunningHub, source: Source, changed: Source, tmp_path: Path
) -> None:
    first, second = release(hub, source), release(hub, changed)
    theirs = others(hub, "torch213-cxx11-cu130-x86_64-linux")
    withdrawn = yank(hub, source, "v2.1.0")
    assert (withdrawn.restored, withdrawn.changed) == (TAG, True)
    now = tree(hub, BRANCH)
    assert ours(now) == ours(tree(hub, first.commit)) != ours(tree(hub, second.commit))
    assert theirs.keys() <= now.keys()
    assert references(hub)[1] == {TAG: first.commit, "v2.1.0": second.commit}
    assert yank(hub, source, "v2.1.0").commit == withdrawn.commit
    release(hub, make_source(tmp_path / "third", tag="v2.2.0", line="THIRD = True"))
    card = hub.api().hf_hub_download(REPOSITORY, "README.md", repo_type=KERNEL, local_dir=tmp_path / "card")
    assert r"`v2.1.0`: wrong numbers for K \= 384" in Path(card).read_text()


def test_the_only_release_withdrawn_leaves_other_peoples_variants(hub: RunningHub, source: Source) -> None:
    release(hub, source)
    theirs = others(hub, "torch213-cxx11-cu130-x86_64-linux")
    assert yank(hub, source, TAG).restored is None
    assert {path for path in tree(hub, BRANCH) if path.startswith("build/")} == set(theirs)


# -- the command line ----------------------------------------------------------------------------------------------


def placed(source: Source, *words: str) -> tuple[str, ...]:
    return (*words, "--matrix", str(source.root / "matrix.yaml"), "--out", str(source.store.root))


def ask(commands: Verbs, source: Source, *words: str, home: Path) -> subprocess.CompletedProcess[str]:
    return commands.run(*placed(source, *words), ROCMATRIX_HUB=str(home / "hub"))


def command(source: Source, *words: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rocmatrix", *placed(source, *words)],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "HF_HOME": str(home),
            "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
            "ROCMATRIX_HUB": str(home / "hub"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def test_a_rehearsal_shows_what_every_user_downloads_and_what_would_stop_the_release(
    source: Source, tmp_path: Path, commands: Verbs
) -> None:
    journal = source.store.kernel_folder("scale") / "release.json"
    journal.unlink(missing_ok=True)
    done = ask(commands, source, "rehearse", "--no-run", "--tag", "v2.9.9", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    rehearsal = json.loads(done.stdout)
    served = {(cell.torch, cell.rocm): cell.unit for cell in source.plan.cells if cell.unit}
    assert {(got["torch"], got["rocm"]): got["variant"] for got in rehearsal["users"]} == {
        pair: source.plan.unit(unit).variant for pair, unit in served.items()
    }
    assert ["there is no tag v2.9.9" in said for said in rehearsal["objections"]] == [True]
    assert not journal.exists(), "a rehearsal is no release"


def test_an_embedded_hub_keeps_what_was_released_to_it(tmp_path: Path, commands: Verbs) -> None:
    made = make_source(tmp_path / "made")
    words = ("release", "--tag", TAG, "--hub", "embedded")
    refused = ask(commands, made, *words, home=tmp_path)
    assert (refused.returncode, "--allow-untested" in refused.stderr) == (7, True)
    dry = ask(commands, made, *words, "--allow-untested", "--dry-run", home=tmp_path)
    assert (dry.returncode, list((tmp_path / "hub").glob("kernels/*"))) == (0, [])
    typo = ask(commands, made, *words, "--allow-untested", "--dry-run", "--drop", "torch2.13-rocm72", home=tmp_path)
    assert (typo.returncode, "Did you mean torch2.13-rocm7.2?" in typo.stderr) == (2, True), typo.stderr
    first, again = (command(made, *words, "--allow-untested", home=tmp_path) for _ in range(2))
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert first.stdout.startswith("released: v2.0.0")
    assert again.stdout.startswith("already released: v2.0.0")
    token = (tmp_path / "hub/token").read_text().strip()
    assert token not in first.stdout + first.stderr + (made.store.kernel_folder("scale") / "release.json").read_text()


def test_a_release_of_fewer_promises_than_matrix_yaml_has_is_refused(tmp_path: Path, commands: Verbs) -> None:
    made = make_source(tmp_path / "made")
    kept = tuple(cell for cell in made.plan.cells if cell.torch != "2.13")
    made.store.write_plan(replace(made.plan, cells=kept))
    for verb in (("release", "--hub", "embedded", "--allow-untested", "--dry-run"), ("rehearse", "--no-run")):
        done = ask(commands, made, *verb, "--tag", TAG, home=tmp_path)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "it lacks the cell 'scale.torch2.13-rocm7.1'" in done.stderr


def test_why_says_what_a_user_gets_and_what_would_fail(tmp_path: Path, commands: Verbs) -> None:
    made = make_source(tmp_path / "made")
    words = ("release", "--tag", TAG, "--hub", "embedded", "--allow-untested")
    assert ask(commands, made, *words, home=tmp_path).returncode == 0

    def why(*words: str) -> tuple[int, dict[str, object]]:
        machine = ("--torch", "2.13", "--hub", "embedded", "--json")
        done = ask(commands, made, "why", *words, *machine, home=tmp_path)
        return done.returncode, json.loads(done.stdout)

    code, found = why(f"{REPOSITORY}@{TAG}", "--rocm", "7.2", "--arch", "gfx942")
    assert (code, found["variant"], found["objection"]) == (0, "torch-stable-abi210-rocm72-x86_64-linux", None)
    code, found = why(REPOSITORY, "--rocm", "7.2", "--arch", "gfx90a")
    assert code == 7
    assert "gfx90a" in str(found["objection"])
    code, found = why(REPOSITORY, "--rocm", "6.4")
    assert (code, found["variant"]) == (7, None)
    assert "does not match" in str(found["verdicts"])
    assert why(f"{REPOSITORY}@9", "--rocm", "7.2")[0] == 2
    code, refusal = why("acme/none", "--rocm", "7.2")
    assert (code, "Check the name" in str(refusal)) == (2, True)


def test_a_hub_that_cannot_be_reached_is_no_failed_release(source: Source, tmp_path: Path, commands: Verbs) -> None:
    with socket.socket() as taken:  # bound, and nobody listens there
        taken.bind(("127.0.0.1", 0))
        hub = ("--hub", f"http://127.0.0.1:{taken.getsockname()[1]}")
        looks = [("why", REPOSITORY, "--torch", "2.13", "--rocm", "7.2", *hub), ("diff", TAG, *hub)]
        with ThreadPoolExecutor() as pool:  # each waits three seconds
            ends = list(pool.map(lambda words: command(source, *words, home=tmp_path), looks))
    assert [done.returncode for done in ends] == [3, 3]
    assert all("Check the network and HF_ENDPOINT" in done.stderr for done in ends)
    nowhere = ask(commands, source, "diff", TAG, "--hub", "embedded", home=tmp_path)
    assert (nowhere.returncode, "Check the name" in nowhere.stderr) == (2, True)


@pytest.mark.parametrize("status", [403, 418])
def test_a_hub_that_does_not_let_one_look_is_no_failed_release(
    hub: RunningHub, source: Source, tmp_path: Path, commands: Verbs, status: int
) -> None:
    hub.faults.plan(Fault(endpoint="*", kind=FaultKind.STATUS, status=status, count=9))
    done = ask(commands, source, "diff", TAG, "--hub", hub.endpoint, home=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "Check --hub or HF_ENDPOINT, and that the token may read it" in done.stderr


def test_a_rehearsal_of_an_incomplete_set_stages_nothing(tmp_path: Path, commands: Verbs) -> None:
    made = make_source(tmp_path / "made")
    lacking, *_ = [unit for unit in made.plan.units if unit.rocm == "7.2"]
    shutil.rmtree(made.store.root / "units" / lacking.id)
    collect_kernels(made.plan, source_root=made.root, store=made.store, emit=discard)
    done = ask(commands, made, "rehearse", "--no-run", "--tag", TAG, home=tmp_path)
    assert done.returncode == 7
    assert "the set is not complete" in done.stderr
    assert "Run `rocmatrix run`" in done.stderr
    assert "staging" not in done.stderr


def test_a_promise_that_nothing_serves_is_said_as_such(source: Source) -> None:
    missing = misserved(source.plan, "scale", ())
    assert len(missing) == len([cell for cell in source.plan.cells if cell.unit])
    for each in missing:
        assert str(each).endswith(f"but the client finds nothing: {each.wanted} is not there")
        assert not each.shadowed
