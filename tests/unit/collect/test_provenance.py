"""Which commit the sources are: read from git, never guessed."""

import subprocess
from pathlib import Path

import pytest

from rocmatrix.collect.provenance import Unknown, read_git_state
from rocmatrix.metadata import GitState


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    folder = tmp_path / "repository" / "kernels" / "gemm"
    folder.mkdir(parents=True)
    (folder / "build.toml").write_text("x")
    (tmp_path / "repository" / "README.md").write_text("x")
    git(tmp_path / "repository", "init", "-q")
    git(tmp_path / "repository", "add", ".")
    git(tmp_path / "repository", "commit", "-qm", "first")
    return folder


def state(kernel: Path) -> GitState:
    found = read_git_state(kernel)
    assert isinstance(found, GitState), found
    return found


def test_a_clean_tree_is_its_commit(kernel: Path) -> None:
    assert state(kernel) == GitState(commit=git(kernel, "rev-parse", "HEAD"), dirty=False)


@pytest.mark.parametrize("file", ["build.toml", "../../README.md"])
def test_a_tracked_change_anywhere_in_the_tree_is_dirty(kernel: Path, file: str) -> None:
    (kernel / file).write_text("changed")
    assert state(kernel).dirty


def test_a_staged_change_is_dirty(kernel: Path) -> None:
    (kernel / "build.toml").write_text("changed")
    git(kernel, "add", ".")
    assert state(kernel).dirty


def test_a_new_file_in_the_kernels_folder_is_dirty_elsewhere_it_is_not(kernel: Path) -> None:
    (kernel.parent / "notes.txt").write_text("x")
    assert not state(kernel).dirty
    (kernel / "extra.h").write_text("x")
    assert state(kernel).dirty


def test_the_output_folder_of_a_kernel_at_the_top_of_its_repository_is_not_dirty(kernel: Path) -> None:
    top = kernel.parents[1]
    (top / "dist/units").mkdir(parents=True)
    (top / "dist/units/build.json").write_text("{}")
    clean = GitState(commit=git(top, "rev-parse", "HEAD"), dirty=False)
    assert read_git_state(top, out=top / "dist") == clean
    assert read_git_state(top) == GitState(commit=clean.commit, dirty=True), "the control"
    assert read_git_state(kernel, out=top / "dist") == clean
    (top / "dist2").write_text("x")
    assert read_git_state(top, out=top / "dist") == GitState(commit=clean.commit, dirty=True)


def test_an_ignored_file_is_not_dirty(kernel: Path) -> None:
    (kernel.parents[1] / ".git" / "info" / "exclude").write_text("*.log\n")
    (kernel / "build.log").write_text("x")
    assert not state(kernel).dirty


def test_reading_the_state_does_not_touch_the_index(kernel: Path) -> None:
    index = kernel.parents[1] / ".git" / "index"
    before = index.read_bytes(), index.stat().st_mtime_ns
    (kernel / "build.toml").touch()
    read_git_state(kernel)
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


def test_a_folder_outside_any_repository_has_no_commit(tmp_path: Path) -> None:
    assert read_git_state(tmp_path) == Unknown(reason="it is not in a git repository")


def test_a_repository_without_a_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert read_git_state(tmp_path) == Unknown(reason="its git repository has no commit yet")


def test_a_repository_that_does_not_track_the_kernel_is_not_its_source(kernel: Path) -> None:
    other = kernel.parents[1] / "downloaded"
    other.mkdir()
    (other / "build.toml").write_text("x")
    assert read_git_state(other) == Unknown(reason="the git repository around it does not track it")


def test_a_damaged_repository_is_a_reason_not_a_crash(kernel: Path) -> None:
    (kernel.parents[1] / ".git" / "index").write_bytes(b"damaged")
    found = read_git_state(kernel)
    assert isinstance(found, Unknown)
    assert "git failed" in found.reason


def test_a_machine_without_git_has_no_commit(kernel: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from rocmatrix.collect.provenance import read_git_state;"
        "print(read_git_state(Path(sys.argv[1])))"
    )
    import sys  # noqa: PLC0415 - next to its use

    done = subprocess.run(
        [sys.executable, "-c", program, str(kernel)],
        env={"PATH": "/nonexistent", "PYTHONPATH": ":".join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "git is not installed" in done.stdout
