"""``rocmatrix verify`` through the Hub's real client, against the embedded Hub: variants of the golden folder."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from huggingface_hub import CommitOperationAdd

from rocmatrix.hubserver.faults import Fault, FaultKind
from tests.golden.make_dist import DIST
from tests.system.hub import OWNER, READER, WRITER, RunningHub, serving

ROOT = Path(__file__).parents[2]
VARIANT = "torch-stable-abi210-rocm72-x86_64-linux"
SCALE = DIST / "kernels/scale/build"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub")) as running:
        yield running


@dataclass(frozen=True, kw_only=True)
class Verified:
    code: int
    out: str
    err: str

    def rules(self, severity: str = "error") -> set[str]:
        return {
            found["rule"]
            for audited in json.loads(self.out)["audits"]
            for found in audited["findings"]
            if found["severity"] == severity
        }


Verify = Callable[..., Verified]


@contextmanager
def verifier(hub: RunningHub, *, token: str | None = READER, endpoint: str | None = None) -> Iterator[Verify]:
    """Give a function that runs the verb, in one process with a token and an endpoint of its own."""
    environment = {**hub.environment(token), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "COLUMNS": "200"}
    if endpoint:
        environment["HF_ENDPOINT"] = endpoint
    with subprocess.Popen(
        [sys.executable, "-m", "tests.system.verb_server"],
        env=environment,
        cwd=hub.home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout

        def run(*words: str) -> Verified:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(["verify", *words]) + "\n")
            process.stdin.flush()
            done = json.loads(process.stdout.readline())
            assert "Traceback" not in done["err"]
            assert token is None or token not in done["out"] + done["err"]
            return Verified(**done)

        yield run
        process.stdin.close()
        process.wait(60)


@pytest.fixture(scope="module")
def verify(hub: RunningHub) -> Iterator[Verify]:
    with verifier(hub) as run:
        yield run


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        f"build/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def publish(hub: RunningHub, files: dict[str, bytes], *, branch: str = "v2", private: bool = False) -> str:
    """Publish files on a branch of a new kernel and return the kernel's name."""
    name = f"{OWNER}/kernel-{uuid4().hex[:12]}"
    api = hub.api(WRITER)
    api.create_repo(name, repo_type="kernel", private=private)
    api.create_branch(name, branch=branch, repo_type="kernel")
    operations = [CommitOperationAdd(path, content) for path, content in files.items()]
    api.create_commit(name, operations, commit_message="m", repo_type="kernel", revision=branch)
    return name


@pytest.fixture(scope="module")
def scale(hub: RunningHub) -> str:
    return publish(hub, {**files_of(SCALE), "README.md": b"", "build/stray.txt": b"not in a variant"})


def test_the_newest_version_of_a_good_kernel_passes(verify: Verify, scale: str) -> None:
    done = verify(scale, "--json")
    document = json.loads(done.out)
    assert (done.code, document["outcome"], document["revision"]) == (0, "passed", "v2")
    assert len(document["commit"]) == 40
    assert [audited["path"].rpartition("/")[2] for audited in document["audits"]] == sorted(
        path.name for path in SCALE.iterdir()
    )
    assert done.rules() == done.rules("warning") == set()
    assert done.rules("note") == {"signature"}  # unsigned, and said
    assert f"{scale}@v2/build/{VARIANT}: passed" in done.err


def test_people_see_the_kernels_table_and_what_is_not_signed(verify: Verify, scale: str) -> None:
    done = verify(f"{scale}@2", "--only", "*rocm72*")
    assert done.code == 0
    assert "it is not signed; the client loads it all the same" in done.out
    assert "scale" in done.out
    assert "gfx942" in done.out
    assert "rocm71" not in done.out


def test_a_signature_that_nobody_made_or_of_other_bytes_fails(hub: RunningHub, verify: Verify) -> None:
    files = files_of(SCALE)
    metadata = f"build/{VARIANT}/metadata.json"
    other = metadata.replace("rocm72", "rocm71")
    for path, signed in ((metadata, files[metadata]), (other, b"{}")):
        files[f"{path}.sigstore"] = bundle(signed)
    done = verify(publish(hub, files), "--json")
    assert done.code == 5
    whats = {
        audited["path"].rpartition("/")[2]: [found["what"] for found in audited["findings"]]
        for audited in json.loads(done.out)["audits"]
    }
    (made_up,) = whats[VARIANT]
    assert made_up.startswith("the signature is not good: ")
    assert whats[VARIANT.replace("72", "71")] == ["the signature is of other bytes than those of metadata.json"]


def bundle(signed: bytes) -> bytes:
    digest = base64.b64encode(hashlib.sha256(signed).digest()).decode()
    content = {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"certificate": {"rawBytes": ""}},
        "messageSignature": {"messageDigest": {"algorithm": "SHA2_256", "digest": digest}, "signature": "AA=="},
    }
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("metadata.json", (b'"gfx942"', b'"gfx942", "gfx950"'), "archs"),
        ("__init__.py", (b"", b"# another file than the one that was collected\n"), "digests"),
        ("metadata.json", (b'"scale"', b'"Scale"'), "names"),
    ],
)
def test_a_kernel_that_is_not_what_it_says_fails(
    hub: RunningHub, verify: Verify, name: str, change: tuple[bytes, bytes], rule: str
) -> None:
    files = files_of(SCALE)
    path = f"build/{VARIANT}/{name}"
    assert change[0] in files[path]
    files[path] = files[path].replace(*change, 1)
    done = verify(publish(hub, files), "--json")
    assert done.code == 5
    assert done.rules() == {rule}


