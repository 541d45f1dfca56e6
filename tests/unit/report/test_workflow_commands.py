"""GitHub Actions: our commands are well formed, and nobody else's get through."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmatrix.report.workflow_commands import Location, error_annotation, first_location, guarded, in_workspace


def executed(log: str) -> list[str]:
    """Return the commands that a runner would execute from a log (``ActionCommandManager.cs`` of actions/runner)."""
    found: list[str] = []
    stopped: str | None = None
    for line in log.split("\n"):
        if stopped is not None:
            stopped = None if line.strip() == f"::{stopped}::" else stopped
        elif stop := re.fullmatch(r"\s*::stop-commands::(\S+)", line):
            stopped = stop[1]
        elif re.match(r"\s*::[^:\s]", line) or "##[" in line:
            found.append(line)
    return found


HOSTILE = st.lists(
    st.sampled_from(["::error::x", "  ::set-env name=A::b", "##[add-path]x", "a ##[x]", "::", "plain", "::stop::", ""])
)


@given(HOSTILE)
def test_no_command_gets_through(lines: list[str]) -> None:
    assert executed(guarded("\n".join(lines))) == []


def test_a_runner_would_have_executed_them() -> None:
    assert executed("::error::x\n  ::add-mask::b\na ##[x]") == ["::error::x", "  ::add-mask::b", "a ##[x]"]


def test_a_harmless_text_is_not_touched() -> None:
    text = "gemm/gemm.hip:3:1: error: std::vector has no ::type"
    assert guarded(text) == text


def test_each_text_has_a_token_of_its_own() -> None:
    assert guarded("::error::x") != guarded("::error::x")


def test_an_annotation_names_file_line_and_column() -> None:
    command = error_annotation("bad", title="build failed", location=Location(file="k/a.hip", line=3, column=7))
    assert command == "::error title=build failed,file=k/a.hip,line=3,col=7::bad"


def test_an_annotation_cannot_be_broken_out_of() -> None:
    command = error_annotation(
        "100%\n::error::second\r", title="a,b::c:d", location=Location(file="a:b,c\n.hip", line=1)
    )
    assert command == ("::error title=a%2Cb%3A%3Ac%3Ad,file=a%3Ab%2Cc%0A.hip,line=1::100%25%0A::error::second\\r")


@pytest.mark.parametrize(
    ("error", "location"),
    [
        ("gemm/a.hip:41:17: error: x", Location(file="gemm/a.hip", line=41, column=17)),
        ("In file included from x\ngemm/a.hip:41: error: x", Location(file="gemm/a.hip", line=41)),
        ("ld.lld: error: undefined symbol: f", None),
        ("", None),
    ],
)
def test_the_first_place_of_an_error_is_found(error: str, location: Location | None) -> None:
    assert first_location(error) == location


def test_a_place_is_named_relative_to_the_repository(tmp_path: Path) -> None:
    source = tmp_path / "kernels" / "gemm" / "a.hip"
    source.parent.mkdir(parents=True)
    source.touch()
    found = in_workspace(Location(file="a.hip", line=3), (tmp_path, source.parent), tmp_path)
    assert found == Location(file="kernels/gemm/a.hip", line=3)


def test_a_file_outside_the_repository_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "stdio.h").touch()
    (tmp_path / "repository").mkdir()
    assert (
        in_workspace(Location(file="../stdio.h", line=3), (tmp_path / "repository",), tmp_path / "repository") is None
    )
