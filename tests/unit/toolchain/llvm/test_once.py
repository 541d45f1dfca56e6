"""Shared files are made exactly once, and are whole or not there."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rocmatrix.toolchain.llvm.facts import TASKS

ONCE = (sys.executable, "-I", "-S", str(TASKS / "once.py"))
LIMIT = 30.0


def shell(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ONCE, str(folder), *words], capture_output=True, text=True, check=False, timeout=LIMIT)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".lock"))


def test_commands_run_one_after_the_other_and_leave_their_files(tmp_path: Path) -> None:
    steps = [*shell("echo 1 > {scratch}/one"), "::", *shell("mkdir {made}/sub; cat {scratch}/one > {made}/sub/two")]
    assert run(tmp_path / "cache", "sub/two", "--", *steps).returncode == 0
    assert (tmp_path / "cache" / "sub" / "two").read_text() == "1\n"
    assert visible(tmp_path) == ["two"]


def test_a_file_that_is_there_is_not_made_anew(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("kept")
    assert run(tmp_path, "a", "--", "/bin/false").returncode == 0
    assert (tmp_path / "a").read_text() == "kept"


def test_all_are_made_where_one_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    assert run(tmp_path, "a", "b", "--", *shell("echo new > {made}/a; echo new > {made}/b")).returncode == 0
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("new\n", "new\n")


def test_a_folder_that_was_made_before_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "cache" / "sub").mkdir(parents=True)  # ninja makes the folders of a step's outputs
    assert run(tmp_path / "cache", "sub/a", "--", *shell("mkdir {made}/sub; echo 1 > {made}/sub/a")).returncode == 0
    assert visible(tmp_path) == ["a"]


def test_a_command_that_fails_leaves_nothing_and_its_status_and_words(tmp_path: Path) -> None:
    steps = [*shell("echo half > {made}/a; echo why >&2; exit 7"), "::", *shell("echo never")]
    done = run(tmp_path, "a", "--", *steps)
    assert (done.returncode, done.stderr, done.stdout) == (7, "why\n", "")
    assert visible(tmp_path) == []


def test_a_command_that_was_killed_is_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, "a", "--", *shell("kill -9 $$")).returncode == 128 + signal.SIGKILL


def test_those_who_want_the_same_file_make_it_once(tmp_path: Path) -> None:
    steps = shell(f"echo x >> {tmp_path}/count; sleep 0.3; echo made > {{made}}/a")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: run(tmp_path / "cache", "a", "--", *steps), range(4)))
    assert [one.returncode for one in done] == [0] * 4
    assert (tmp_path / "count").read_text() == "x\n"


def test_a_run_that_is_killed_leaves_no_file_and_the_next_one_completes(tmp_path: Path) -> None:
    words = ("a", "--", *shell("printf half > {made}/a; sleep 20"))
    process = subprocess.Popen([*ONCE, str(tmp_path), *words], start_new_session=True)
    deadline = time.monotonic() + LIMIT
    while not list(tmp_path.rglob("made/a")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(LIMIT)
    assert not (tmp_path / "a").exists()
    assert run(tmp_path, "a", "--", *shell("printf whole > {made}/a")).returncode == 0
    assert (tmp_path / "a").read_text() == "whole"