def test_nothing_of_a_kernel_is_run(hub: RunningHub, verify: Verify) -> None:
    files = files_of(SCALE)
    marker = hub.home / "was-run"
    for name in ("__init__.py", "_ops.py", "sitecustomize.py"):
        files[f"build/{VARIANT}/{name}"] = f"open({str(marker)!r}, 'w')\n".encode()
    done = verify(publish(hub, files), "--json")
    assert (done.code, marker.exists()) == (5, False)
    assert "digests" in done.rules()


def test_variants_of_other_backends_are_held_to_their_digests_alone(hub: RunningHub, verify: Verify) -> None:
    cuda = {"build/torch213-cxx11-cu130-x86_64-linux/__init__.py": b"x = 1\n"}
    digests = {"__init__.py": base64.b64encode(hashlib.sha256(b"x = 1\n").digest()).decode()}
    metadata = {"name": "scale", "id": "_scale_cuda_0", "version": 2, "license": "x", "python-depends": []}
    metadata |= {"backend": {"type": "cuda"}, "digest": {"algorithm": "sha256", "files": digests}}
    cuda["build/torch213-cxx11-cu130-x86_64-linux/metadata.json"] = json.dumps(metadata).encode()
    assert verify(publish(hub, {**files_of(SCALE), **cuda}), "--json").code == 0
    cuda["build/torch213-cxx11-cu130-x86_64-linux/__init__.py"] = b"x = 2\n"
    done = verify(publish(hub, {**files_of(SCALE), **cuda}), "--json")
    assert (done.code, done.rules()) == (5, {"digests"})


def test_a_directory_that_the_client_does_not_know_fails(hub: RunningHub, verify: Verify) -> None:
    files = {path.replace(VARIANT, "rocm-72"): content for path, content in files_of(SCALE).items()}
    done = verify(publish(hub, files), "--json")
    assert (done.code, done.rules()) == (5, {"names"})


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nobody/nothing",), 2, "the Hub has no such kernel, or does not show it"),
        (("no-slash",), 2, "this names no kernel on the Hub"),
        (("a/b@",), 2, "this names no kernel on the Hub"),
        (("{scale}@v9",), 2, "it has no revision v9"),
        (("{scale}@main",), 2, "it has no variants"),
        (("{scale}", "--only", "*rocm99*"), 2, "no variant matches '*rocm99*'"),
    ],
)
def test_what_cannot_be_verified_gets_one_message(
    verify: Verify, scale: str, words: tuple[str, ...], code: int, message: str
) -> None:
    done = verify(*(word.format(scale=scale) for word in words))
    assert done.code == code, done.err
    assert message in done.err


def test_more_than_was_allowed_is_not_downloaded(hub: RunningHub, verify: Verify) -> None:
    files = {**files_of(SCALE), f"build/{VARIANT}/weights.bin": os.urandom(1_200_000)}
    name = publish(hub, files)
    done = verify(name, "--max-mb", "1")
    assert done.code == 2
    assert "its files have 1.2 MB, and 1.0 MB may be downloaded" in done.err
    assert verify(name, "--max-mb", "1", "--only", "*rocm71*").code == 0


def test_a_private_kernel_needs_a_token(hub: RunningHub, verify: Verify) -> None:
    name = publish(hub, files_of(SCALE), private=True)
    assert verify(name).code == 0
    with verifier(hub, token=None) as anonymous:
        done = anonymous(name)
    assert done.code == 2
    assert "does not show it" in done.err


def test_a_hub_that_is_not_there_is_the_environments_fault(hub: RunningHub) -> None:
    with verifier(hub, endpoint="http://127.0.0.1:9") as alone:
        done = alone("acme/scale@v2")
    assert done.code == 3
    assert "the Hub cannot be reached" in done.err


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(endpoint="info", kind=FaultKind.STATUS, status=503), "the Hub answered with HTTP status 503"),
        (
            Fault(endpoint="info", kind=FaultKind.STATUS, status=403, headers={"X-Error-Code": "GatedRepo"}),
            "access to it must be granted first",
        ),
        (Fault(endpoint="info", kind=FaultKind.STATUS, status=403), "Log in with a token that may read it"),
        (Fault(endpoint="info", kind=FaultKind.RESET), "the Hub cannot be reached"),
    ],
)
def test_a_hub_out_of_order_is_the_environments_fault(
    hub: RunningHub, verify: Verify, scale: str, fault: Fault, message: str
) -> None:
    hub.faults.plan(fault)
    try:
        done = verify(f"{scale}@v2", "--only", "*rocm72*")
        assert hub.faults.happened
    finally:
        hub.faults.clear()
    assert done.code == 3, done.err
    assert message in done.err
