"""The embedded Hub, as the unmodified clients use it: huggingface_hub, kernels, git and git-lfs."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import requests
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile

from rocmatrix.hubserver.hub import Limits
from tests.golden.make_dist import DIST
from tests.system.hub import OWNER, READER, STRANGER, WRITER, RunningHub, serving

BUILD = DIST / "kernels/scale/build"
KERNEL = "kernel"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2
SECONDS = 60


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    folder = tmp_path_factory.mktemp("hub")
    with serving(folder, limits=Limits(page=4, part=1_000_000)) as running:
        yield running


@pytest.fixture
def repository(hub: RunningHub) -> str:
    """A kernel repository of its own, with a branch ``v1``."""
    name = f"{OWNER}/kernel-{uuid4().hex[:12]}"
    hub.api().create_repo(name, repo_type=KERNEL)
    hub.api().create_branch(name, branch="v1", repo_type=KERNEL)
    return name


def variants() -> list[CommitOperationAdd]:
    files = sorted(path for path in BUILD.rglob("*") if path.is_file())
    return [CommitOperationAdd(f"build/{path.relative_to(BUILD).as_posix()}", str(path)) for path in files]


def commit(
    hub: RunningHub, name: str, *operations: CommitOperationAdd | CommitOperationDelete, parent: str | None = None
) -> str:
    return (
        hub.api()
        .create_commit(name, operations, commit_message="m", repo_type=KERNEL, revision="v1", parent_commit=parent)
        .oid
    )


def test_who_somebody_is(hub: RunningHub) -> None:
    assert hub.api().whoami()["name"] == "ann"
    with pytest.raises(HfHubHTTPError) as caught:
        hub.api("hf_nobody").whoami()
    assert caught.value.response.status_code == 401


def test_a_repository_is_created_once_and_deleted(hub: RunningHub) -> None:
    api = hub.api()
    name = f"{OWNER}/once"
    url = api.create_repo(name, repo_type=KERNEL)
    assert api.create_repo(name, repo_type=KERNEL, exist_ok=True) == url == f"{hub.endpoint}/kernels/{name}"
    with pytest.raises(HfHubHTTPError) as caught:
        api.create_repo(name, repo_type=KERNEL)
    assert caught.value.response.status_code == 409
    api.delete_repo(name, repo_type=KERNEL)
    with pytest.raises(RepositoryNotFoundError):
        api.kernel_info(name)


@pytest.mark.parametrize("token", [READER, STRANGER, None])
def test_who_has_no_right_changes_nothing(hub: RunningHub, repository: str, token: str | None) -> None:
    api = hub.api(token)
    head = hub.api().kernel_info(repository, revision="v1").sha
    add = CommitOperationAdd("a", b"a")
    for attempt in (
        lambda: api.create_commit(repository, [add], commit_message="m", repo_type=KERNEL, revision="v1"),
        lambda: api.create_branch(repository, branch="v2", repo_type=KERNEL),
        lambda: api.create_tag(repository, tag="t", repo_type=KERNEL),
        lambda: api.delete_branch(repository, branch="v1", repo_type=KERNEL),
        lambda: api.delete_repo(repository, repo_type=KERNEL),
        lambda: api.create_repo(f"{OWNER}/another", repo_type=KERNEL),
    ):
        with pytest.raises(HfHubHTTPError) as caught:
            attempt()
        assert caught.value.response.status_code in {401, 403}
    assert hub.api().kernel_info(repository, revision="v1").sha == head


def test_what_is_private_does_not_exist_for_others(hub: RunningHub) -> None:
    name = f"{OWNER}/private"
    hub.api().create_repo(name, repo_type=KERNEL, private=True)
    assert hub.api(READER).kernel_info(name).private
    for token in (STRANGER, None):
        with pytest.raises(RepositoryNotFoundError):
            hub.api(token).kernel_info(name)


def test_a_commit_is_all_of_its_operations(hub: RunningHub, repository: str, tmp_path: Path) -> None:
    """Small files, LFS objects whole and in parts, an empty file; listed over several pages, and downloaded."""
    big = os.urandom(2_500_000)
    oid = commit(hub, repository, *variants(), CommitOperationAdd("big.bin", big), CommitOperationAdd("empty", b""))
    api = hub.api(None)
    listed = api.list_repo_tree(repository, recursive=True, repo_type=KERNEL, revision="v1")
    large = {row.path: row.lfs for row in listed if isinstance(row, RepoFile)}["big.bin"]
    assert large
    assert (large.sha256, large.size) == (hashlib.sha256(big).hexdigest(), len(big))
    fetched = Path(
        snapshot_download(repository, repo_type=KERNEL, revision=oid, local_dir=tmp_path, endpoint=hub.endpoint)
    )
    assert (fetched / "big.bin").read_bytes() == big
    assert (fetched / "empty").read_bytes() == b""
    for path in BUILD.rglob("*"):
        if path.is_file():
            assert (fetched / "build" / path.relative_to(BUILD)).read_bytes() == path.read_bytes()
    assert {exchange.endpoint for exchange in hub.traffic.exchanges} >= {"lfs-part", "lfs-complete", "lfs-put"}


@pytest.mark.parametrize(
    ("beginning", "large"),
    [
        (b"a\0b", True),
        (b"\xff\xfe" * 300, True),
        (("é" * 400).encode(), False),
        (("x" + "é" * 400).encode(), False),
        (b"plain\n", False),
    ],
)
def test_what_is_no_text_goes_to_lfs(hub: RunningHub, repository: str, beginning: bytes, *, large: bool) -> None:
    commit(hub, repository, CommitOperationAdd("file", beginning))
    (row,) = hub.api().get_paths_info(repository, ["file"], repo_type=KERNEL, revision="v1")
    assert isinstance(row, RepoFile)
    assert (row.lfs is not None) == large


def test_the_same_files_again_are_no_commit_and_no_upload(hub: RunningHub, repository: str) -> None:
    head = commit(hub, repository, *variants())
    hub.traffic.clear()
    assert commit(hub, repository, *variants()) == head
    assert not [each for each in hub.traffic.exchanges if each.endpoint in {"commit", "lfs-put", "lfs-part"}]


def test_files_and_folders_are_deleted(hub: RunningHub, repository: str) -> None:
    commit(
        hub, repository, CommitOperationAdd("a/b", b"1"), CommitOperationAdd("a/c", b"2"), CommitOperationAdd("d", b"3")
    )
    commit(hub, repository, CommitOperationDelete("a/"), CommitOperationDelete("d"), CommitOperationAdd("e", b"4"))
    assert set(hub.api().list_repo_files(repository, repo_type=KERNEL, revision="v1")) == {"e"}
    with pytest.raises(HfHubHTTPError):
        commit(hub, repository, CommitOperationDelete("never"))


def test_a_commit_on_another_head_than_meant_is_refused(hub: RunningHub, repository: str) -> None:
    first = hub.api().kernel_info(repository, revision="v1").sha
    second = commit(hub, repository, CommitOperationAdd("a", b"1"), parent=first)
    with pytest.raises(HfHubHTTPError) as caught:
        commit(hub, repository, CommitOperationAdd("b", b"1"), parent=first)
    assert caught.value.response.status_code == 412
    assert hub.api().kernel_info(repository, revision="v1").sha == second


def test_branches_and_tags_are_made_once_and_found_as_revisions(hub: RunningHub, repository: str) -> None:
    api = hub.api()
    head = commit(hub, repository, CommitOperationAdd("a", b"1"))
    api.create_tag(repository, tag="v1.0.0", tag_message="first", revision=head, repo_type=KERNEL)
    with pytest.raises(HfHubHTTPError) as caught:
        api.create_tag(repository, tag="v1.0.0", revision="main", repo_type=KERNEL)
    assert caught.value.response.status_code == 409
    refs = api.list_repo_refs(repository, repo_type=KERNEL)
    assert {tag.name: tag.target_commit for tag in refs.tags} == {"v1.0.0": head}
    assert {branch.name for branch in refs.branches} == {"main", "v1"}
    for revision in (head, "v1", "refs/heads/v1", "v1.0.0", "refs/tags/v1.0.0"):
        assert api.list_repo_files(repository, repo_type=KERNEL, revision=revision) == ["a"]
    api.delete_tag(repository, tag="v1.0.0", repo_type=KERNEL)
    api.delete_branch(repository, branch="v1", repo_type=KERNEL)
    with pytest.raises(RevisionNotFoundError):
        api.kernel_info(repository, revision="v1")


def test_what_is_not_there_is_said_as_clients_expect(hub: RunningHub, repository: str) -> None:
    api = hub.api()
    with pytest.raises(RepositoryNotFoundError):
        api.kernel_info(f"{OWNER}/none")
    with pytest.raises(RevisionNotFoundError):
        api.list_repo_files(repository, repo_type=KERNEL, revision="none")
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download(repository, "none", repo_type=KERNEL, revision="v1")
    assert not api.file_exists(repository, "none", repo_type=KERNEL, revision="v1")
    assert api.get_paths_info(repository, ["none"], repo_type=KERNEL, revision="v1") == []


def test_a_pull_request_leaves_the_branch_alone(hub: RunningHub, repository: str) -> None:
    head = hub.api().kernel_info(repository, revision="v1").sha
    api = hub.api()
    made = api.create_commit(
        repository,
        [CommitOperationAdd("README.md", b"---\nlicense: mit\n---\n")],
        commit_message="m",
        repo_type=KERNEL,
        revision="v1",
        create_pr=True,
    )
    assert made.pr_revision == "refs/pr/1"
    assert api.list_repo_files(repository, repo_type=KERNEL, revision="refs/pr/1") == ["README.md"]
    assert api.kernel_info(repository, revision="v1").sha == head


def test_a_remote_gitignore_hides_files_as_on_the_hub(hub: RunningHub, repository: str) -> None:
    commit(hub, repository, CommitOperationAdd(".gitignore", b"build/\n"))
    commit(hub, repository, *variants(), CommitOperationAdd("seen", b"1"))
    assert set(hub.api().list_repo_files(repository, repo_type=KERNEL, revision="v1")) == {".gitignore", "seen"}


@pytest.mark.parametrize("path", ["../up", "a/../../up", "/absolute", ".git/config", "a/.GIT/hooks/x", "a\\b", "a\nb"])
def test_a_path_that_leaves_the_repository_is_refused(hub: RunningHub, repository: str, path: str) -> None:
    lines = [
        {"key": "header", "value": {"summary": "m", "description": ""}},
        {"key": "file", "value": {"path": path, "content": "YQ==", "encoding": "base64"}},
    ]
    url = f"{hub.endpoint}/api/kernels/{repository}/commit/v1"
    body = "\n".join(json.dumps(line) for line in lines)
    answer = requests.post(url, data=body, headers={"Authorization": f"Bearer {WRITER}"}, timeout=SECONDS)
    assert answer.status_code == 400
    assert hub.api().list_repo_files(repository, repo_type=KERNEL, revision="v1") == []


# -- git and git-lfs -----------------------------------------------------------------------------------------------


def git(hub: RunningHub, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    return subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env=hub.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


@pytest.fixture
def clone(hub: RunningHub, repository: str, tmp_path: Path) -> Path:
    assert shutil.which("git-lfs"), "git-lfs is one of the clients: install it (Debian: git-lfs)"
    commit(hub, repository, *variants(), CommitOperationAdd("big.bin", os.urandom(2_500_000)))
    assert git(hub, tmp_path, "lfs", "install", "--skip-repo").returncode == 0
    address = hub.endpoint.replace("://", f"://ann:{WRITER}@")
    done = git(hub, tmp_path, "clone", "-q", "-b", "v1", f"{address}/kernels/{repository}", "clone")
    assert done.returncode == 0, done.stderr
    return tmp_path / "clone"


def test_git_clones_what_the_api_committed(hub: RunningHub, clone: Path) -> None:
    assert (clone / "big.bin").stat().st_size == 2_500_000
    assert git(hub, clone, "lfs", "fsck").returncode == 0
    assert "big.bin" in git(hub, clone, "lfs", "ls-files").stdout


def test_git_pushes_what_the_api_reads(hub: RunningHub, repository: str, clone: Path) -> None:
    content = os.urandom(2_200_000)
    (clone / "other.bin").write_bytes(content)
    for arguments in (
        ["lfs", "track", "other.bin"],
        ["add", "."],
        ["commit", "-qm", "more"],
        ["tag", "-a", "v1.0.1", "-m", "annotated"],
        ["lfs", "lock", "big.bin"],
        ["push", "-q", "origin", "v1", "v1.0.1"],
        ["lfs", "unlock", "big.bin"],
    ):
        done = git(hub, clone, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    fetched = hub.api().hf_hub_download(
        repository, "other.bin", repo_type=KERNEL, revision="v1.0.1", local_dir=clone.parent
    )
    assert Path(fetched).read_bytes() == content


def test_git_clones_a_private_repository_for_its_members_alone(hub: RunningHub, tmp_path: Path) -> None:
    """git and git-lfs show a credential only to who asks for one: 401, where nobody may know of the repository."""
    name = f"{OWNER}/private-{uuid4().hex[:12]}"
    hub.api().create_repo(name, repo_type=KERNEL, private=True)
    content = os.urandom(2_000)
    hub.api().create_commit(name, [CommitOperationAdd("a.bin", content)], commit_message="m", repo_type=KERNEL)
    assert git(hub, tmp_path, "lfs", "install", "--skip-repo").returncode == 0
    helper = f"!f() {{ echo username=bob; echo password={READER}; }}; f"
    member = ("-c", "credential.helper=", "-c", f"credential.helper={helper}")
    done = git(hub, tmp_path, *member, "clone", "-q", f"{hub.endpoint}/kernels/{name}", "member")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "member/a.bin").read_bytes() == content
    nobody = git(hub, tmp_path, "clone", "-q", f"{hub.endpoint}/kernels/{name}", "nobody")
    assert nobody.returncode != 0
    assert "could not read Username" in nobody.stderr


def test_git_does_not_move_a_tag_or_push_without_a_right(hub: RunningHub, repository: str, clone: Path) -> None:
    hub.api().create_tag(repository, tag="v1.0.0", revision="main", repo_type=KERNEL)
    git(hub, clone, "tag", "v1.0.0")
    done = git(hub, clone, "push", "origin", "v1.0.0")
    assert done.returncode != 0
    assert "rejected" in done.stderr
    stranger = hub.endpoint.replace("://", f"://eve:{STRANGER}@")
    done = git(hub, clone, "push", f"{stranger}/kernels/{repository}", "v1:v9")
    assert done.returncode != 0
    assert "v9" not in {branch.name for branch in hub.api().list_repo_refs(repository, repo_type=KERNEL).branches}
