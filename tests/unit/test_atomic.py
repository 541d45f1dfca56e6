"""Files at places that a user named: written whole, or refused in one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmatrix.atomic import write_named
from rocmatrix.errors import InputError


def test_a_file_is_written_with_the_folders_above_it(tmp_path: Path) -> None:
    write_named(tmp_path / "new" / "bill.json", b"{}")
    assert (tmp_path / "new" / "bill.json").read_bytes() == b"{}"


@pytest.mark.parametrize("place", ["file/bill.json", "folder"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be written") as no:
        write_named(tmp_path / place, b"{}")
    assert str(tmp_path / place) in str(no.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
