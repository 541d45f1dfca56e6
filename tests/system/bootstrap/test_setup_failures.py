"""The set-up that does not work out: one message, code 3 or 130, nothing half made, and the next start succeeds."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.system.bootstrap.tree import SECONDS, Tree, make_tree


def assert_refused(done: subprocess.CompletedProcess[str], tree: Tree, *said: str) -> None:
    """Check a failed start: its code, its words, and that it left nothing."""
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    for words in said:
        assert words in done.stderr
    assert done.stderr.count("build_matrix: ") == 1
    assert "Traceback" not in done.stderr
    assert not tree.environment.exists()


def test_no_pip_of_any_kind_names_what_to_install(tmp_path: Path, quick: Tree) -> None:
    tree = make_tree(tmp_path / "bare", quick.index, python=quick.python, path="/nonexistent")
    assert_refused(tree.start(), tree, "has no ensurepip, and no pip, virtualenv or uv", "Install one of them")


def test_offline_says_which_package_and_why(plain: Tree) -> None:
    dead = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    version = (plain.root / "requirements" / "pip.txt").read_text().split()[0]
    assert_refused(plain.start(more=dead), plain, f"{version} is missing", "Connection refused", "Check the network")


def test_other_bytes_than_the_lock_names_are_refused(quick: Tree) -> None:
    quick.lock("1.0", b"what the lock was made for")
    assert_refused(quick.start(), quick, "tiny==1.0", "DO NOT MATCH THE HASHES", "requirements/refresh.sh")


def test_a_source_distribution_is_never_built(quick: Tree) -> None:
    content = quick.index.files.pop("tiny-1.0-py3-none-any.whl")
    quick.index.files["tiny-1.0.tar.gz"] = content
    assert_refused(quick.start(), quick, "tiny==1.0 is missing", "No matching distribution found for tiny==1.0")
    assert not any(request.endswith(".tar.gz") for request in quick.index.requests)


def test_a_folder_that_cannot_be_made_is_named(quick: Tree, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = tmp_path / "file" / "environments"
    done = quick.start(more={"ROCMATRIX_ENVIRONMENTS": str(home)})
    assert_refused(done, quick, str(home), "ROCMATRIX_ENVIRONMENTS names another folder")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing(number: signal.Signals, quick: Tree) -> None:
    quick.index.held = "tiny-1.0-py3-none-any.whl"
    process = quick.spawn()
    assert quick.index.reached.wait(SECONDS)
    process.send_signal(number)
    _, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert f"build_matrix: interrupted by {number.name}; nothing half made was left" in error
    assert "Traceback" not in error
    assert not quick.environment.exists()
    assert not processes_in(quick.environment)


@pytest.mark.parametrize("package", ["pip", "tiny"])
def test_after_a_kill_in_mid_download_the_next_start_begins_anew(package: str, quick: Tree) -> None:
    (quick.index.held,) = (name for name in quick.index.files if name.startswith(package))
    process = quick.spawn()
    assert quick.index.reached.wait(SECONDS)
    process.kill()
    process.communicate(timeout=SECONDS)
    assert quick.environment.exists()
    quick.index.release.set()
    quick.index.held = ""
    done = quick.start()
    assert done.returncode == 0, done.stderr
    assert "setting up" in done.stderr


def processes_in(folder: Path) -> list[str]:
    """Return the command lines of running programs that name a folder."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile
            continue
        if str(folder) in line:
            lines.append(line)
    return lines
