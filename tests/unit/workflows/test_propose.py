"""A pull request by a workflow holds the files that it names; any other change of the working tree is an error."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.system.release_source import git

SCRIPT = Path(__file__).resolve().parents[3] / ".github/actions/propose/propose.sh"
GH = """#!/bin/sh
echo "$*" >>"$RUNNER_TEMP/gh.log"
test "$2" != list || echo "$OPEN"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A working tree with two files in a commit, and where it pushes to."""
    git(tmp_path, "init", "-q", "--bare", "origin")
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", str(tmp_path / "origin"))
    for name in ("compat.toml", "other.toml"):
        (folder / name).write_text("before\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Sources")
    return folder


def propose(tree: Path, found: str = "[]") -> subprocess.CompletedProcess[str]:
    """Run the script where GitHub lists these open pull requests of the branch's name."""
    program = tree.parent / "bin/gh"
    program.parent.mkdir()
    program.write_text(GH)
    program.chmod(0o755)
    variables = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(tree.parent),
        "RUNNER_TEMP": str(tree.parent),
        "BRANCH": "bots/compat",
        "TITLE": "What the indexes list now",
        "PATHS": "compat.toml\n",
        "GH_TOKEN": "secret",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_WORKFLOW": "Watch",
        "GITHUB_RUN_ID": "1",
        "OPEN": found,
    }
    command = ["bash", str(SCRIPT)]
    return subprocess.run(command, cwd=tree, env=variables, capture_output=True, text=True, check=False, timeout=60)


def branches(tree: Path) -> str:
    return git(tree.parent / "origin", "for-each-ref", "--format=%(refname)")


def test_the_named_files_become_a_pull_request(tree: Path) -> None:
    (tree / "compat.toml").write_text("after\n")
    done = propose(tree)
    assert done.returncode == 0, done.stderr
    assert git(tree.parent / "origin", "show", "--format=", "--name-only", "bots/compat") == "compat.toml\n"
    assert "pr create --head bots/compat" in (tree.parent / "gh.log").read_text()


@pytest.mark.parametrize(("of_a_fork", "asked_for"), [("true", 1), ("false", 0)])
def test_a_pull_request_that_is_open_is_not_asked_for_again_and_that_of_a_fork_is_not_ours(
    tree: Path, of_a_fork: str, asked_for: int
) -> None:
    """Anybody can open one from a branch of this name in a fork: ours would never be seen."""
    (tree / "compat.toml").write_text("after\n")
    done = propose(tree, f'[{{"isCrossRepository":{of_a_fork}}}]')
    assert done.returncode == 0, done.stderr
    assert (tree.parent / "gh.log").read_text().count("pr create") == asked_for


def test_an_answer_of_github_that_is_none_is_a_failure(tree: Path) -> None:
    (tree / "compat.toml").write_text("after\n")
    assert propose(tree, "{").returncode != 0


@pytest.mark.parametrize("path", ["other.toml", "new.toml", "new/folder.toml"])
@pytest.mark.parametrize("named_too", [True, False])
def test_a_change_elsewhere_is_an_error_that_names_it_and_nothing_is_pushed(
    tree: Path, path: str, *, named_too: bool
) -> None:
    (tree / path).parent.mkdir(exist_ok=True)
    (tree / path).write_text("after\n")
    if named_too:
        (tree / "compat.toml").write_text("after\n")
    done = propose(tree)
    assert done.returncode == 1
    assert path in done.stderr
    assert "compat.toml" not in done.stderr
    assert branches(tree) == ""


def test_no_change_proposes_nothing(tree: Path) -> None:
    done = propose(tree)
    assert (done.returncode, done.stdout, branches(tree)) == (0, "nothing changed\n", "")
