"""Signatures of a release: by the real ``sigstore`` library against a private Sigstore, verified by the real client.

What no test here does: ask the public Sigstore, which needs a job of GitHub and a network.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import kernels.verify
import pytest
from huggingface_hub import CommitOperationAdd, snapshot_download
from kernels.verify import GitHubWorkflowPolicy, VerificationResult, verify_variant
from sigstore.verify import Verifier

from rocmatrix.errors import InputError, ReleaseError
from rocmatrix.events import Event, Notice
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.release.api_hub import ApiHub
from rocmatrix.release.credentials import Credential
from rocmatrix.release.persistence import Patience
from rocmatrix.release.publication import Released
from rocmatrix.release.signing import Signing, SignMode, prepare_signing
from rocmatrix.release.stage import publish
from rocmatrix.signatures.model import GITHUB_ISSUER, Signer, SignerPolicy
from rocmatrix.signatures.trust import load_trust
from tests.system.hub import WRITER, RunningHub
from tests.system.private_sigstore import (
    REPOSITORY as SOURCES,
)
from tests.system.private_sigstore import REQUEST_TOKEN, WORKFLOW, Sigstore, running_sigstore, trust_file
from tests.system.release_source import REPOSITORY, Source, make_source
from tests.system.test_release import BRANCH, KERNEL, SECONDS, TAG, references, tree
from tests.system.verbs import verbs

QUICK = Patience(first_wait=0.01)
VARIANT = "torch-stable-abi210-rocm72-x86_64-linux"
SIGNATURE = f"build/{VARIANT}/metadata.json.sigstore"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@pytest.fixture
def sigstore(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sigstore]:
    """A private Sigstore, and a job of GitHub that may have an identity token."""
    with running_sigstore() as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        yield running


def prepared(sigstore: Sigstore, folder: Path, mode: SignMode = SignMode.REQUIRED) -> Signing:
    signing = prepare_signing(mode, trust_file(sigstore, folder), lambda _: None)
    assert signing is not None
    return signing


def release(hub: RunningHub, source: Source, signing: Signing | None) -> tuple[Released, list[str]]:
    """Release; return what came of it and what was said."""
    said: list[str] = []

    def emit(event: Event) -> None:
        if isinstance(event, Notice):
            said.append(event.message)

    there = ApiHub(hub.endpoint, Credential(token=WRITER, source="a test"))
    wanted = source.wanted()
    done = publish(wanted, there, store=source.store, emit=emit, credential="a test", patience=QUICK, signing=signing)
    return done, said


def interrupted(hub: RunningHub, source: Source, signing: Signing | None) -> str:
    """Release up to the tag, which is refused; return the head of the version branch."""
    hub.faults.plan(Fault(endpoint="create-tag", kind=FaultKind.STATUS, status=403))
    with pytest.raises(ReleaseError):
        release(hub, source, signing)
    branches, tags = references(hub)
    assert (BRANCH in branches, tags) == (True, {})
    return branches[BRANCH]


def downloaded(hub: RunningHub, revision: str, folder: Path) -> Path:
    place = snapshot_download(
        REPOSITORY, repo_type=KERNEL, revision=revision, endpoint=hub.endpoint, local_dir=folder, token=False
    )
    return Path(place) / "build"


def commit(hub: RunningHub, path: str, content: bytes) -> None:
    operation = CommitOperationAdd(path, content)
    hub.api().create_commit(REPOSITORY, [operation], commit_message="m", revision=BRANCH, repo_type=KERNEL)


def test_the_client_finds_every_variant_signed_by_the_workflow(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``kernels.verify.verify_variant`` as it is; only the root of trust is that of the private Sigstore."""
    signing = prepared(sigstore, tmp_path)
    release(hub, source, signing)
    root = load_trust(trust_file(sigstore, tmp_path)).config.trusted_root
    monkeypatch.setattr(kernels.verify.Verifier, "production", lambda: Verifier(trusted_root=root))
    ours = GitHubWorkflowPolicy(repo_id=SOURCES, signer_uris=[WORKFLOW])
    folders = sorted(downloaded(hub, TAG, tmp_path / "user").iterdir())
    assert len(folders) == len(source.plan.units)
    for folder in folders:
        assert verify_variant(folder, policies=[ours]) == VerificationResult.Success()
        assert isinstance(verify_variant(folder), VerificationResult.SignatureVerificationFailure), (
            "the client's own policy trusts kernels-community alone"
        )
    (folders[0] / "__init__.py").write_text("tampered = True\n")
    assert isinstance(verify_variant(folders[0], policies=[ours]), VerificationResult.DigestVerificationFailure)


