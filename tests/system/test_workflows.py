"""The workflow files themselves, run by act: from a pushed tag to every user, and what must never look green."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from rocmatrix.pipeline import load_plan
from rocmatrix.plan.model import Plan
from rocmatrix.release.users import Got
from rocmatrix.workflows.act import ActRun, JobRun, run_act
from rocmatrix.workflows.identity import TrustingHub, trusting_hub
from rocmatrix.workflows.rehearsal import ask_users, hub_variables, promised, push_of
from rocmatrix.workflows.stage import TOOLKIT, Stage, set_stage
from tests.system.workflow_repository import MATRIX, commit, write_kernel

ROOT = Path(__file__).parents[2]
SECONDS = 600.0
ONE_ROCM = MATRIX.replace('rocm: ["7.1", "7.2"]', 'rocm: ["7.1"]').replace(', "7.2": llvm', "")
COMMIT = "0123456789012345678901234567890123456789"
CALLER = f"""name: Kernel
on: [push, pull_request]
permissions: {{}}
jobs:
  kernel:
    name: Kernel
    uses: {TOOLKIT}/.github/workflows/build-kernel.yml@{COMMIT} # v0.1.0
    permissions: {{contents: read, id-token: write}}
    with: {{mode: MODE, tag: "${{{{ github.ref_name }}}}"}}
"""
GH = """#!/bin/sh
# Stands in for GitHub's program: writes down what it is asked, and knows no release yet.
printf '%s\\n' "$*" >>"$GH_LOG"
test "$2" != view
"""
pytestmark = [
    pytest.mark.needs_llvm,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),  # huggingface_hub's own, of httpx2
]


@dataclass(frozen=True, kw_only=True)
class Released:
    """A run that was to release, and what its users get."""

    run: ActRun
    plan: Plan
    users: tuple[Got, ...]
    gh: list[str]
    tags: list[str]


def branches_and_tags(hub: TrustingHub, repository: str) -> tuple[list[str], list[str]]:
    found = HfApi(endpoint=hub.endpoint, token=False).list_repo_refs(repository, repo_type="kernel")
    return [each.name for each in found.branches], [each.name for each in found.tags]


@contextmanager
def on_stage(folder: Path, repository: Path, workflow: str = "release.yml") -> Iterator[tuple[Stage, TrustingHub]]:
    """Yield what a run of a workflow of a repository needs, and a Hub that trusts it."""
    plan_of = load_plan(repository / "matrix.yaml", toolchain=None).kernels[0].repo_id
    stage = set_stage(repository / ".github/workflows" / workflow, folder / "run", tag="v1.0.0")
    with trusting_hub(plan_of, folder / "hub", source="acme/source") as hub:
        yield stage, hub


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    """A tag is pushed in a repository that has this repository's own release workflow and a small kernel."""
    folder = tmp_path_factory.mktemp("released")
    own = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    repository = write_kernel(folder / "scale", "scale", caller=own)
    plan = load_plan(repository / "matrix.yaml", toolchain=None)
    with on_stage(folder, repository) as (stage, hub):
        (stage.commands / "gh").write_text(GH)
        (stage.commands / "gh").chmod(0o755)
        log = folder / "gh.log"
        errand = stage.errand(
            event="push", payload=push_of("v1.0.0"), variables={**hub_variables(hub), "GH_LOG": str(log)}
        )
        run = run_act(replace(errand, seconds=SECONDS))
        users = ask_users(plan, hub.endpoint, "v1.0.0") if run.exit_code == 0 else ()
        _, tags = branches_and_tags(hub, "acme/scale")
    return Released(run=run, plan=plan, users=users, gh=log.read_text().splitlines() if log.exists() else [], tags=tags)


def logs(run: ActRun) -> str:
    return "\n".join(f"{job.name}: {job.result}" for job in run.jobs) + "\n" + "".join(map("".join, run.log.values()))


