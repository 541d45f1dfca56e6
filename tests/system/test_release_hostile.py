"""Releases that meet what nobody wishes for: wrong addresses, broken output folders, others at work, secrets."""

import datetime as dt
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rocmatrix.cli.main import main
from rocmatrix.errors import ReleaseError, RocmatrixError
from rocmatrix.events import Event, Notice
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.hubserver.names import RepoType, repo_name
from rocmatrix.hubserver.publishers import Publisher, Publishers
from rocmatrix.release.api_hub import ApiHub, limit_requests
from rocmatrix.release.credentials import Credential
from rocmatrix.release.persistence import Patience
from rocmatrix.release.publication import Released
from rocmatrix.release.request_limits import RequestLimits
from rocmatrix.release.stage import publish
from rocmatrix.release.view import patient_view
from rocmatrix.store import Store
from tests.system.hub import OWNER, WRITER, RunningHub, serving
from tests.system.release_source import REPOSITORY, Source, git, make_source
from tests.system.test_release import BRANCH, QUICK, TAG, others, placed, references, release, tree
from tests.system.verbs import Verbs, verbs

SECONDS = 120
ISSUER, AUDIENCE, SUBJECT = "https://ci.example", "https://hub.example", "repo:acme/sources"
CLAIMS = {"job_workflow_ref": "acme/sources/.github/workflows/release.yml@refs/heads/main"}
KEY, OTHER_KEY = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
PUBLIC = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
PUBLISHERS = Publishers(
    issuer=ISSUER,
    audience=AUDIENCE,
    keys={"1": PUBLIC},
    publishers=(Publisher(repository=repo_name(RepoType.KERNEL, OWNER, "scale"), claims=CLAIMS),),
)
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RunningHub]:
    limit_requests()
    with serving(tmp_path, publishers=PUBLISHERS) as running:
        yield running


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return make_source(tmp_path_factory.mktemp("made"))


@pytest.fixture
def source(made: Source, tmp_path: Path) -> Source:
    """A copy of the source with an output folder that a test may break."""
    copy = shutil.copytree(made.store.root, tmp_path / "dist")
    return replace(made, store=Store(copy))