def test_the_same_release_again_signs_and_writes_nothing(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path
) -> None:
    first, said = release(hub, source, prepared(sigstore, tmp_path))
    assert f"signed {len(source.plan.units)} of {len(source.plan.units)} variants" in said
    commit(hub, SIGNATURE, b"{}")  # so that nothing could be taken over, if anything were signed
    hub.traffic.clear()
    again = prepared(sigstore, tmp_path)
    sigstore.asked.clear()
    assert release(hub, source, again)[0] == Released(commit=first.commit, already=True)
    assert sigstore.asked == []
    assert {exchange.method for exchange in hub.traffic.exchanges} <= {"GET", "HEAD"}
    assert release(hub, source, None)[0] == Released(commit=first.commit, already=True), "by who signs nothing, too"


def test_a_fresh_machine_goes_on_with_the_signatures_that_are_there(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path
) -> None:
    head = interrupted(hub, source, prepared(sigstore, tmp_path))
    again = prepared(sigstore, tmp_path)
    sigstore.asked.clear()
    assert release(hub, source, again)[0].commit == head
    assert sigstore.asked == []


def test_a_signature_that_is_not_good_is_told_and_replaced(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path
) -> None:
    interrupted(hub, source, prepared(sigstore, tmp_path))
    good = downloaded(hub, BRANCH, tmp_path / "first")
    other = next(folder for folder in good.iterdir() if folder.name != VARIANT)
    commit(hub, SIGNATURE, (other / "metadata.json.sigstore").read_bytes())
    hub.api().delete_branch(REPOSITORY, branch=f"staging/{TAG}", repo_type=KERNEL)
    _, told = release(hub, source, prepared(sigstore, tmp_path))
    (line,) = [line for line in told if "not good" in line]
    assert f"the signature of {VARIANT} on the Hub is not good: " in line
    assert line.endswith("a new one replaces it")
    assert f"signed 1 of {len(source.plan.units)} variants" in told
    check = prepared(sigstore, tmp_path)
    folder = downloaded(hub, TAG, tmp_path / "second") / VARIANT
    verdict = check.verify((folder / "metadata.json.sigstore").read_bytes(), (folder / "metadata.json").read_bytes())
    assert verdict.problem is None


def test_a_signature_of_somebody_else_is_told_and_replaced(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path
) -> None:
    sigstore.workflow = "https://github.com/eve/fork/.github/workflows/release.yml@refs/heads/main"
    interrupted(hub, source, prepared(sigstore, tmp_path))
    sigstore.workflow = WORKFLOW
    _, told = release(hub, source, prepared(sigstore, tmp_path))
    assert f"{VARIANT} on the Hub was signed by https://github.com/eve/fork/.github/workflows/release.yml" in str(told)
    folder = downloaded(hub, TAG, tmp_path / "user") / VARIANT
    bundle = (folder / "metadata.json.sigstore").read_bytes()
    verdict = prepared(sigstore, tmp_path).verify(bundle, (folder / "metadata.json").read_bytes())
    assert (verdict.problem, str(verdict.signer)) == (None, WORKFLOW)