def test_a_pushed_tag_goes_through_every_job(released: Released) -> None:
    found = {job: released.run.results(job) for job in ("plan", "build", "check", "collect", "release", "gate")}
    assert found == {
        "plan": ("success",),
        "build": ("success", "success"),
        "check": ("success", "success"),
        "collect": ("success",),
        "release": ("success",),
        "gate": ("success",),
    }, logs(released.run)
    assert released.run.results("check-gpu") == ()
    assert released.run.exit_code == 0, logs(released.run)


def test_every_promised_user_gets_the_variant_that_was_planned(released: Released) -> None:
    assert {f"torch{got.torch}-rocm{got.rocm}": got.variant for got in released.users} == promised(released.plan)
    assert len(released.users) == 5
    assert released.tags == ["v1.0.0"]


def test_the_release_is_made_by_trusted_publishing_after_a_dry_run_without_credentials(released: Released) -> None:
    said = released.run.said("Release")
    assert "credential: trusted publishing (HF_OIDC_RESOURCE)" in said, said
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
    assert "The first release." in said
    assert "would attest" in said


def test_the_page_of_the_run_says_how_each_cell_is_served_and_was_tested(released: Released) -> None:
    said = released.run.said("Collect")
    assert "emulated" in said
    assert "mi300x:" not in said


def test_a_second_repository_follows_the_readme(tmp_path: Path) -> None:
    """README's lines as they stand, in a repository that has nothing but its own kernel and matrix.yaml."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text[text.index("## Use it in your repository") :]
    (caller,) = re.findall(r"```yaml\n# \.github/workflows/release\.yml\n(.*?)```", section, re.DOTALL)
    assert len(caller.splitlines()) <= 16
    repository = write_kernel(tmp_path / "shift", "shift", caller=caller, matrix=ONE_ROCM)
    done = subprocess.run(
        [sys.executable, "-m", "rocmatrix", "rehearse", "--workflow", "--tag", "v1.0.0", "--json"],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["passed"]
    assert [job["id"] for job in found["jobs"]] == ["plan", "build", "check", "collect", "release", "gate"]
    assert {f"torch{got['torch']}-rocm{got['rocm']}": got["variant"] for got in found["users"]} == found["wanted"]
    assert len(found["users"]) == 3


Run = Callable[..., ActRun]


def run(folder: Path, repository: Path, *, event: str = "push", payload: dict[str, object] | None = None) -> ActRun:
    """Run a repository's workflow for an event, without a Hub."""
    stage = set_stage(repository / ".github/workflows/release.yml", folder / "run")
    errand = stage.errand(event=event, payload=payload or {"ref": "refs/heads/main"}, variables={})
    return run_act(replace(errand, seconds=SECONDS))


def test_a_failing_cell_is_annotated_leaves_the_others_done_and_is_red(tmp_path: Path) -> None:
    repository = write_kernel(tmp_path / "two", "scale", caller=CALLER.replace("MODE", "check"), matrix=ONE_ROCM)
    shutil.copytree(
        write_kernel(tmp_path / "other", "shift", caller="", matrix=ONE_ROCM) / "kernels/shift",
        repository / "kernels/shift",
    )
    broken = repository / "kernels/shift/shift.hip"
    broken.write_text(broken.read_text().replace("x[i] + factor", "y[i] + factor"))
    matrix = repository / "matrix.yaml"
    matrix.write_text(matrix.read_text().replace("kernels/scale]", "kernels/scale, kernels/shift]"))
    commit(repository, "Two kernels")
    found = run(tmp_path, repository)
    assert found.exit_code == 1
    assert found.results("build") == ("failure", "success"), logs(found)
    assert "success" in found.results("check")
    assert found.results("collect") == ("failure",)
    assert found.results("release") == ()
    assert found.results("gate") == ("failure",)
    assert "build: it failed" in found.said("Gate")
    line = (
        broken.read_text().splitlines().index(next(text for text in broken.read_text().splitlines() if "y[i]" in text))
        + 1
    )
    assert re.search(rf"::error [^:]*file=kernels/shift/shift\.hip,line={line},", logs(found)), logs(found)
    assert "scale" in found.said("Collect")


