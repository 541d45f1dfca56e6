"""Pointers of git-lfs and what belongs into it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.release.git_files import Pointer, belongs_into_lfs, exclusions, read_pointer

OID = "ab" * 32
TEXT = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 12\n"


def test_a_pointer_is_read() -> None:
    assert read_pointer(TEXT.encode()) == Pointer(sha256=OID, size=12)


@pytest.mark.parametrize(
    "changed",
    [
        TEXT + "x",
        TEXT.replace("12", "-1"),
        TEXT.replace("12", "012"),
        TEXT.replace(OID, OID[:-1] + "g"),
        TEXT.replace("sha256", "sha1"),
        TEXT.replace("size", "length"),
        "",
    ],
)
def test_what_only_resembles_a_pointer_is_a_file_like_others(changed: str) -> None:
    assert read_pointer(changed.encode()) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_read(content: bytes) -> None:
    assert read_pointer(content) is None


def test_binaries_and_large_files_belong_into_lfs(tmp_path: Path) -> None:
    contents = {
        "text": ("é" * 1000).encode(),
        "cut": ("x" + "é" * 400).encode(),  # a character lies across the end of the sample
        "empty": b"",
        "zero": b"a\0b",
        "latin": b"caf\xe9 \xe9",
        "large": b"a" * ((10 << 20) + 1),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    assert {name for name in contents if belongs_into_lfs(tmp_path / name)} == {"zero", "latin", "large"}


def test_paths_that_a_pattern_cannot_say_are_not_excluded() -> None:
    assert exclusions(["build/a/x.so", "build/b/[1].so", "build/c, d.so", "y.so"]) == "/build/a/x.so,/y.so"
