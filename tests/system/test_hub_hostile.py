"""The embedded Hub under bad input: hostile requests are refused and change nothing, and its folder survives kills."""

import base64
import hashlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import quote

import pytest
import requests
from dulwich.objects import Blob, Tree
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from rocmatrix.cli.main import main
from rocmatrix.errors import InputError
from rocmatrix.hubserver.accounts import Accounts
from rocmatrix.hubserver.hub import Hub
from tests.system.hub import OWNER, STRANGER, WRITER, RunningHub, serving

KERNEL = "kernel"
NAME, PRIVATE = f"{OWNER}/target", f"{OWNER}/hidden"
API = f"/api/kernels/{NAME}"
OBJECTS = f"/kernels/{NAME}.git/info/lfs/objects"
SECONDS = 60
CONTENT = b"hello \0 world"
OID = hashlib.sha256(CONTENT).hexdigest()
SOURCE = Path(__file__).parents[2] / "src"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub")) as running:
        api = running.api()
        api.create_repo(NAME, repo_type=KERNEL)
        api.create_repo(PRIVATE, repo_type=KERNEL, private=True)
        files = [CommitOperationAdd("folder/file", b"1"), CommitOperationAdd("in-private", b"2")]
        api.create_commit(NAME, files[:1], commit_message="m", repo_type=KERNEL)
        api.create_commit(PRIVATE, files[1:], commit_message="m", repo_type=KERNEL)
        api.create_branch(NAME, branch="group/member", repo_type=KERNEL)
        assert ask(running, "PUT", upload_address(running, PRIVATE), None, data=CONTENT).status_code == 200
        yield running


def ask(hub: RunningHub, method: str, path: str, token: str | None = WRITER, **more: object) -> requests.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return requests.request(
        method,
        path if path.startswith("http") else hub.endpoint + path,
        headers={**headers, **more.pop("headers", {})},  # type: ignore[dict-item]
        timeout=SECONDS,
        **more,  # type: ignore[arg-type]
    )


def lines(*operations: Mapping[str, object], summary: str = "m", parent: str | None = None) -> str:
    header = {"key": "header", "value": {"summary": summary, **({} if parent is None else {"parentCommit": parent})}}
    return "\n".join(json.dumps(line) for line in (header, *operations))


def file(path: str, content: str = "YQ==") -> Mapping[str, object]:
    return {"key": "file", "value": {"path": path, "content": content}}


def state(hub: RunningHub) -> dict[str, str]:
    refs = hub.api().list_repo_refs(NAME, repo_type=KERNEL)
    return {each.ref: each.target_commit for each in (*refs.branches, *refs.tags)}


LARGE = {"key": "lfsFile", "value": {"path": "x.so", "oid": "0" * 64, "size": -1}}
COMMITS = {
    "a path below a file": lines(file("folder/file/x")),
    "a file over a folder": lines(file("folder")),
    "a file and a folder at once": lines(file("new"), file("new/x")),
    "content that is not ASCII": lines(file("a", "é")),
    "content that is not base64": lines(file("a", "%%")),
    "half a surrogate pair": lines(file("a")).replace('"a"', '"\\ud800"'),
    "a zero byte in the message": lines(file("a"), summary="a\0b"),
    "an empty parent": lines(file("a"), parent=""),
    "a parent of one digit": lines(file("a"), parent="a"),
    "an LFS object of no bytes": lines(LARGE),
    "an LFS object by a path": lines({"key": "lfsFile", "value": {"path": "x", "oid": "../../x", "size": 1}}),
    "an unknown operation": lines({"key": "chmod", "value": {"path": "a"}}),
    "no header": json.dumps(file("a")),
    "nothing": "",
    "brackets without end": "[" * 100_000,
}


@pytest.mark.parametrize("body", COMMITS.values(), ids=COMMITS.keys())
def test_a_commit_that_cannot_be_is_refused(hub: RunningHub, body: str) -> None:
    before = state(hub)
    answer = ask(hub, "POST", f"{API}/commit/main", data=body.encode())
    assert answer.status_code in {400, 412, 422}, answer.text
    assert answer.json()["error"]
    assert state(hub) == before


REVISIONS = (
    "../../hidden.git/refs/heads/main",
    "refs/heads/../../../hidden.git/refs/heads/main",
    "refs/heads/",
    "refs",
    "\0",
    "a\nb",
    "-x",
    "@{u}",
    "a..b",
    "group",
    "x" * 255,
    "x/" * 600 + "x",
    "\udcff",
    "main.lock",
    "group/member/below",
)