def command(source: Source, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    place = ("--matrix", str(source.root / "matrix.yaml"), "--out", str(source.store.root))
    return subprocess.run(
        [sys.executable, "-m", "rocmatrix", *words, *place],
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


# -- credentials ---------------------------------------------------------------------------------------------------


def identity(key: rsa.RSAPrivateKey = KEY, **changed: object) -> str:
    now = dt.datetime.now(dt.UTC)
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": SUBJECT, "iat": now, "exp": now + dt.timedelta(minutes=5)}
    return jwt.encode({**claims, **CLAIMS, **changed}, key, algorithm="RS256", headers={"kid": "1"})


def files_with(secret: str, folders: Iterable[Path]) -> list[Path]:
    needle = secret.encode()
    return [path for folder in folders for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()]


def test_trusted_publishing_releases_and_leaves_no_token(hub: RunningHub, source: Source, tmp_path: Path) -> None:
    hub.api().create_repo(REPOSITORY, repo_type="kernel")
    word = identity()
    environment = {
        **hub.environment(),
        "HF_OIDC_RESOURCE": f"kernels/{REPOSITORY}",
        "HF_OIDC_ID_TOKEN": word,
        "HF_TOKEN": "hf_notUsedNotUsedNotUsed",
    }
    done = command(source, environment, "release", "--tag", TAG, "--allow-untested", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["credential"] == "trusted publishing (HF_OIDC_RESOURCE)"
    assert references(hub)[1].keys() == {TAG}
    for secret in (word, "hf_jwt_", "hf_notUsed"):
        assert secret not in done.stdout + done.stderr
        assert files_with(secret, (tmp_path, source.root)) == []


@pytest.fixture(scope="module")
def untrusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningHub, Verbs]]:
    """A Hub with an empty repository, and a process that runs commands for it without a credential."""
    with (
        serving(tmp_path_factory.mktemp("untrusting"), publishers=PUBLISHERS) as hub,
        verbs(hub.environment()) as commands,
    ):
        hub.api().create_repo(REPOSITORY, repo_type="kernel")
        yield hub, commands


@pytest.mark.parametrize(
    "word",
    [
        identity(OTHER_KEY),
        identity(exp=dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        identity(aud="https://elsewhere.example"),
        identity(job_workflow_ref="acme/fork/.github/workflows/release.yml@refs/heads/main"),
        "no token at all",
    ],
    ids=["other key", "expired", "other audience", "other job", "no token"],
)
def test_an_identity_that_is_not_trusted_is_told_what_to_do(
    untrusting: tuple[RunningHub, Verbs], source: Source, word: str
) -> None:
    hub, commands = untrusting
    before = references(hub)
    asked = {"HF_OIDC_RESOURCE": f"kernels/{REPOSITORY}", "HF_OIDC_ID_TOKEN": word}
    done = commands.run(*placed(source, "release", "--tag", TAG, "--allow-untested"), **asked)
    assert done.returncode == 7, done.stderr
    assert "trusted publish" in done.stderr
    assert word not in done.stderr
    assert references(hub) == before


def test_a_token_of_one_hub_is_not_shown_to_another(hub: RunningHub, source: Source) -> None:
    environment = {
        **hub.environment(),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_OIDC_RESOURCE": f"kernels/{REPOSITORY}",
    }
    done = command(source, environment, "release", "--tag", TAG, "--allow-untested", "--hub", hub.endpoint)
    assert (done.returncode, f"HF_ENDPOINT={hub.endpoint}" in done.stderr) == (2, True), done.stderr


def test_a_token_is_found_nowhere(hub: RunningHub, source: Source, tmp_path: Path) -> None:
    """Neither in what is printed or written, nor in the address of a request, nor in the environment of a child."""
    programs, seen = tmp_path / "programs", tmp_path / "children"
    programs.mkdir()
    seen.touch()
    (programs / "git").write_text(f'#!/bin/sh\nenv >> {seen}\nexec {shutil.which("git")} "$@"\n')
    (programs / "git").chmod(0o755)
    environment = hub.environment(WRITER)
    environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    words = ("release", "--tag", TAG, "--allow-untested")
    for code in (0, 7):
        if code:
            hub.faults.plan(Fault(endpoint="refs", kind=FaultKind.STATUS, status=403))
        done = command(source, environment, *words)
        assert done.returncode == code, done.stderr
        assert WRITER not in done.stdout + done.stderr
    assert "HF_HUB_DISABLE_XET" in seen.read_text(), "git was started, and its environment seen"
    assert files_with(WRITER, (tmp_path, source.root)) == []
    assert not [each.path for each in hub.traffic.exchanges if WRITER in each.path]


# -- addresses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address", ["http://", "http://[::1", "http://h:99999", "http://a b", "ftp://h", "h", "http://h?q"]
)
def test_what_is_no_address_of_a_hub_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", REPOSITORY, "--torch", "2.13", "--rocm", "7.2", "--hub", address]) == 2
    assert "no address of a Hub" in capsys.readouterr().err


def test_an_address_with_a_password_is_refused_and_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    for address in ("http://user:s3cret@h", "http://user:s3cret@h:99999"):
        assert main(["why", REPOSITORY, "--torch", "2.13", "--rocm", "7.2", "--hub", address]) == 2
        assert "s3cret" not in capsys.readouterr().err


class Portal(BaseHTTPRequestHandler):
    """What a login page in front of the network answers to everything."""

    def do_GET(self) -> None:
        page = b"<html>Log in</html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_POST = do_HEAD = do_GET  # noqa: N815 - as above

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def portal() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Portal)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_what_answers_and_is_no_hub_is_said(source: Source) -> None:
    limit_requests()
    wanted = source.wanted()
    with portal() as address:
        there = ApiHub(address, Credential(token=WRITER, source="a test"))
        with pytest.raises(ReleaseError, match="does not answer as a Hub does"):
            publish(wanted, there, store=source.store, emit=print, credential="a test", patience=QUICK)


def dripping(listening: socket.socket) -> None:
    """Answer one request after the other with a byte now and then, and never the last one."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    while True:
        try:
            with listening.accept()[0] as connection:
                connection.sendall(head)
                for _ in range(1000):
                    connection.sendall(b" ")
                    time.sleep(0.02)
        except OSError:  # the client has gone, or the test has ended
            if listening.fileno() < 0:
                return


def test_a_server_that_never_comes_to_an_end_is_given_up() -> None:
    """It is never silent; what ends it is the limit of a request as a whole."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=dripping, args=(listening,), daemon=True).start()
        limit_requests(RequestLimits(silence=30.0, whole=0.3))
        there = ApiHub(f"http://127.0.0.1:{listening.getsockname()[1]}", Credential(token=WRITER, source="a test"))
        patience = Patience(attempts=2, first_wait=0.01)
        try:
            with pytest.raises(ReleaseError, match=r"the answer was not there in 0\.3 s \(2 attempts\)"):
                patient_view(there, REPOSITORY, patience=patience).references()
        finally:
            limit_requests()


# -- an output folder that is not what a run leaves ----------------------------------------------------------------


def broken(source: Source, name: str) -> None:
    variants = source.store.variants_folder("scale")
    variant = next(iter(sorted(variants.iterdir())))
    coverage = source.store.kernel_folder("scale") / "coverage.json"
    ways: dict[str, Callable[[], object]] = {
        "no metadata": (variant / "metadata.json").unlink,
        "no JSON": lambda: (variant / "metadata.json").write_bytes(b"\xff{"),
        "other JSON": lambda: (variant / "metadata.json").write_text("[1]"),
        "no variant": lambda: shutil.rmtree(variant),
        "nothing": lambda: shutil.rmtree(variants),
        "one too many": lambda: shutil.copytree(variant, variants / "torch213-cxx11-cu130-x86_64-linux"),
        "no coverage": coverage.unlink,
        "odd coverage": lambda: coverage.write_bytes(b"{}"),
        "half coverage": lambda: coverage.write_bytes(coverage.read_bytes()[:100]),
        "changed binary": lambda: next(variant.glob("*.so")).write_bytes(b"\x7fELF"),
        "link": lambda: (variant / "link.py").symlink_to("/etc/hostname"),
    }
    ways[name]()