def test_a_cancelled_run_releases_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    repository = write_kernel(tmp_path / "scale", "scale", caller=CALLER.replace("MODE", "release"), matrix=ONE_ROCM)

    def cancel(job: JobRun) -> None:
        assert job.id == "plan"
        raise KeyboardInterrupt

    with on_stage(tmp_path, repository) as (stage, hub):
        errand = stage.errand(event="push", payload=push_of("v1.0.0"), variables=hub_variables(hub))
        with pytest.raises(KeyboardInterrupt):
            run_act(errand, cancel)
        assert branches_and_tags(hub, "acme/scale") == (["main"], [])
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in _read(path)]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_plan_without_a_unit_is_red_and_builds_nothing(tmp_path: Path) -> None:
    empty = ONE_ROCM.replace('torch: ["2.10", "2.12", "2.13"]', 'torch: ["2.10"]')
    empty += 'exclude: [{{torch: "2.10", rocm: "7.1", reason: "not any more"}}]\n'
    repository = write_kernel(tmp_path / "scale", "scale", caller=CALLER.replace("MODE", "check"), matrix=empty)
    found = run(tmp_path, repository)
    assert found.exit_code == 1
    assert found.results("build") == ()
    assert found.results("gate") == ("failure",), logs(found)


def test_300_cells_fit_into_one_matrix(tmp_path: Path) -> None:
    per_torch = MATRIX.replace("release:", "abi: per-torch\nrelease:")
    repository = write_kernel(tmp_path / "scale", "scale", caller=CALLER.replace("MODE", "plan"), matrix=per_torch)
    names = [f"kernel-{number}" for number in range(60)]
    for name in names:
        project = repository / "kernels" / name
        shutil.copytree(repository / "kernels/scale", project)
        manifest = (project / "build.toml").read_text()
        manifest = manifest.replace('name = "scale"', f'name = "{name}"').replace("acme/scale", f"acme/{name}")
        (project / "build.toml").write_text(manifest.replace('stable-abi = "2.10"\n', ""))
        (project / "torch-ext/scale").rename(project / "torch-ext" / name.replace("-", "_"))
    matrix = repository / "matrix.yaml"
    matrix.write_text(
        matrix.read_text().replace("[kernels/scale]", f"[{', '.join(f'kernels/{name}' for name in names)}]")
    )
    commit(repository, "Many kernels")
    found = run(tmp_path, repository)
    assert found.exit_code == 0, logs(found)
    (line,) = [line for line in found.said("Plan").splitlines() if line.startswith('{"empty":false')]
    rows = json.loads(line)
    assert rows["units"] == 300
    assert len(rows["include"]) == 64
    assert "every job did what the plan of 300 units asks" in found.said("Gate")


def test_a_pull_request_of_a_fork_is_built_and_checked_without_any_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretSECRETsecret")
    ci = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    repository = write_kernel(tmp_path / "scale", "scale", caller=ci, matrix=ONE_ROCM)
    hip = repository / "kernels/scale/scale.hip"
    hip.write_text(hip.read_text() + "// ::error title=x::from a stranger\n")
    commit(repository, "From a fork")
    payload: dict[str, object] = {
        "action": "opened",
        "number": 7,
        "pull_request": {"head": {"ref": "patch", "repo": {"full_name": "eve/scale", "fork": True}}},
        "repository": {"default_branch": "main", "full_name": "acme/scale"},
    }
    stage = set_stage(repository / ".github/workflows/release.yml", tmp_path / "run")
    errand = stage.errand(event="pull_request", payload=payload, variables={})
    found = run_act(replace(errand, job="kernels", seconds=SECONDS))
    assert found.exit_code == 0, logs(found)
    assert found.results("gate") == ("success",)
    assert found.results("check-gpu") == found.results("release") == ()
    assert "secretSECRETsecret" not in logs(found)