def test_a_signature_that_stays_because_nobody_can_sign_here_is_told_with_its_signer(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve = "https://github.com/eve/fork/.github/workflows/release.yml@refs/heads/main"
    sigstore.workflow = eve
    interrupted(hub, source, prepared(sigstore, tmp_path))
    for name in sigstore.environment():
        monkeypatch.delenv(name)
    nobody = prepared(sigstore, tmp_path, SignMode.AUTO)
    assert nobody.signer is None
    _, told = release(hub, source, nobody)
    stayed = [line for line in told if line.startswith(f"{VARIANT} on the Hub was signed by {eve}")]
    assert [line.partition("; ")[2] for line in stayed] == ["nobody can sign here, and it stays"]


@pytest.mark.parametrize("refusal", [("certificate", 403), ("log", 400)])
def test_a_sigstore_that_refuses_stops_a_release_before_anything_is_written(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path, refusal: tuple[str, int]
) -> None:
    signing = prepared(sigstore, tmp_path)
    sigstore.refusals[refusal[0]] = [refusal[1]]
    with pytest.raises(ReleaseError, match="cannot be signed") as caught:
        release(hub, source, signing)
    assert "--sign never" in str(caught.value)
    assert references(hub) == ({}, {})
    assert {exchange.method for exchange in hub.traffic.exchanges} <= {"GET", "HEAD"}


def test_a_sigstore_that_fails_for_a_moment_is_asked_again(
    hub: RunningHub, source: Source, sigstore: Sigstore, tmp_path: Path
) -> None:
    signing = prepared(sigstore, tmp_path)
    sigstore.refusals.update(certificate=[503], log=[500, 429])
    _, told = release(hub, source, signing)
    assert len([line for line in told if "again in" in line]) == 3
    assert all(f"build/{unit.variant}/metadata.json.sigstore" in tree(hub, TAG) for unit in source.plan.units)


def test_what_lies_in_the_output_folder_is_published_if_it_is_good(
    hub: RunningHub, sigstore: Sigstore, tmp_path: Path
) -> None:
    """Somebody signed with ``cosign`` between ``collect`` and ``release``."""
    source = make_source(tmp_path / "made")
    signing = prepared(sigstore, tmp_path)
    folder = source.store.variants_folder("scale") / VARIANT
    assert signing.signer is not None
    (folder / "metadata.json.sigstore").write_bytes(signing.signer.sign(b"other bytes"))
    with pytest.raises(ReleaseError, match="the signature is not good"):
        release(hub, source, signing)
    assert references(hub) == ({}, {})
    bundle = signing.signer.sign((folder / "metadata.json").read_bytes())
    (folder / "metadata.json.sigstore").write_bytes(bundle)
    release(hub, source, replace(signing, signer=None))
    assert (downloaded(hub, TAG, tmp_path / "user") / VARIANT / "metadata.json.sigstore").read_bytes() == bundle


def test_a_job_without_the_permission_is_told_so(
    sigstore: Sigstore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sigstore.refusals["token"] = [403, 403]
    said: list[str] = []
    signing = prepare_signing(SignMode.AUTO, trust_file(sigstore, tmp_path), said.append)
    assert (signing and signing.signer) is None
    assert "id-token: write" in said[0]
    with pytest.raises(ReleaseError, match="id-token: write"):
        prepare_signing(SignMode.REQUIRED, None, said.append)
    monkeypatch.delenv("ACTIONS_ID_TOKEN_REQUEST_URL")
    with pytest.raises(ReleaseError, match="id-token: write"):
        prepare_signing(SignMode.REQUIRED, None, said.append)
    assert REQUEST_TOKEN not in str(said)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"mediaType": "x"}', "\x00"])
def test_a_file_that_is_no_trust_configuration_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trust.json"
    path.write_text(content)
    with pytest.raises(InputError, match="no trust configuration"):
        load_trust(path)


def test_a_name_counts_only_if_the_right_issuer_vouched_for_it() -> None:
    workflow = Signer(name=WORKFLOW, issuer=GITHUB_ISSUER)
    tags = SignerPolicy(names=("https://github.com/acme/*/release.yml@refs/tags/*",))
    assert tags.accepts(workflow)
    assert not tags.accepts(replace(workflow, issuer="https://oauth2.sigstore.dev/auth"))
    assert not tags.accepts(replace(workflow, name=WORKFLOW.replace("refs/tags", "refs/heads")))
    assert not SignerPolicy(names=("*",), issuer="https://gitlab.com").accepts(workflow)


def test_a_reusable_workflow_signs_for_the_repository_that_called_it() -> None:
    """Its name is in the certificate whoever calls it, so that the name alone says nothing of the sources."""
    ours, eves = (f"https://github.com/{name}" for name in (SOURCES, "eve/fork"))
    reusable = "https://github.com/tools/toolkit/.github/workflows/build-kernel.yml@0123"
    called = Signer(name=reusable, issuer=GITHUB_ISSUER, sources=ours)
    by_eve = replace(called, sources=eves)
    assert not SignerPolicy(names=(reusable,)).accepts(called), "nobody said for whom it may sign"
    assert SignerPolicy(names=(reusable,), sources=ours).accepts(called)
    assert not SignerPolicy(names=(reusable,), sources=ours).accepts(by_eve)
    assert not SignerPolicy(names=(WORKFLOW,)).accepts(Signer(name=WORKFLOW, issuer=GITHUB_ISSUER, sources=eves))
    assert SignerPolicy(names=(WORKFLOW,)).accepts(Signer(name=WORKFLOW, issuer=GITHUB_ISSUER, sources=ours))
    assert not SignerPolicy(names=(WORKFLOW,), sources=ours).accepts(Signer(name=WORKFLOW, issuer=GITHUB_ISSUER))
    assert str(by_eve) == f"{reusable} called by {eves}"


def test_a_certificate_and_a_token_say_whose_run_it_was(sigstore: Sigstore, tmp_path: Path) -> None:
    sigstore.workflow = "https://github.com/tools/toolkit/.github/workflows/build-kernel.yml@0123"
    sigstore.sources = "acme/" + "k" * 120  # longer than one byte of DER says
    signing = prepared(sigstore, tmp_path)
    assert signing.signer is not None
    verdict = signing.verify(signing.signer.sign(b"x"), b"x")
    expected = Signer(name=sigstore.workflow, issuer=GITHUB_ISSUER, sources=f"https://github.com/{sigstore.sources}")
    assert (verdict.problem, verdict.signer, signing.named) == (None, expected, expected)


# -- the command line ----------------------------------------------------------------------------------------------


def command(*words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    base = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf")}
    return subprocess.run(
        [sys.executable, "-m", "rocmatrix", *words],
        env={**base, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def test_release_signs_and_verify_says_by_whom(hub: RunningHub, sigstore: Sigstore, tmp_path: Path) -> None:
    made = make_source(tmp_path / "made")
    trust = str(trust_file(sigstore, tmp_path))
    place = ("--matrix", str(made.root / "matrix.yaml"), "--out", str(made.store.root), "--hub", hub.endpoint)
    words = ("release", "--tag", TAG, "--allow-untested", *place, "--sign", "required", "--trust-config", trust)
    refused = command(*words, home=tmp_path, HF_TOKEN=WRITER)
    assert (refused.returncode, "signatures are required" in refused.stderr) == (7, True), refused.stderr
    assert references(hub) == ({}, {})
    done = command(*words, home=tmp_path, HF_TOKEN=WRITER, **sigstore.environment())
    assert done.returncode == 0, done.stderr
    everything = done.stdout + done.stderr + (made.store.kernel_folder("scale") / "release.json").read_text()
    assert REQUEST_TOKEN not in everything
    assert sigstore.token("sigstore").split(".")[0] not in everything, "no identity token"

    with verbs(hub.environment()) as users:

        def verify(*more: str) -> tuple[int, str, list[dict[str, object]]]:
            ended = users.run("verify", REPOSITORY, "--json", "--trust-config", trust, *more)
            found = json.loads(ended.stdout)
            return ended.returncode, ended.stderr, [audited["signature"] for audited in found["audits"]]

        _, said, found = verify("--signer", WORKFLOW.replace("v2.0.0", "*"))
        assert {(each["state"], each["signer"]) for each in found} == {("good", WORKFLOW)}
        assert f"good, by {WORKFLOW}" in said
        code, said, found = verify("--signer", "https://github.com/eve/*")
        assert (code, {each["state"] for each in found}) == (5, {"good, of a signer who was not asked for"})
        code, _, found = verify("--signer", WORKFLOW, "--signer-sources", "https://github.com/eve/fork")
        assert (code, {each["state"] for each in found}) == (5, {"good, of a signer who was not asked for"})
