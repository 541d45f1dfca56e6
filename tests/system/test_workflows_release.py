"""A pushed tag, run by act through this repository's own workflows, and the night after: what users get, what holds.

The release is signed by a private Sigstore, and the watch asks for our own policy: who signed, for which repository.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rocmatrix.pipeline import load_plan
from rocmatrix.plan.model import Plan
from rocmatrix.release.users import Got
from rocmatrix.workflows.act import ActRun, run_act
from rocmatrix.workflows.identity import TrustingHub
from rocmatrix.workflows.rehearsal import ask_users, hub_variables, promised, push_of
from rocmatrix.workflows.stage import set_stage
from tests.system.private_sigstore import running_sigstore, trust_file
from tests.system.torch_version import torch_version
from tests.system.workflow_repository import write_kernel
from tests.system.workflow_runs import (
    GH,
    ONE_ROCM,
    ROOT,
    SECONDS,
    SOURCE,
    branches_and_tags,
    logs,
    on_stage,
    put_before_rocmatrix,
    put_program,
)

OTHER = "eve/source"
SIGNER = f"https://github.com/{SOURCE}/.github/workflows/build-kernel.yml@refs/tags/v1.0.0"
TRUST = """case "$1" in release | watch) set -- "$@" --trust-config {trust} ;; esac
exec rocmatrix-itself "$@"
"""
pytestmark = [
    pytest.mark.needs_llvm,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),  # huggingface_hub's own, of httpx2
]


@dataclass(frozen=True, kw_only=True)
class Released:
    """A run that was to release, what its users get, and where all that is."""

    run: ActRun
    plan: Plan
    users: tuple[Got, ...]
    gh: list[str]
    tags: list[str]
    repository: Path
    hub: TrustingHub
    trust: Path


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Released]:
    """A tag is pushed in a repository that has this repository's own workflows and a small kernel."""
    folder = tmp_path_factory.mktemp("released")
    own = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    watch = (ROOT / ".github/workflows/watch.yml").read_text(encoding="utf-8")
    repository = write_kernel(folder / "scale", "scale", caller=own, matrix=ONE_ROCM, others={"watch.yml": watch})
    plan = load_plan(repository / "matrix.yaml", toolchain=None)
    with running_sigstore() as sigstore, on_stage(folder, repository) as (stage, hub):
        sigstore.workflow, sigstore.sources = SIGNER, SOURCE
        trust = trust_file(sigstore, folder)
        put_before_rocmatrix(stage, TRUST.format(trust=trust))
        put_program(stage, "gh", GH)
        log = folder / "gh.log"
        variables = {**hub_variables(hub), **sigstore.environment(), "GH_LOG": str(log)}
        errand = stage.errand(event="push", payload=push_of("v1.0.0"), variables=variables)
        run = run_act(replace(errand, seconds=SECONDS))
        users = ask_users(plan, hub.endpoint, "v1.0.0") if run.exit_code == 0 else ()
        _, tags = branches_and_tags(hub, "acme/scale")
        gh = log.read_text().splitlines() if log.exists() else []
        yield Released(run=run, plan=plan, users=users, gh=gh, tags=tags, repository=repository, hub=hub, trust=trust)


def test_a_pushed_tag_goes_through_every_job(released: Released) -> None:
    found = {
        job: released.run.results(job) for job in ("plan", "build", "digests", "check", "collect", "release", "gate")
    }
    assert found == {
        "plan": ("success",),
        "build": ("success",),
        "digests": ("success",),
        "check": ("success",),
        "collect": ("success",),
        "release": ("success",),
        "gate": ("success",),
    }, logs(released.run)
    assert released.run.results("check-gpu") == ()
    assert released.run.exit_code == 0, logs(released.run)


def test_every_promised_user_gets_the_variant_that_was_planned(released: Released) -> None:
    assert {f"torch{got.torch}-rocm{got.rocm}": got.variant for got in released.users} == promised(released.plan)
    assert len(released.users) == 3
    assert released.tags == ["v1.0.0"]


def test_the_release_is_made_by_trusted_publishing_after_a_dry_run_without_credentials(released: Released) -> None:
    said = released.run.said("Release")
    assert "credential: trusted publishing (HF_OIDC_RESOURCE)" in said, said
    assert "signed" in said, said
    assert said.index("dry run: v1.0.0 would go to acme/scale") < said.index("released: v1.0.0 of acme/scale")


def test_the_github_release_is_a_draft_until_its_assets_are_there(released: Released) -> None:
    assert released.run.results("github-release") == ("success",), logs(released.run)
    assert [line.split()[1] for line in released.gh] == ["view", "create", "upload", "edit"]
    assert "--draft" in released.gh[1]
    assert "checksums.txt" in released.gh[2]
    assert "coverage-scale.json" in released.gh[2]
    assert "sbom-scale.cdx.json" in released.gh[2]
    assert "--draft=false" in released.gh[3]
    said = released.run.said("GitHub release")
    assert "v1.0.0 is the first release of version 1 of acme/scale" in said
    assert "would attest" in said


def test_the_page_of_the_run_says_how_each_cell_is_served_and_was_tested(released: Released) -> None:
    said = released.run.said("Collect")
    assert "emulated" in said
    assert "mi300x:" not in said


def watched(released: Released, folder: Path, name: str) -> ActRun:
    """Run the nightly workflow of a repository of this name against the Hub of the release; not its public indexes."""
    stage = set_stage(released.repository / ".github/workflows/watch.yml", folder / name / "run", name=name)
    put_before_rocmatrix(stage, TRUST.format(trust=released.trust))
    variables = {"HF_ENDPOINT": released.hub.endpoint, "ROCMATRIX_TORCH_PYTHON": sys.executable}
    errand = stage.errand(event="schedule", payload={"repository": {"default_branch": "main"}}, variables=variables)
    return run_act(replace(errand, job="published", seconds=SECONDS))


@pytest.fixture(scope="module")
def nights(released: Released, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ActRun]:
    """The nightly workflow of the repository that released and of another one, run side by side."""
    folder = tmp_path_factory.mktemp("nights")
    with ThreadPoolExecutor() as pool:
        runs = {name: pool.submit(watched, released, folder, name) for name in (SOURCE, OTHER)}
        return {name: run.result() for name, run in runs.items()}


@pytest.mark.needs_torch
def test_at_night_what_was_released_holds_and_loads_on_the_newest_torch(nights: dict[str, ActRun]) -> None:
    run = nights[SOURCE]
    said = run.said("What was published")
    assert run.results("published") == ("success",), said
    assert f": audit passed, signature good, by {SIGNER}" in said
    assert "torch 2.13 on ROCm 7.1 gets torch-stable-abi210-rocm71-x86_64-linux" in said
    assert "::scale; a stand-in for HIP)" in said
    assert f"1 variant of 1 loaded on torch {torch_version()}, a build without ROCm; nothing was launched" in said
    assert "watch acme/scale: holds" in said


@pytest.mark.needs_torch
def test_a_release_that_another_repository_signed_is_red_and_nothing_of_it_is_imported(
    nights: dict[str, ActRun],
) -> None:
    run = nights[OTHER]
    said = run.said("What was published")
    assert run.results("published") == ("failure",), said
    assert "::error title=watch::acme/scale@v1/build/" in said
    assert f"signed by {SIGNER}" in said
    assert "passed over: its audit failed: nothing of it is run" in said
