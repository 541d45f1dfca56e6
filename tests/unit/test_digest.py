"""Digests of files, folders and parts."""

import hashlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix import digest

PARTS = st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=5)), max_size=4)


def test_a_digest_names_its_algorithm(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    assert digest.of_file(tmp_path / "x") == "sha256:" + hashlib.sha256(b"x").hexdigest() == digest.of_bytes(b"x")


@given(PARTS, PARTS)
def test_different_parts_have_different_digests_whatever_the_order(
    left: list[tuple[str, bytes]], right: list[tuple[str, bytes]]
) -> None:
    assert (digest.of_parts(left) == digest.of_parts(right)) == (sorted(left) == sorted(right))


def test_a_folder_digest_depends_on_names_and_contents_only(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub" / "f").write_bytes(b"1")
    (tmp_path / "b" / "sub" / "f").chmod(0o755)
    assert digest.of_folder(tmp_path / "a") == digest.of_folder(tmp_path / "b")
    (tmp_path / "b" / "sub" / "f").rename(tmp_path / "b" / "sub" / "g")
    assert digest.of_folder(tmp_path / "a") != digest.of_folder(tmp_path / "b")


def test_files_under_names_are_hashed_as_a_folder_that_holds_them(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_bytes(b"1")
    assert digest.of_named_files({"f": tmp_path / "a" / "f"}) == digest.of_folder(tmp_path / "a")


def test_a_folder_that_cannot_be_listed_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        digest.of_folder(tmp_path / "gone")


def test_files_are_found_however_deep_they_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(1200):
        os.mkdir("d")  # noqa: PTH102 - relative to the folder that is entered next
        os.chdir("d")
    Path("f").write_bytes(b"1")
    allowed = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        found = digest.of_folder(tmp_path)
    finally:
        sys.setrecursionlimit(allowed)
    assert found == digest.of_named_files({"d/" * 1200 + "f": Path("f")})


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    alone = digest.of_folder(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert digest.of_folder(tmp_path) == alone
