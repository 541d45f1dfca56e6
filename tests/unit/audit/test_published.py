"""What names a published kernel, and what a repository may list."""

from __future__ import annotations

import json

import pytest

from rocmatrix.audit.published import PublishedKernel, _file, _selected, parse_published
from rocmatrix.audit.published_refusals import refusals
from rocmatrix.errors import InputError, MissingRequirementError

KERNEL = PublishedKernel(repo="acme/gemm", revision=None)


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("acme/gemm", None),
        ("acme/gemm@v2", "v2"),
        ("acme/gemm@2", "v2"),
        ("acme/gemm@refs/pr/1", "refs/pr/1"),
        ("acme/gemm@" + "1" * 40, "1" * 40),
    ],
)
def test_a_repository_and_a_revision_are_read(text: str, revision: str | None) -> None:
    assert parse_published(text) == PublishedKernel(repo="acme/gemm", revision=revision)


@pytest.mark.parametrize(
    "text",
    [
        *("", "gemm", "a/b/c", "acme/gemm@", "@v1", "../x", "acme/ge mm", "acme/gemm\n", "-/-"),
        *("acme/gemm@v1\udcff", "acme/gemm@v1\x1b", "acme/ge\udcffm"),  # bytes of an argument that are no text
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="names no kernel on the Hub"):
        parse_published(text)


@pytest.mark.parametrize(
    "path",
    [
        "build/../../outside",
        "/build/v/a",
        "build/v/../../a",
        "build//v/a",
        "build/v/a\\b",
        "build/v/\x1b[31m",
        "other/v/a",
        "build/v/./a",
    ],
)
def test_a_path_that_would_leave_the_folder_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="it lists a file with the path"):
        _file(path, 1, KERNEL)


def test_variants_are_selected_by_pattern() -> None:
    files = [_file(f"build/{name}/a.py", 1, KERNEL) for name in ("torch-rocm", "torch-cuda")]
    assert [file.variant for file in _selected(files, ("*-rocm",), "x")] == ["torch-rocm"]
    assert _selected(files, (), "x") == files
    with pytest.raises(InputError, match=r"It has torch-cuda and torch-rocm\."):
        _selected(files, ("*-xpu",), "x")
    with pytest.raises(InputError, match="it has no variants"):
        _selected([], (), "x")


def test_an_answer_that_is_nested_too_deep_is_a_hub_out_of_order() -> None:
    with pytest.raises(MissingRequirementError, match="RecursionError"), refusals("acme/gemm", "v1"):
        json.loads("[" * 200_000)
