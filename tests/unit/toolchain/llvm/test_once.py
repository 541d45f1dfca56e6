"""Shared files are made exactly once, and are whole or not there."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rocmatrix.toolchain.interface import DAMAGED_CACHE
from rocmatrix.toolchain.llvm.facts import TASKS
from rocmatrix.toolchain.llvm.tasks import once

ONCE = (sys.executable, "-I", "-S", str(TASKS / "once.py"))
LIMIT = 30.0


def shell(text: str) -> list[str]:
    """Return a command that runs a script in which ``{made}`` and ``{scratch}`` stand for the places."""
    script = text.replace("{made}", '"$MADE"').replace("{scratch}", '"$SCRATCH"')
    return ["/bin/sh", "-c", f'MADE="$0" SCRATCH="$1"; {script}', "{made}", "{scratch}"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ONCE, str(folder), *words], capture_output=True, text=True, check=False, timeout=LIMIT)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def test_commands_run_one_after_the_other_and_leave_their_files(tmp_path: Path) -> None:
    steps = [*shell("echo 1 > {scratch}/one"), "::", *shell("mkdir {made}/sub; cat {scratch}/one > {made}/sub/two")]
    assert run(tmp_path / "cache", "sub/two", "--", *steps).returncode == 0
    assert (tmp_path / "cache" / "sub" / "two").read_text() == "1\n"
    assert visible(tmp_path) == ["two"]


def test_a_file_that_is_there_is_not_made_anew(tmp_path: Path) -> None:
    assert run(tmp_path, "a", "--", *shell("printf kept > {made}/a")).returncode == 0
    done = run(tmp_path, "a", "--", "/bin/false")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "a").read_text() == "kept"


def test_what_a_killed_run_left_goes_also_when_the_file_is_there(tmp_path: Path) -> None:
    words = ("a", "--", *shell("printf one > {made}/a"))
    run(tmp_path, *words)
    (tmp_path / ".a.making" / "made").mkdir(parents=True)
    run(tmp_path, *words)
    assert not (tmp_path / ".a.making").exists()


def damaged(content: bytes) -> list[bytes]:
    """Return what a file may have become: empty, cut short, longer, one bit another."""
    return [b"", content[:-1], content + b"\0", bytes([content[0] ^ 1]) + content[1:]]


@pytest.mark.parametrize("name", ["a", "sub/b"])
def test_a_file_that_is_not_what_was_made_is_made_anew_and_that_is_said(tmp_path: Path, name: str) -> None:
    words = ("a", "sub/b", "--", *shell("mkdir {made}/sub; printf one > {made}/a; printf two > {made}/sub/b"))
    assert run(tmp_path, *words).stdout == ""
    content = (tmp_path / name).read_bytes()
    for other in damaged(content):
        (tmp_path / name).write_bytes(other)
        said = run(tmp_path, *words).stdout
        assert said.startswith(f"{DAMAGED_CACHE}{name} in {tmp_path}, ")
        assert (tmp_path / name).read_bytes() == content
        assert run(tmp_path, *words).stdout == ""


def test_digests_that_are_damaged_are_no_proof(tmp_path: Path) -> None:
    words = ("a", "--", *shell("printf one > {made}/a"))
    run(tmp_path, *words)
    for other in damaged((tmp_path / ".a.sha256").read_bytes()):
        (tmp_path / ".a.sha256").write_bytes(other)
        assert run(tmp_path, *words).stdout.startswith(DAMAGED_CACHE)
        assert run(tmp_path, *words).stdout == ""


def test_a_file_of_unknown_origin_is_not_relied_on(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("whose?")
    assert run(tmp_path, "a", "--", *shell("printf made > {made}/a")).returncode == 0
    assert (tmp_path / "a").read_text() == "made"


@pytest.mark.parametrize("word", ["x{made}", "/{scratch}/{made}", "{made}x", "-o{scratch}/y", "{}"])
def test_only_the_beginning_of_a_word_is_a_place(tmp_path: Path, word: str) -> None:
    steps = [*shell('printf %s "$2" > {made}/a'), word]
    assert run(tmp_path / "{made} {scratch}", "a", "--", *steps).returncode == 0
    assert (tmp_path / "{made} {scratch}" / "a").read_text() == word


def test_the_line_about_damage_is_the_one_that_the_build_stage_hears() -> None:
    assert once.DAMAGED == DAMAGED_CACHE


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
