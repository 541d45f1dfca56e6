"""The action that sets rocmatrix up: which toolkit it takes, and that another one is named by a full commit."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / ".github/actions/setup-rocmatrix/find_toolkit.sh"


def find(
    tmp_path: Path, *, ref: str = "", repository: str = "", server: str = "https://github.example"
) -> tuple[int, str, dict[str, str]]:
    """Run the script as the action does; return exit code, complaint and outputs."""
    output = tmp_path / "output"
    output.touch()
    (tmp_path / "temp").mkdir(exist_ok=True)
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "GITHUB_ACTION_PATH": str(SCRIPT.parent),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_SERVER_URL": server,
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "RUNNER_OS": "Linux",
        "RUNNER_ARCH": "X64",
        "ENVIRONMENT": "run",
        "TOOLKIT_REF": ref,
        "TOOLKIT_REPOSITORY": repository,
    }
    done = subprocess.run(["bash", str(SCRIPT)], env=variables, capture_output=True, text=True, check=False, timeout=60)
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return done.returncode, done.stderr, outputs


def test_without_a_ref_it_is_the_repository_that_the_action_came_with(tmp_path: Path) -> None:
    code, _, outputs = find(tmp_path)
    assert code == 0
    assert outputs["toolkit"] == str(ROOT)
    assert outputs["key"].startswith("rocmatrix-run-Linux-X64-")


@pytest.mark.parametrize("ref", ["main", "v0.1.0", "0123456", "--upload-pack=touch x", "g" * 40, "A" * 40])
def test_what_is_no_full_commit_is_refused(tmp_path: Path, ref: str) -> None:
    code, said, outputs = find(tmp_path, ref=ref, repository="rocmatrix/rocmatrix")
    assert code == 2
    assert "full hash of a commit" in said
    assert outputs == {}


@pytest.mark.parametrize("repository", ["", "rocmatrix", "a/b/c", "../x", "a/b --x"])
def test_what_is_no_repository_is_refused(tmp_path: Path, repository: str) -> None:
    assert find(tmp_path, ref="0" * 40, repository=repository)[0] == 2


def test_another_commit_is_fetched_by_its_hash(tmp_path: Path) -> None:
    source = tmp_path / "server/acme/toolkit"
    (source / "requirements").mkdir(parents=True)
    (source / "src/rocmatrix/toolchain").mkdir(parents=True)
    (source / "requirements/run.txt").write_text("one\n")
    (source / "src/rocmatrix/toolchain/hip.h").write_text("// a header\n")

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=source, check=True, capture_output=True, text=True, timeout=30
        ).stdout.strip()

    git("init", "-q")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    git("add", ".")
    git("commit", "-qm", "one")
    wanted = git("rev-parse", "HEAD")
    (source / "requirements/run.txt").write_text("two\n")
    git("commit", "-qam", "two")
    code, said, outputs = find(tmp_path, ref=wanted, repository="acme/toolkit", server=f"file://{tmp_path}/server")
    assert code == 0, said
    assert (Path(outputs["toolkit"]) / "requirements/run.txt").read_text() == "one\n"
