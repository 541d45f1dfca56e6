"""Whose a variant is, by metadata that anybody may have written."""

from __future__ import annotations

import pytest

from rocmatrix.release.view import _has_our_block


def test_our_block_makes_a_variant_ours() -> None:
    assert _has_our_block(b'{"rocmatrix": {}}')


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"rocmatrix": true}', b'["rocmatrix"]', b'"rocmatrix"', b"\xff", b"[" * 200_000, b"{\x00"],
)
def test_everything_else_is_somebody_elses(content: bytes) -> None:
    assert not _has_our_block(content)
