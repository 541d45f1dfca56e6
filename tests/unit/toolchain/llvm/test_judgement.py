"""Gates as pure judgements: every word of a message counts, and what is printed instead is told."""

from pathlib import Path

import pytest

from rocmatrix.toolchain.llvm.gates import runtime_gate
from rocmatrix.toolchain.llvm.probe import EXPECTED, SOURCES, judge
from rocmatrix.toolchain.llvm.tasks.sysroot import linked_files

MESSAGES = [text for _, text in EXPECTED]


def test_messages_that_arrive_whole_pass() -> None:
    gate = judge(MESSAGES)
    assert gate.passed
    assert "HIP error 719" in gate.detail


@pytest.mark.parametrize("number", range(len(EXPECTED)))
def test_one_word_that_is_missing_fails(number: int) -> None:
    cut = MESSAGES[number].rsplit(" ", 1)[0] if " " in MESSAGES[number] else ""
    gate = judge([*MESSAGES[:number], cut, *MESSAGES[number + 1 :]])
    assert not gate.passed
    assert gate.detail == f"{EXPECTED[number][0]}: {cut!r} arrived instead of {MESSAGES[number]!r}"


def test_the_number_of_an_error_that_is_missing_fails() -> None:
    assert not judge([MESSAGES[0].replace("719", ""), *MESSAGES[1:]]).passed


def test_a_part_that_is_missing_fails() -> None:
    assert judge(MESSAGES[:-1]).detail == f"{len(EXPECTED) - 1} messages arrived instead of {len(EXPECTED)}"


def test_what_was_said_instead_of_messages_is_told() -> None:
    assert judge("the probe ended with -6: terminate called\n").detail == "the probe ended with -6: terminate called"


def test_the_probe_has_as_many_parts_as_messages() -> None:
    parts = (SOURCES / "parts.h").read_text(encoding="utf-8").partition("{")[2].partition("}")[0].split(",")
    assert [part.strip() for part in parts if part.strip()][-1] == "kCount"
    assert len([part for part in parts if part.strip()]) - 1 == len(EXPECTED)


def test_a_file_that_is_no_library_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_text("no ELF")
    gate = runtime_gate(tmp_path / "a.so")
    assert not gate.passed
    assert "cannot be read" in gate.detail


def test_files_of_the_linkers_command_line_are_found_in_a_log() -> None:
    log = "clang version 22\nld.lld -shared -o /x/e.so -L/lib '/a b/o/1/libc++.a' /o/2/libc.so.6 --as-needed\nmore\n"
    found = linked_files(log)
    assert found["libc++.a"] == Path("/a b/o/1/libc++.a")
    assert found["libc.so.6"] == Path("/o/2/libc.so.6")
    assert linked_files("zig: error\n") == {}
