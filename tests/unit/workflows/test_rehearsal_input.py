"""What ``rocmatrix rehearse --workflow`` refuses before anything runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from rocmatrix.errors import InputError
from rocmatrix.events import Event, Notice
from rocmatrix.report.console import make_console
from rocmatrix.report.workflow_view import show_workflow
from rocmatrix.workflows.rehearsal import rehearse_workflow
from rocmatrix.workflows.stage import TOOLKIT, set_stage
from tests.unit.cli.conftest import MANIFEST, MATRIX

ROOT = Path(__file__).parents[3]
RELEASE = ROOT / ".github/workflows/release.yml"


@pytest.mark.parametrize(
    ("workflow", "tag", "said"),
    [
        (ROOT / "nothere.yml", "v1.0.0", "cannot be read"),
        (ROOT / ".github", "v1.0.0", "folder"),
        (RELEASE, "v1", "no tag of a release"),
        (RELEASE, "-d", "no tag of a release"),
        (RELEASE, "v2.0.0", "major version"),
    ],
)
def test_a_file_that_is_not_there_and_a_tag_that_is_none_are_refused(workflow: Path, tag: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        rehearse_workflow(workflow, matrix=ROOT / "matrix.yaml", tag=tag, emit=lambda _: None)


def repository(folder: Path, workflow: bytes, *, matrix: str = "") -> Path:
    """Write a repository with a workflow, and a kernel if there is a matrix; return the workflow's path."""
    path = folder / ".github/workflows/release.yml"
    path.parent.mkdir(parents=True)
    path.write_bytes(workflow)
    if matrix:
        (folder / "k/torch-ext/tiny").mkdir(parents=True)
        (folder / "k/torch-ext/tiny/__init__.py").touch()
        (folder / "k/build.toml").write_text(MANIFEST)
        (folder / "matrix.yaml").write_text(matrix)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "x")
    return path


def git(folder: Path, *words: str) -> None:
    name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *name, *words], cwd=folder, check=True, timeout=60)


def test_a_workflow_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not UTF-8"):
        set_stage(repository(tmp_path / "r", bytes(range(256))), tmp_path / "scratch")


def test_what_readme_has_in_place_of_a_commit_is_refused(tmp_path: Path) -> None:
    caller = f"jobs:\n  kernel:\n    uses: {TOOLKIT}/.github/workflows/build-kernel.yml@{'0' * 40} # in full\n"
    with pytest.raises(InputError, match=r"at 0{40}, which stands in place of a commit"):
        set_stage(repository(tmp_path / "r", caller.encode()), tmp_path / "scratch")


def test_a_workflow_or_a_matrix_that_is_not_committed_is_refused_and_what_is_changed_is_not_read(
    tmp_path: Path,
) -> None:
    workflow = repository(tmp_path / "r", b"on: push\n", matrix=MATRIX)
    workflow.write_text("on: release\n")
    (tmp_path / "r/new file").touch()
    stage = set_stage(workflow, tmp_path / "scratch")
    assert stage.workflow.read_text() == "on: push\n"
    assert stage.changed() == (".github/workflows/release.yml", '"new file"')
    new = workflow.with_name("new.yml")
    new.write_text("on: push\n")
    with pytest.raises(InputError, match="not in the commit that is checked out"):
        set_stage(new, tmp_path / "other")
    with pytest.raises(InputError, match="not in the commit that is checked out"):
        stage.committed(tmp_path / "elsewhere.yaml")


@pytest.mark.parametrize(("annotated", "later"), [(False, False), (True, True)])
def test_a_tag_that_the_release_would_refuse_is_refused_where_it_lies(
    tmp_path: Path, *, annotated: bool, later: bool
) -> None:
    workflow = repository(tmp_path / "r", b"on: push\n", matrix=MATRIX)
    git(tmp_path / "r", "tag", "v1.0.0", *(("--annotate", "--message", "x") if annotated else ()))
    if later:
        git(tmp_path / "r", "commit", "--quiet", "--allow-empty", "--message", "x")
    said = "v1.0.0 is commit .* is checked out" if annotated else "v1.0.0 is no annotated tag"
    with pytest.raises(InputError, match=said) as refused:
        rehearse_workflow(workflow, matrix=tmp_path / "r/matrix.yaml", tag="v1.0.0", emit=lambda _: None)
    assert refused.value.where == str(tmp_path / "r")


@pytest.mark.parametrize(
    ("workflow", "said"),
    [(b"on: {push: {tags: [release-*]}}\njobs: {a: {}}\n", "GitHub starts nothing"), (b"", "no workflow")],
)
def test_a_workflow_that_github_would_not_start_for_the_tag_is_refused_before_act_is_begun(
    tmp_path: Path, workflow: bytes, said: str
) -> None:
    path = repository(tmp_path / "r", workflow, matrix=MATRIX)
    with pytest.raises(InputError, match=said) as refused:
        rehearse_workflow(path, matrix=tmp_path / "r/matrix.yaml", tag="v1.0.0", emit=lambda _: None)
    assert refused.value.where == str(path)


