"""The other workflows by act: the question to the indexes, a check on a GPU that is asked for; the stand-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rocmatrix.plan.compat import shipped_compat
from rocmatrix.workflows.identity import trusting_hub
from tests.system.index_server import page, serving, torch_page, wheels
from tests.system.matrix_update import known_wheels, source
from tests.system.workflow_repository import commit, git, write_kernel, write_python_kernel
from tests.system.workflow_runs import CALLER, GH, ONE_ROCM, ROOT, SOURCE, logs, run

pytestmark = [
    pytest.mark.needs_llvm,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),  # huggingface_hub's own, of httpx2
]

SOURCES = """case "$1" in matrix) set -- "$@" --sources {sources} ;; esac
exec rocmatrix-itself "$@"
"""


def test_what_the_indexes_list_at_night_becomes_a_pull_request_of_one_file(tmp_path: Path) -> None:
    watch = (ROOT / ".github/workflows/watch.yml").read_text(encoding="utf-8")
    repository = write_kernel(tmp_path / "scale", "scale", caller=watch)
    compat = "src/rocmatrix/plan/compat.toml"
    (repository / compat).parent.mkdir(parents=True)
    (repository / compat).write_bytes(shipped_compat())
    commit(repository, "What is known")
    wheels_of_tomorrow = page(torch_page([*known_wheels(), *wheels("2.16.0", "7.14", ("312",))]))
    with serving({"/whl/torch/": wheels_of_tomorrow}) as address:
        sources = tmp_path / "sources.toml"
        sources.write_text("schema = 1\n" + source("pytorch", "torch-wheels", f"{address}/whl/torch/"))
        found = run(
            tmp_path,
            repository,
            event="schedule",
            job="indexes",
            machine=SOURCES.format(sources=sources),
            programs={"gh": GH},
            variables={"GH_LOG": str(tmp_path / "gh.log")},
        )
    assert found.results("indexes") == ("success",), logs(found)
    asked = (tmp_path / "gh.log").read_text().splitlines()
    assert [line.split()[:2] for line in asked] == [["pr", "list"], ["pr", "create"]]
    assert "--head bots/compat" in asked[1]
    pushed = tmp_path / "run/repository"
    assert git(pushed, "diff", "--name-only", "main", "bots/compat").split() == [compat]
    assert '"2.16"' in git(pushed, "diff", "main", "bots/compat")


@pytest.mark.parametrize("actor", ["bob", "cy"])
def test_a_pull_request_is_built_for_the_gpu_for_those_alone_who_may_write(tmp_path: Path, actor: str) -> None:
    gpu = (ROOT / ".github/workflows/gpu.yml").read_text(encoding="utf-8")
    repository = write_python_kernel(tmp_path / "scale", "scale", caller=gpu, matrix=ONE_ROCM)
    head = git(repository, "rev-parse", "HEAD").strip()
    rights = {"bob": "write", "cy": "read"}
    answers = {
        f"/repos/{SOURCE}/collaborators/{actor}/permission": page(json.dumps({"permission": rights[actor]})),
        f"/repos/{SOURCE}/pulls/7": page(json.dumps({"state": "open", "head": {"sha": head}})),
    }
    with serving(answers) as address:
        found = run(
            tmp_path,
            repository,
            event="workflow_dispatch",
            job="build",
            payload={
                "ref": "refs/heads/main",
                "repository": {"default_branch": "main"},
                "inputs": {"number": "7", "sha": head},
            },
            variables={"GITHUB_API_URL": address, "GITHUB_TRIGGERING_ACTOR": actor},
        )
    if actor == "cy":
        assert "refused: cy may not write here" in found.said("Authorize"), logs(found)
        assert found.results("authorize") == ("failure",)
        assert found.results("build") == ()
        return
    assert found.results("authorize") == found.results("build") == ("success",), logs(found)
    assert list(found.artifacts.rglob("unit-all.zip"))


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
      - uses: actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c
        with: {pattern: "t*", path: only}
      - run: test -e only/a/deep && test ! -e only/two
      - run: cat got/top got/a/deep all/one/a/deep all/two/a/deep all/two/top && test ! -e all/two/.hidden
  again:
    needs: download
    runs-on: ubuntu-24.04
    steps:
      - run: echo 4 >file
      - uses: actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a
        with: {name: one, path: file, overwrite: "${{ github.run_attempt > 1 }}"}
  replace:
    needs: again
    if: always()
    runs-on: ubuntu-24.04
    steps:
      - run: echo 5 >file
      - uses: actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a
        with: {name: one, path: file, overwrite: true}
      - uses: actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c
        with: {name: one, path: now}
      - run: test "$(cat now/file)" = 5
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
    assert found.results("replace") == ("success",)
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
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
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
