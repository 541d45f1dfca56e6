"""``rocmatrix audit A --against B`` of two shared objects, one of which may be unreadable."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from tests.system.test_audit_cli import SCALE, VARIANT, Capture, document


def test_a_difference_between_two_shared_objects_names_symbols_and_registers(capsys: Capture, tmp_path: Path) -> None:
    library = next((SCALE / "build" / VARIANT).glob("*.so"))
    other = tmp_path / "other.so"
    other.write_bytes(library.read_bytes().replace(b"libamdhip64.so.7", b"libamdhip64.so.6"))
    assert main(["audit", str(other), "--against", str(library)]) == 0
    out = capsys.readouterr().out
    assert "NEEDED: 1 gone, 1 new" in out
    assert "- libamdhip64.so.7" in out
    assert "+ libamdhip64.so.6" in out


@pytest.mark.parametrize("names", [("short.so", "whole.so"), ("whole.so", "short.so")])
def test_a_side_that_cannot_be_read_is_named_and_nothing_is_said_of_the_other(
    names: tuple[str, str], capsys: Capture, tmp_path: Path
) -> None:
    library = next((SCALE / "build" / VARIANT).glob("*.so"))
    short = tmp_path / "short.so"
    short.write_bytes(library.read_bytes()[:1000])
    shutil.copyfile(library, tmp_path / "whole.so")
    after, before = (tmp_path / name for name in names)
    assert main(["audit", str(after), "--against", str(before)]) == 2
    out = capsys.readouterr().out
    assert "not compared: short.so cannot be audited" in out
    assert f"(in {short})" in out
    assert main(["audit", str(after), "--against", str(before), "--json"]) == 2
    made = document(capsys)
    assert (made["same"], made["added"], made["removed"]) == (False, [], [])
    assert [(one["side"], one["path"]) for one in made["unread"]] == [(str(short), "short.so")]