def test_without_a_repository_or_a_commit_it_is_said_what_lacks(tmp_path: Path) -> None:
    workflow = repository(tmp_path / "r", b"on: push\n", matrix=MATRIX)
    shutil.rmtree(tmp_path / "r/.git")
    with pytest.raises(InputError, match="this is no git repository") as refused:
        rehearse_workflow(workflow, matrix=tmp_path / "r/matrix.yaml", tag="v1.0.0", emit=lambda _: None)
    assert refused.value.where == str(tmp_path / "r")
    with pytest.raises(InputError, match="this is in no git repository") as refused:
        set_stage(workflow, tmp_path / "scratch")
    assert refused.value.where == str(workflow.parent)
    git(tmp_path / "r", "init", "--quiet")
    with pytest.raises(InputError, match="has no commit yet") as refused:
        rehearse_workflow(workflow, matrix=tmp_path / "r/matrix.yaml", tag="v1.0.0", emit=lambda _: None)
    assert refused.value.where == str(tmp_path / "r")


@pytest.mark.parametrize("tag", ["1.0.0", "v2.0.0"])
@pytest.mark.parametrize("words", [[], ["--workflow", ".github/workflows/release.yml"]])
def test_a_tag_of_another_form_or_version_is_wrong_input_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tag: str, words: list[str]
) -> None:
    pytest.importorskip("starlette", reason="the extra `hub`")
    repository(tmp_path / "r", b"on: push\n", matrix=MATRIX)
    monkeypatch.chdir(tmp_path / "r")
    assert main(["rehearse", "--tag", tag, *words]) == 2
    assert tag in capsys.readouterr().err
    assert not (tmp_path / "r/dist").exists()


NO_MACHINE = b"""on: push
jobs:
  kernel:
    runs-on: windows-latest
    steps: [{run: "true"}]
"""


def test_of_a_commit_the_matrix_is_that_of_the_commit_and_a_job_without_a_machine_is_named(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="the extra `hub`")
    workflow = repository(tmp_path / "r", NO_MACHINE, matrix=MATRIX)
    matrix = tmp_path / "r/matrix.yaml"
    matrix.write_text(MATRIX.replace('"2.11"', '"2.12"'))
    said: list[Event] = []
    found = rehearse_workflow(workflow, matrix=matrix, tag="v1.0.0", emit=said.append)
    told = [event.message for event in said if isinstance(event, Notice) and event.level == "warning"]
    assert told == [
        "the commit is rehearsed, without what is not in it: matrix.yaml",
        "kernel: not run: a rehearsal has no machine windows-latest",
    ]
    assert not found.passed
    assert found.users == ()
    assert {each.partition("-")[0] for each in found.wanted} == {"torch2.10", "torch2.11"}
    with Path(tmp_path / "said").open("w") as stream:
        show_workflow(found, make_console(stream))
    assert ": 0 jobs, 0 of 3 promised machines get theirs; failed" in " ".join((tmp_path / "said").read_text().split())


PUBLISHES_NOTHING = b"""on: push
jobs:
  kernel:
    runs-on: ubuntu-24.04
    steps: [{run: "true"}]
"""


def test_jobs_that_publish_nothing_are_said_to(tmp_path: Path) -> None:
    pytest.importorskip("starlette", reason="the extra `hub`")
    workflow = repository(tmp_path / "r", PUBLISHES_NOTHING, matrix=MATRIX)
    said: list[Event] = []
    found = rehearse_workflow(workflow, matrix=tmp_path / "r/matrix.yaml", tag="v1.0.0", emit=said.append)
    told = [event.message for event in said if isinstance(event, Notice) and event.level == "warning"]
    assert [message.partition(": ")[0] for message in told] == ["no job published v1.0.0 of somebody/tiny"]
    assert (found.passed, found.users, found.run.results("kernel")) == (False, (), ("success",))
    assert "docker connection" not in str(found.run.log)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--toolchain", "llvm"), "--toolchain"),
        (("--jobs", "77"), "--jobs"),
        (("--jobs", str(len(os.sched_getaffinity(0)))), "--jobs"),
        (("--on", "auto", "--seed", "0"), "--on, --seed"),
        (("--on", "emulator"), "--on"),
        (("--only", "gemm*"), "--only"),
        (("--out", "elsewhere"), "--out"),
        (("--no-run",), "--no-run"),
        (("--no-cache", "--explain"), "--no-cache, --explain"),
        (("--budget", "all", "--device", "mi300a", "--seed", "3"), "--seed, --budget, --device"),
        (("--engine", "docker", "--limit", "time=9", "--keep"), "--engine, --limit, --keep"),
    ],
)
def test_an_option_that_a_workflow_does_not_look_at_is_refused(
    words: tuple[str, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("starlette", reason="the extra `hub`")
    assert main(["rehearse", "--tag", "v1.0.0", "--workflow", str(RELEASE), *words]) == 2
    said = capsys.readouterr().err
    listed = said.partition("error: ")[2].partition(": with --workflow")[0]
    assert sorted(listed.split(", ")) == sorted(named.split(", "))