@pytest.mark.parametrize("revision", REVISIONS, ids=ascii)
def test_a_revision_that_cannot_be_is_refused_everywhere(hub: RunningHub, revision: str) -> None:
    before = state(hub)
    quoted = quote(revision, safe="", errors="surrogateescape")
    for method, path, body in (
        ("GET", f"{API}/revision/{quoted}", None),
        ("GET", f"{API}/tree/{quoted}", None),
        ("GET", f"{API}/commits/{quoted}", None),
        ("GET", f"/kernels/{NAME}/resolve/{quoted}/folder/file", None),
        ("POST", f"{API}/commit/{quoted}", lines(file("a"))),
        ("POST", f"{API}/branch/{quoted}", json.dumps({"startingPoint": "none"})),
        ("DELETE", f"{API}/branch/{quoted}", None),
        ("POST", f"{API}/tag/{quoted}", json.dumps({"tag": "t"})),
    ):
        answer = ask(hub, method, path, data=body)
        assert 400 <= answer.status_code < 500, (method, path, answer.status_code, answer.text)
    assert state(hub) == before


@pytest.mark.parametrize("name", ["group", "group/member/below", "0" * 40, "x" * 255, "-d", "a b", "a.lock"])
def test_a_branch_that_git_could_not_have_is_refused(hub: RunningHub, name: str) -> None:
    answer = ask(hub, "POST", f"{API}/branch/{quote(name, safe='')}", json={})
    assert answer.status_code in {400, 409}, answer.text


@pytest.mark.parametrize(
    "name", ["../x", "a..b", "a--b", "x.git", "-a", "a" * 97, "a\0", "x.partial-1", "x.aside-1", ""]
)
def test_a_repository_that_cannot_be_named_so_is_not_made(hub: RunningHub, name: str) -> None:
    answer = ask(hub, "POST", "/api/repos/create", json={"name": name, "organization": OWNER, "type": KERNEL})
    assert answer.status_code == 404


