"""Folders that jobs hand on, and the digests by which a replaced one is told."""

import json
import os
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from rocmatrix.collect.folder_digests import digests_of, read_digests, require_digests
from rocmatrix.errors import InputError
from rocmatrix.plan.github import LONGEST_ID, MOST_JOBS


@pytest.fixture
def part(tmp_path: Path) -> Path:
    folder = tmp_path / "parts/unit-001-llvm"
    (folder / "units/a/payload").mkdir(parents=True)
    (folder / "units/a/payload/a.abi3.so").write_bytes(b"code")
    (folder / "units/a/audit.json").write_text("{}")
    (folder / "plan.json").write_text("{}")
    return folder


def test_what_was_not_touched_passes(part: Path) -> None:
    stated = read_digests(json.dumps(digests_of([part, part / "plan.json"])).encode(), "a test")
    assert set(stated) == {"unit-001-llvm", "plan.json"}
    require_digests([part, part / "plan.json"], stated)


@pytest.mark.parametrize("name", ["units/a/payload/a.abi3.so", "units/a/audit.json", "plan.json", "units/a/new"])
def test_a_file_that_was_changed_or_added_is_told(part: Path, name: str) -> None:
    stated = digests_of([part])
    (part / name).write_bytes(b"other")
    with pytest.raises(InputError, match="it was replaced or changed") as refused:
        require_digests([part], stated)
    assert refused.value.where == str(part)


def test_all_that_were_replaced_are_named(part: Path, tmp_path: Path) -> None:
    parts = [part, tmp_path / "parts/unit-001-llvm-check", tmp_path / "parts/unit-002-llvm"]
    for each in parts[1:]:
        each.mkdir()
    stated = digests_of(parts)
    for each in parts[:2]:
        (each / "new").write_text("x")
    with pytest.raises(InputError, match="it was replaced or changed: ") as refused:
        require_digests(parts, stated)
    assert refused.value.what.endswith(" is stated; so was 'unit-001-llvm-check'")


def test_a_folder_that_was_not_there_then_is_told(part: Path) -> None:
    with pytest.raises(InputError, match="no digest is stated for it"):
        require_digests([part], {"unit-002-llvm": "sha256:0"})


def test_links_missing_paths_and_one_name_twice_are_refused(part: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        digests_of([tmp_path / "no"])
    other = tmp_path / "other/unit-001-llvm"
    other.mkdir(parents=True)
    with pytest.raises(InputError, match="two of them are named unit-001-llvm"):
        digests_of([part, other])
    (other / "link").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="this is a link"):
        digests_of([other])


def test_a_pipe_is_refused_and_not_waited_for(part: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(part / "units/pipe")
    for path in (tmp_path / "pipe", part):
        with pytest.raises(InputError, match="this is neither a file nor a folder"):
            digests_of([path])


def test_a_folder_is_known_by_its_name_however_it_is_reached(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = digests_of([part])
    monkeypatch.chdir(part / "units")
    for path in (Path(), Path(".."), Path("../../unit-001-llvm")):
        assert digests_of([path]).keys() == ({"units"} if path == Path() else stated.keys())
    require_digests([Path("..")], stated)
    with pytest.raises(InputError, match="this folder has no name"):
        digests_of([Path("/")])


@pytest.mark.parametrize("text", ["", "[]", '{"a":' * 100_000, '{"a": 1}', "null"])
def test_what_are_no_digests_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="these are no digests"):
        read_digests(text.encode(), "a test")


def test_the_verb_says_digests_to_later_steps_and_compares(
    part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    assert main(["digest", str(part)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == digests_of([part])
    assert json.dumps(said, separators=(",", ":")) in (tmp_path / "output").read_text()
    stated = tmp_path / "stated.json"
    stated.write_text(json.dumps(said))
    assert main(["digest", "--check", str(stated), str(part)]) == 0
    for nothing in (["digest"], ["digest", "--check", str(stated)]):
        assert main(nothing) == 2
        assert "no file or folder is named" in capsys.readouterr().err
    (part / "plan.json").write_text("[]")
    assert main(["digest", "--check", str(stated), str(part)]) == 2
    assert "it was replaced or changed" in capsys.readouterr().err


def test_256_rows_fit_into_the_outputs_of_a_job(tmp_path: Path) -> None:
    """GitHub counts in UTF-16: at most 1 MB; a variable of a step takes 128 KiB (Linux, MAX_ARG_STRLEN)."""
    rows = [f"{number:03}-{'a-toolchain-with-a-long-name-' * 3}"[:LONGEST_ID] for number in range(MOST_JOBS)]
    parts = [tmp_path / f"unit-{row}{of}" for row in rows for of in ("", "-check")]
    for part in parts:
        part.mkdir()
    assert len(json.dumps(digests_of(parts))) < 128 * 1024


def test_collect_refuses_a_folder_that_was_replaced_before_it_takes_anything(
    part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stated = tmp_path / "stated.json"
    stated.write_text(json.dumps(digests_of([part])))
    (part / "units/a/payload/a.abi3.so").write_bytes(b"other code")
    out = tmp_path / "out"
    for option in ("--from", "--emulated-from"):
        assert main(["collect", "--out", str(out), option, str(part), "--digests", str(stated)]) == 2
        assert "it was replaced or changed" in capsys.readouterr().err
        assert not out.exists()
    assert main(["collect", "--digests", str(stated)]) == 2
    assert "--digests says what folders of --from are, and there is none" in capsys.readouterr().err


def test_collect_names_a_folder_that_was_stated_and_is_not_given(
    part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stated = tmp_path / "stated.json"
    stated.write_text(json.dumps({**digests_of([part]), "unit-b": "sha256:0", "unit-c": "sha256:1"}))
    out = tmp_path / "out"
    assert main(["collect", "--out", str(out), "--from", str(part), "--digests", str(stated)]) == 2
    assert "'unit-b' is stated and not here, nor are 1 more" in capsys.readouterr().err
    assert not out.exists()
    assert main(["digest", "--check", str(stated), str(part)]) == 0, "who takes one of them compares that one"