@pytest.mark.parametrize(
    "name",
    [
        "no metadata",
        "no JSON",
        "other JSON",
        "no variant",
        "nothing",
        "one too many",
        "no coverage",
        "odd coverage",
        "half coverage",
        "changed binary",
        "link",
    ],
)
def test_an_output_folder_that_is_not_what_was_collected_is_refused(source: Source, name: str) -> None:
    broken(source, name)
    with pytest.raises(RocmatrixError) as caught:
        source.wanted()
    assert "\n" in str(caught.value), "it says what to do"


@pytest.mark.parametrize("tag", ["", "v2", "2.0.0", "v2.0.0\n", "v02.0.0", "v2.0.0+build", "../v2.0.0", "v2.0.0 "])
def test_what_is_no_tag_of_a_release_is_refused(source: Source, tag: str) -> None:
    with pytest.raises(ReleaseError, match="no tag of a release"):
        replace(source, tag=tag).wanted()


def test_a_tag_of_something_else_than_a_commit_is_refused(tmp_path: Path) -> None:
    made = make_source(tmp_path)
    git(made.root, "tag", "-a", "v2.0.3", "-m", "a folder", "HEAD^{tree}")
    with pytest.raises(ReleaseError, match=r"v2\.0\.3 is no tag of a commit"):
        replace(made, tag="v2.0.3").wanted()


def test_files_that_are_not_the_tags_are_not_released(tmp_path: Path) -> None:
    made = make_source(tmp_path)
    made.wanted()
    benchmark = made.project / "benchmarks/benchmark_scale.py"
    for path, content in (
        (benchmark, "# another\n"),
        (benchmark.with_name("benchmark_new.py"), "# new\n"),
        (made.project / "CARD.md", "# new\n"),
    ):
        path.write_text(content)
        with pytest.raises(ReleaseError, match=rf"{path.name} is not what v2\.0\.0 holds"):
            made.wanted()
        path.unlink()
        git(made.root, "checkout", "-q", "--", ".")


# -- others at work ------------------------------------------------------------------------------------------------


class Interrupting(ApiHub):
    """Lets something happen once, between staging and promotion: when what was staged is downloaded."""

    happens: Callable[[], object] | None = None

    def download(self, repository: str, commit: str, paths: Iterable[str], folder: Path) -> None:
        """Download; before it, once, let it happen."""
        wanted = list(paths)
        happens, self.happens = self.happens, None if any(path.endswith(".so") for path in wanted) else self.happens
        if happens and any(path.endswith(".so") for path in wanted):
            happens()
        super().download(repository, commit, wanted, folder)


def test_a_push_between_staging_and_promotion_begins_the_release_anew(
    hub: RunningHub, source: Source, tmp_path: Path
) -> None:
    release(hub, source)
    following = make_source(tmp_path / "following", tag="v2.1.0", line="CHANGED = True")
    there = Interrupting(hub.endpoint, Credential(token=WRITER, source="a test"))
    theirs: list[str] = []
    there.happens = lambda: theirs.extend(others(hub, "torch213-cxx11-cu130-x86_64-linux"))
    said: list[str] = []

    def emit(event: Event) -> None:
        assert isinstance(event, Notice)
        said.append(event.message)

    publish(following.wanted(), there, store=following.store, emit=emit, credential="a test", patience=QUICK)
    assert theirs
    assert any("somebody else changed it meanwhile" in line for line in said)
    assert set(theirs) <= tree(hub, references(hub)[1]["v2.1.0"]).keys()


def ending(hub: RunningHub, source: Source) -> Released | str:
    try:
        return release(hub, source)
    except ReleaseError as err:
        return str(err)


def test_two_releases_of_the_same_at_once_are_one(hub: RunningHub, source: Source, made: Source) -> None:
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda each: ending(hub, each), (source, made)))
    assert any(isinstance(each, Released) for each in ends), ends
    again = release(hub, source)
    branches, tags = references(hub)
    assert tags == {TAG: again.commit}
    assert tree(hub, branches[BRANCH]) == tree(hub, again.commit)


def test_two_releases_of_other_content_under_one_tag_are_one_of_them(
    hub: RunningHub, source: Source, tmp_path: Path
) -> None:
    other = make_source(tmp_path / "other", line="CHANGED = True")
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda each: ending(hub, each), (source, other)))
    done = [each for each in ends if isinstance(each, Released)]
    assert len(done) == 1, ends
    assert references(hub)[1] == {TAG: done[0].commit}
    refused = [each for each in ends if isinstance(each, str)]
    assert "other content" in refused[0] or "somebody else changed it" in refused[0]
