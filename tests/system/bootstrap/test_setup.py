"""The set-up that works: what it leaves, what it says, and that the second start does not repeat it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.bootstrap.tree import SECONDS, Tree, folder_with, make_tree
from tests.system.bootstrap.wheels import tiny_wheel


def break_pip(tree: Tree) -> None:
    """Make every call of the environment's pip fail."""
    (main,) = tree.environment.glob("lib/python3.*/site-packages/pip/__main__.py")
    main.write_text("raise SystemExit('pip was called')\n")


def test_a_bare_python_sets_up_once_and_hands_over(plain: Tree, tmp_path: Path) -> None:
    first = plain.start("--only", "a b", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    said = json.loads(first.stdout)
    assert said["arguments"] == ["run", "--matrix", str(plain.root / "matrix.yaml"), "--only", "a b"]
    assert said["prefix"] == str(plain.environment)
    assert "tiny 1.0                                 2.0 MB" in first.stderr
    assert "2 packages: " in first.stderr

    asked = len(plain.index.requests)
    break_pip(plain)
    second = plain.start()
    assert second.returncode == 0, second.stderr
    assert second.stderr == ""
    assert len(plain.index.requests) == asked


def test_the_package_is_found_from_a_folder_with_modules_of_the_same_names(quick: Tree, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("rocmatrix", "pip", "tiny", "private_environment"):
        (elsewhere / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    done = quick.start(cwd=elsewhere, more={"PYTHONPATH": str(elsewhere)})
    assert done.returncode == 0, done.stderr


def test_only_our_own_variable_moves_anything(quick: Tree, tmp_path: Path) -> None:
    settings = {"PIP_TARGET": str(tmp_path / "target"), "PIP_USER": "1", "PIP_NO_BINARY": ":all:", "PIP_QUIET": "3"}
    ours = {"ROCMATRIX_ENVIRONMENTS": str(tmp_path / "others")}
    done = quick.start(options=["-I"], more={"PYTHONHOME": "/nonexistent", **settings, **ours})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["prefix"] == str(tmp_path / "others" / quick.environment.name)
    assert not (tmp_path / "target").exists()
    assert not (quick.root / ".rocmatrix").exists()


@pytest.mark.parametrize("tool", ["pip", "virtualenv"])
def test_without_ensurepip_a_tool_that_is_there_is_used(tool: str, tmp_path: Path, quick: Tree) -> None:
    path = folder_with(tmp_path / "other tools", tool)
    tree = make_tree(tmp_path / "another tree", quick.index, python=quick.python, path=path)
    done = tree.start()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tiny"] == "1.0"


def test_a_changed_lock_and_a_lost_interpreter_are_set_up_anew(quick: Tree) -> None:
    (quick.environment / "bin").mkdir(parents=True)  # what a start left that was killed
    assert json.loads(quick.start().stdout)["tiny"] == "1.0"
    name, content = tiny_wheel("2.0")
    quick.index.files[name] = content
    quick.lock("2.0", content)
    assert json.loads(quick.start().stdout)["tiny"] == "2.0"
    (quick.environment / "bin" / "python").unlink()
    (quick.environment / "bin" / "python").symlink_to("/nonexistent/python3")
    assert quick.start().returncode == 0


def test_two_starts_at_once_make_one_environment(quick: Tree) -> None:
    quick.index.held = "tiny-1.0-py3-none-any.whl"
    first = quick.spawn()
    assert quick.index.reached.wait(SECONDS)
    second = quick.spawn()
    assert second.stderr is not None
    assert "is in use by another start; waiting" in second.stderr.readline()
    quick.index.release.set()
    for process in (first, second):
        out, error = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, error
        assert json.loads(out)["tiny"] == "1.0"
    assert sum(request.endswith(quick.index.held) for request in quick.index.requests) == 1


def test_help_is_there_before_anything_is_set_up(quick: Tree) -> None:
    done = quick.start("--help")
    assert done.returncode == 0
    assert "usage: python3 scripts/build_matrix.py" in done.stdout
    assert not (quick.root / ".rocmatrix").exists()


@pytest.mark.parametrize("script", ["build_matrix.py", "run_tests.py"])
def test_an_older_python_is_refused_in_one_sentence(script: str, quick: Tree) -> None:
    pretend = "import runpy, sys; sys.version_info = (3, 10, 4); sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0])"
    command = [sys.executable, "-c", pretend, str(quick.root / "scripts" / script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 3
    assert done.stderr.startswith("rocmatrix needs Python 3.11 or later; this is Python 3.10")
    assert "Traceback" not in done.stderr
