"""What ``rocmatrix rehearse --workflow`` refuses before anything runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from rocmatrix.errors import InputError, RocmatrixError
from rocmatrix.workflows.rehearsal import rehearse_workflow
from rocmatrix.workflows.stage import set_stage

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
    with pytest.raises(RocmatrixError, match=said):
        rehearse_workflow(workflow, matrix=ROOT / "matrix.yaml", tag=tag, emit=lambda _: None)


def test_a_workflow_that_is_no_text_is_refused(tmp_path: Path) -> None:
    for command in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "x"]):
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *name, *command], cwd=tmp_path, check=True, timeout=60)
    workflow = tmp_path / "bin.yml"
    workflow.write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="is not UTF-8"):
        set_stage(workflow, tmp_path / "scratch")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--toolchain", "llvm"), "--toolchain"),
        (("--jobs", "77"), "--jobs"),
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