REQUESTS: Mapping[str, tuple[str, str, Mapping[str, object], int]] = {
    "too many paths": ("POST", f"{API}/paths-info/main", {"data": "&".join(["paths=a"] * 10_050)}, 413),
    "a sample that is not ASCII": (
        "POST",
        f"{API}/preupload/main",
        {"json": {"files": [{"path": "a", "size": -3, "sample": "é"}]}},
        400,
    ),
    "brackets in a card": ("POST", "/api/validate-yaml", {"json": {"content": f"---\n{'[' * 9000}\n---\n"}}, 400),
    "an object of the size -1": ("PUT", f"{OBJECTS}/{OID}/-1", {"data": b""}, 404),
    "no signature": ("PUT", f"{OBJECTS}/{OID}/{len(CONTENT)}", {"data": CONTENT}, 403),
    "a signature that is not ASCII": ("PUT", f"{OBJECTS}/{OID}/13?expires=1&signature=%C3%A9", {"data": CONTENT}, 403),
    "a part that was not offered": ("PUT", f"{OBJECTS}/{OID}/13/part/0?expires=1&signature=0", {"data": b""}, 403),
    "a tree above the root": ("GET", f"{API}/tree/main/{quote('../..', safe='')}", {}, 400),
    "a file of no name": ("GET", f"/kernels/{NAME}/resolve/main/%00", {}, 400),
    "a password that cannot be read": ("GET", API, {"headers": {"Authorization": "Basic !!!"}}, 401),
    "a token that is not ASCII": ("GET", API, {"headers": {"Authorization": "Bearer é".encode()}}, 401),
    "a lock above the root": ("POST", f"/kernels/{NAME}.git/info/lfs/locks", {"json": {"path": "../x"}}, 400),
    "a type that is not here": ("POST", "/api/repos/create", {"json": {"name": "k", "type": "space"}}, 400),
    "half a document": ("POST", "/api/repos/create", {"data": "{"}, 400),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_that_cannot_be_is_refused(hub: RunningHub, name: str) -> None:
    method, path, more, status = REQUESTS[name]
    answer = ask(hub, method, path, **more)  # type: ignore[arg-type]
    assert answer.status_code == status, answer.text
    assert WRITER not in answer.text + str(answer.headers)


@pytest.mark.parametrize(
    "span", ["bytes=5-2", "bytes=-5", b"bytes=\xb2-", f"bytes={'9' * 5000}-", "bytes=0-0,2-3", "x=1"]
)
def test_a_range_that_cannot_be_harms_nothing(hub: RunningHub, span: str | bytes) -> None:
    answer = ask(hub, "GET", f"/kernels/{NAME}/resolve/main/folder/file", headers={"Range": span})
    assert answer.status_code in {200, 416}


# -- rights --------------------------------------------------------------------------------------------------------


def upload_address(hub: RunningHub, name: str) -> str:
    body: dict[str, Any] = {"operation": "upload", "objects": [{"oid": OID, "size": len(CONTENT)}]}
    answer = ask(hub, "POST", f"/kernels/{name}.git/info/lfs/objects/batch", json=body)
    assert WRITER not in answer.text, "nor is the token of who asks in an answer"
    actions = answer.json()["objects"][0]["actions"]
    assert ask(hub, "POST", actions["verify"]["href"] + "0", None, json=body["objects"][0]).status_code == 403
    assert ask(hub, "POST", actions["verify"]["href"], None, json=body["objects"][0]).status_code == 404, "not yet"
    return str(actions["upload"]["href"])


def test_an_upload_address_is_good_for_one_object_of_one_repository(hub: RunningHub) -> None:
    address = upload_address(hub, NAME)
    assert WRITER not in address
    other = hashlib.sha256(b"other").hexdigest()
    for changed, content, status in (
        (address.replace(OID, other), b"other", 403),
        (address.replace(NAME, PRIVATE), CONTENT, 403),
        (address.replace("expires=", "expires=9"), CONTENT, 403),
        (address, CONTENT[:5], 422),
        (address, b"x" * len(CONTENT), 422),
        (address, CONTENT * 1000, 413),
    ):
        assert ask(hub, "PUT", changed, None, data=content).status_code == status
    assert ask(hub, "PUT", address, None, data=CONTENT).status_code == 200


def test_an_upload_to_a_deleted_repository_brings_nothing_back(hub: RunningHub) -> None:
    name = f"{OWNER}/gone"
    hub.api().create_repo(name, repo_type=KERNEL)
    address = upload_address(hub, name)
    hub.api().delete_repo(name, repo_type=KERNEL)
    assert ask(hub, "PUT", address, None, data=CONTENT).status_code == 404
    with pytest.raises(RepositoryNotFoundError):
        hub.api().kernel_info(name)
    hub.api().create_repo(name, repo_type=KERNEL)


@pytest.mark.parametrize("token", [STRANGER, None])
def test_nothing_private_is_read_by_others(hub: RunningHub, token: str | None) -> None:
    head = hub.api().kernel_info(PRIVATE).sha
    batch = {"operation": "download", "objects": [{"oid": OID, "size": len(CONTENT)}]}
    for method, path, body in (
        ("GET", f"/kernels/{PRIVATE}/resolve/main/in-private", None),
        ("GET", f"/kernels/{PRIVATE}.git/info/refs?service=git-upload-pack", None),
        ("GET", f"/kernels/{PRIVATE}.git/info/lfs/objects/{OID}/{len(CONTENT)}", None),
        ("POST", f"/kernels/{PRIVATE}.git/info/lfs/objects/batch", batch),
        ("GET", f"/kernels/{PRIVATE}.git/info/lfs/locks", None),
        ("GET", f"{API}/revision/{head}", None),
    ):
        by_git = token is None and ("info/refs" in path or path.endswith("batch"))  # both wait to be asked for one
        assert ask(hub, method, path, token, json=body).status_code in ({401} if by_git else {403, 404}), path


# -- git -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def clone(hub: RunningHub, tmp_path: Path) -> Path:
    git(hub, tmp_path, "clone", "-q", f"{hub.endpoint.replace('://', f'://ann:{WRITER}@')}/kernels/{NAME}", "clone")
    return tmp_path / "clone"


def git(hub: RunningHub, folder: Path, *arguments: str, content: bytes = b"", refused: bool = False) -> str:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=folder,
        env=hub.environment(),
        input=content,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    assert (done.returncode != 0) is refused, done.stderr.decode()
    return done.stdout.decode().strip()


def test_what_git_pushes_is_listed_or_refused(hub: RunningHub, clone: Path) -> None:
    """Tags of files, git's own folder, links, submodules, names that are no UTF-8, pointers that lie."""
    blob = git(hub, clone, "hash-object", "-w", "--stdin", content=b"/etc/passwd")
    git(hub, clone, "push", "-q", "origin", f"{blob}:refs/tags/of-a-file", "HEAD:refs/pr/word")
    tree = git(hub, clone, "mktree", content=f"100644 blob {blob}\tconfig\n".encode())
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0x' + 'f' * 62}\nsize {9**40}\n"
    lying = git(hub, clone, "hash-object", "-w", "--stdin", content=pointer.encode())
    trees = {
        "dot-git": (b"40000 .git\0" + bytes.fromhex(tree), True),
        "link": (b"120000 link\0" + bytes.fromhex(blob), False),
        "submodule": (b"160000 module\0" + b"\x11" * 20, False),
        "bytes": (b"100644 \xff\xfe\0" + bytes.fromhex(blob), False),
        "pointer": (b"100644 p.so\0" + bytes.fromhex(lying), False),
    }
    for branch, (content, refused) in trees.items():
        made = git(hub, clone, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", content=content)
        commit = git(hub, clone, "commit-tree", made, "-p", "HEAD", "-m", "m")
        git(hub, clone, "push", "-q", "origin", f"{commit}:refs/heads/{branch}", refused=refused)
        for path in (f"tree/{branch}?recursive=true", f"revision/{branch}"):
            assert ask(hub, "GET", f"{API}/{path}").status_code == (404 if refused else 200)
    assert ask(hub, "GET", f"/kernels/{NAME}/resolve/link/link").content == b"/etc/passwd"
    assert ask(hub, "GET", f"/kernels/{NAME}/resolve/submodule/module/x").status_code == 404
    assert ask(hub, "GET", f"/kernels/{NAME}/resolve/pointer/p.so").content == pointer.encode()
    for path in ("tree/of-a-file", "revision/of-a-file", "commits/of-a-file"):
        assert ask(hub, "GET", f"{API}/{path}").status_code == 404
    assert "refs/tags/of-a-file" not in state(hub)
    asked = ask(hub, "POST", f"{API}/commit/main?create_pr=1", data=lines(file("asked")))
    assert asked.json()["pullRequestUrl"].endswith("/1")
    git(hub, hub.hub.root / f"kernels/{NAME}.git", "fsck", "--no-dangling", "--connectivity-only")


# -- a Hub that was killed, a disk that is full, a folder that cannot be used ------------------------------------------


def test_a_fault_of_the_server_is_said_with_its_kind_and_without_its_folder(tmp_path: Path) -> None:
    with serving(tmp_path) as hub:
        hub.api().create_repo(NAME, repo_type=KERNEL)
        (hub.hub.root / f"kernels/{NAME}.git/hub.json").unlink()
        answer = ask(hub, "GET", API)
    assert (answer.status_code, "FileNotFoundError" in answer.json()["error"]) == (500, True)
    assert str(tmp_path) not in answer.text + str(answer.headers)


def test_git_of_a_killed_server_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next server takes over the folder, and its locks, when no git of the dead one can write any more."""
    programs, begun, go = tmp_path / "programs", tmp_path / "begun", tmp_path / "go"
    programs.mkdir()
    held = f"touch {begun}; for i in $(seq 600); do [ -e {go} ] || sleep 0.05; done"
    (programs / "git").write_text(f'#!/bin/sh\n[ "$1" = http-backend ] && {{ {held}; }}\nexec {which("git")} "$@"\n')
    (programs / "git").chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{path}")
    with served(tmp_path / "hub") as (process, api):
        api.create_repo(NAME, repo_type=KERNEL)
        asking = ["git", "ls-remote", f"{api.endpoint}/kernels/{NAME}"]
        client = subprocess.Popen(asking, env={"PATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + SECONDS
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        client.communicate(timeout=SECONDS)
    monkeypatch.setattr("rocmatrix.hubserver.hub._DEAD_SERVER_SECONDS", 0.2)
    with pytest.raises(InputError, match="git of a Hub that was killed still writes there"):
        Hub(tmp_path / "hub", Accounts(()))
    monkeypatch.undo()
    go.touch()
    Hub(tmp_path / "hub", Accounts(())).close()


def test_locks_of_a_dead_server_are_gone_with_the_next_one(tmp_path: Path) -> None:
    with serving(tmp_path) as hub:
        hub.api().create_repo(NAME, repo_type=KERNEL)
        repository = hub.hub.root / f"kernels/{NAME}.git"
        held = repository / "refs/heads/main.lock"
        held.touch()
        answer = ask(hub, "POST", f"{API}/commit/main", data=lines(file("a")))
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        folder = Tree()
        folder.add(b"a", 0o100644, Blob.from_string(b"stale").id)
        oid = folder.id.decode()
        (repository / f"objects/{oid[:2]}").mkdir(exist_ok=True)
        (repository / f"objects/{oid[:2]}/{oid[2:]}.lock").touch()
    with serving(tmp_path) as hub:
        body = lines(file("a", base64.b64encode(b"stale").decode()))
        assert ask(hub, "POST", f"{API}/commit/main", data=body).status_code == 200
        assert ask(hub, "GET", f"/kernels/{NAME}/resolve/main/a").content == b"stale"


@contextmanager
def served(folder: Path, *options: str, limit: int | None = None) -> Iterator[tuple[subprocess.Popen[str], HfApi]]:
    """Run ``rocmatrix hub serve`` as users do.

    Args:
        folder: of the Hub.
        options: more of them.
        limit: bytes that a file of the server may have: its disk ends there.
    """

    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = subprocess.Popen(
        [sys.executable, "-m", "rocmatrix", "hub", "serve", str(folder), "--organization", OWNER, *options],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "ROCMATRIX_HUB_TOKEN": WRITER},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restrict,  # noqa: PLW1509 - it only sets a limit
    )
    try:
        assert process.stderr
        endpoint = process.stderr.readline().strip().removeprefix("HF_ENDPOINT=")
        process.stderr.readline()
        yield process, HfApi(endpoint=endpoint, token=WRITER)
    finally:
        process.kill()
        process.communicate()


def test_a_hub_that_is_killed_keeps_every_commit_that_it_confirmed(tmp_path: Path) -> None:
    confirmed: list[str] = []
    for turn in range(3):
        with served(tmp_path / "hub") as (process, api):
            api.create_repo(NAME, repo_type=KERNEL, exist_ok=True)
            for number in range(4):
                path = f"{turn}-{number}"
                add = CommitOperationAdd(path, os.urandom(2000))
                api.create_commit(NAME, [add], commit_message=path, repo_type=KERNEL)
                confirmed.append(path)
            url = f"{api.endpoint}{API}/commit/main"
            with socket.create_connection(("127.0.0.1", int(api.endpoint.rpartition(":")[2]))) as half:
                body = lines(*(file(f"{turn}-lost-{each}") for each in range(500))).encode()
                head = (
                    f"POST {url} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {WRITER}\r\nContent-Length: {len(body)}"
                )
                half.sendall(f"{head}\r\n\r\n".encode() + body)
                process.kill()
                process.wait()
    with served(tmp_path / "hub") as (_, api):
        there = set(api.list_repo_files(NAME, repo_type=KERNEL))
        assert set(confirmed) <= there
        lost = {path.partition("-lost")[0]: 0 for path in there if "-lost-" in path}
        assert all(sum(path.startswith(f"{turn}-lost-") for path in there) == 500 for turn in lost)
        api.create_commit(NAME, [CommitOperationAdd("after", b"1")], commit_message="m", repo_type=KERNEL)
    repository = tmp_path / f"hub/kernels/{NAME}.git"
    done = subprocess.run(
        ["git", "fsck", "--strict"], cwd=repository, check=False, capture_output=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr


def test_a_full_disk_is_said_and_leaves_nothing_behind(tmp_path: Path) -> None:
    big = CommitOperationAdd("big.so", os.urandom(3 << 20))
    with served(tmp_path / "hub", limit=1 << 20) as (_, api):
        head = api.create_repo(NAME, repo_type=KERNEL) and api.kernel_info(NAME).sha
        with pytest.raises((HfHubHTTPError, RuntimeError)) as caught:
            api.create_commit(NAME, [big], commit_message="m", repo_type=KERNEL)
        assert "507" in str(caught.value.__cause__ or caught.value)
        assert api.kernel_info(NAME).sha == head
    assert not [path for path in (tmp_path / f"hub/kernels/{NAME}.git/lfs").rglob("*") if path.is_file()]
    with served(tmp_path / "hub") as (_, api):
        api.create_commit(NAME, [big], commit_message="m", repo_type=KERNEL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_told_to_stop_ends_in_order(tmp_path: Path, number: signal.Signals) -> None:
    with served(tmp_path / "hub") as (process, _):
        process.send_signal(number)
        _, said = process.communicate(timeout=SECONDS)
    assert (process.returncode, said.strip()) == (0, "stopped")


def test_a_server_that_cannot_begin_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, odd = tmp_path / "plain", tmp_path / "odd"
    plain.touch()
    (odd / "token").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for words, said in (
            ((str(plain),), "File exists"),
            ((str(plain / "below"),), "Not a directory"),
            ((str(odd),), "Is a directory"),
            ((str(tmp_path / "a"), "--user", "../x"), "no name"),
            ((str(tmp_path / "a"), "--organization", "a\nb"), "no name"),
            ((str(tmp_path / "a"), "--host", "0.0.0.0"), "no TLS"),  # noqa: S104 - it is refused
            ((str(tmp_path / "b"), "--port", str(taken.getsockname()[1])), "in use"),
        ):
            assert main(["hub", "serve", *words]) == 2, words
            assert said in capsys.readouterr().err