ARTIFACTS = """name: Artifacts
on: push
permissions: {}
jobs:
  upload:
    runs-on: ubuntu-24.04
    steps:
      - run: mkdir -p out/a out/.hidden && echo 1 >out/top && echo 2 >out/a/deep && echo 3 >out/.hidden/x
      - uses: actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a
        with: {name: one, path: "out/top\\nout/*/deep"}
      - uses: actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a
        with: {name: two, path: out}
  download:
    needs: upload
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c
        with: {name: one, path: got}
      - uses: actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c
        with: {pattern: "*", path: all}
      - run: cat got/top got/a/deep all/one/a/deep all/two/a/deep all/two/top && test ! -e all/two/.hidden
  again:
    needs: download
    runs-on: ubuntu-24.04
    steps:
      - run: echo 1 >file
      - uses: actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a
        with: {name: one, path: file}
  missing:
    needs: download
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c
        with: {name: three}
"""


def test_the_stand_ins_of_artifacts_lay_files_out_as_the_real_ones_and_refuse_a_name_twice(tmp_path: Path) -> None:
    repository = write_kernel(tmp_path / "scale", "scale", caller=ARTIFACTS)
    found = run(tmp_path, repository)
    assert found.results("upload") == found.results("download") == ("success",), logs(found)
    assert found.results("again") == found.results("missing") == ("failure",)
    assert "an artifact with this name already exists on the workflow run: one" in found.said("again")
    assert "Artifact not found for name: three" in found.said("missing")


def test_an_action_that_nothing_stands_in_for_is_named(tmp_path: Path) -> None:
    caller = (
        CALLER.replace("MODE", "check") + "  other:\n    runs-on: ubuntu-24.04\n    steps: [{uses: acme/deploy@v1}]\n"
    )
    repository = write_kernel(
        tmp_path / "scale",
        "scale",
        caller=caller.replace("{uses: acme/deploy@v1}", "\n      - uses: acme/deploy@v1\n    ")
        .replace("[\n", "\n")
        .replace("    ]", ""),
    )
    done = subprocess.run(
        [sys.executable, "-m", "rocmatrix", "rehearse", "--workflow", "--tag", "v1.0.0"],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert "the workflow uses acme/deploy, which a rehearsal has no stand-in for" in done.stderr


MINT = """
import os, sys
from rocmatrix.release.credentials import find_credential
found = find_credential(os.environ["HF_ENDPOINT"])
print(found.source, found.token is not None)
"""


def test_a_job_with_the_permission_mints_its_identity_and_the_hub_takes_it(tmp_path: Path) -> None:
    """The variables that GitHub sets with ``id-token: write``, an endpoint that mints, the Hub's own exchange."""
    asked: list[tuple[str, str]] = []
    with trusting_hub("acme/scale", tmp_path / "hub", source="acme/source") as hub:

        class Minting(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers["Authorization"]))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps({"value": hub.identity_token}).encode())

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Minting) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            variables = {
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PYTHONPATH": str(ROOT / "src"),
                "GITHUB_ACTIONS": "true",
                "ACTIONS_ID_TOKEN_REQUEST_URL": f"http://127.0.0.1:{server.server_port}/token?api-version=2.0",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request",
                "HF_OIDC_RESOURCE": "kernels/acme/scale",
                "HF_ENDPOINT": hub.endpoint,
            }
            done = subprocess.run(
                [sys.executable, "-c", MINT], env=variables, capture_output=True, text=True, check=False, timeout=60
            )
            server.shutdown()
    assert done.stdout == "trusted publishing (HF_OIDC_RESOURCE) True\n", done.stderr
    ((path, authorization),) = asked
    assert path.startswith("/token?audience=http")
    assert authorization == "Bearer request"
