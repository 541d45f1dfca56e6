"""A plan reads at a glance: the grid, the units behind its letters, and the reason of every cell without one."""

import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.plan.model import CellState, Plan, UnitId
from rocmatrix.report.console import make_console
from rocmatrix.report.grid import grid, letters, pairs, unserved
from rocmatrix.report.plan_view import show_plan, toolchains
from tests.unit.report import story


def shown(plan: Plan) -> list[str]:
    stream = io.StringIO()
    show_plan(plan, make_console(stream))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_the_grid_shows_each_cell_with_the_letter_of_its_unit() -> None:
    lines = shown(story.make_plan())
    assert [line.split() for line in lines[1:7]] == [
        ["torch", "\\", "ROCm", "7.0", "7.1", "7.2", "7.14"],
        ["2.10", "A", "B", "·", "·"],
        ["2.11", "·", "B", "C", "·"],
        ["2.12", "·", "x", "C", "·"],
        ["2.13", "·", "B", "C", "·"],
        ["2.14", "·", "·", "·", "D?"],
    ]


@pytest.mark.parametrize("width", [20, 24, 30, 36, 80])
def test_a_window_too_narrow_for_all_columns_gets_them_in_bands_and_none_is_lost(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    stream, plan = io.StringIO(), story.make_plan()
    make_console(stream).print(grid(plan, "gemm"))
    lines = stream.getvalue().splitlines()
    heads = [line.removeprefix("torch \\ ROCm").split() for line in lines if line.startswith("torch")]
    assert [rocm for head in heads for rocm in head] == list(story.ROCMS)
    assert max(len(line.rstrip()) for line in lines) <= width
    marks = "".join(mark for line in lines if not line.startswith("torch") for mark in line.split()[1:])
    assert len(marks.replace("?", "")) == len(plan.cells)
    assert "…" not in stream.getvalue()


def test_each_letter_stands_for_a_unit() -> None:
    lines = shown(story.make_plan())
    for letter, rocm in zip("ABCD", story.ROCMS, strict=True):
        assert f"  {letter}  {story.unit_id(rocm)}" in lines


def test_versions_are_ordered_as_numbers() -> None:
    plan = story.make_plan()
    backwards = replace(plan, cells=plan.cells[::-1])
    assert shown(backwards)[1].split()[3:] == ["7.0", "7.1", "7.2", "7.14"]


def test_every_cell_that_is_not_served_is_named_once_with_a_reason() -> None:
    plan = story.make_plan()
    groups = unserved(plan, "gemm")
    named = [cell.id for group in groups for cell in group.cells]
    assert sorted(named) == sorted(cell.id for cell in plan.cells if cell.state is not CellState.SERVED)
    assert [(group.state, group.code, len(group.cells)) for group in groups] == [
        (CellState.REFUSED, "pair-unknown", 11),
        (CellState.EXCLUDED, "excluded", 1),
    ]
    text = " ".join(" ".join(shown(plan)).split())
    for group in groups:
        assert group.reason in text
        assert pairs(group.cells) in text


def test_exclusions_are_grouped_by_the_authors_own_words() -> None:
    plan = story.make_plan()
    other = next(cell for cell in plan.cells if cell.state is CellState.EXCLUDED)
    words = replace(other, torch="2.13", reason="too slow to be of use")
    groups = unserved(replace(plan, cells=(*plan.cells, words)), "gemm")
    assert [group.reason for group in groups if group.state is CellState.EXCLUDED] == [
        other.reason,
        "too slow to be of use",
    ]


def test_pairs_are_said_as_people_say_them() -> None:
    cells = [cell for cell in story.make_plan().cells if cell.torch in {"2.10", "2.14"} and cell.unit]
    assert pairs(cells) == "torch 2.10 on ROCm 7.0, 7.1; torch 2.14 on ROCm 7.14"


def test_toolchains_that_differ_in_nothing_else_are_said_together() -> None:
    plan = story.make_plan()
    first, *rest = plan.toolchains
    pinned = replace(first, recipe="almalinux", args={"ROCM_VERSION": "7.0.2"})
    assert toolchains(replace(plan, toolchains=(pinned, *rest))) == [
        "toolchain almalinux ROCM_VERSION=7.0.2 for ROCm 7.0, chosen by matrix.yaml",
        "toolchain llvm for ROCm 7.1, 7.2, 7.14, chosen by matrix.yaml",
    ]


def test_warnings_and_totals_end_it() -> None:
    assert shown(story.make_plan())[-2:] == [
        "warning: build.toml names gfx906, which ROCm 7.0 dropped",
        "20 cells: 8 served, 11 refused, 1 excluded; 4 units to build",
    ]


def test_foreign_text_cannot_act_on_the_terminal() -> None:
    plan = story.make_plan()
    cells = tuple(replace(cell, reason="\x1b[2J") for cell in plan.cells)
    text = "\n".join(shown(replace(plan, cells=cells, warnings=("\x1b[2J",))))
    assert "\x1b" not in text
    assert text.count(r"\x1b[2J") == 3 + len(plan.units)


def test_each_unit_says_why_it_is_this_one() -> None:
    plan = story.make_plan()
    text = "\n".join(shown(plan))
    for unit in plan.units:
        assert next(cell.reason for cell in plan.cells if cell.unit == unit.id) in text


def test_the_authors_words_cannot_act_on_a_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    plan = story.make_plan()
    assert r"##\x5berror]pwned" in "\n".join(shown(replace(plan, warnings=("##[error]pwned",))))
    first, *_, last = shown(replace(plan, warnings=("x" * 111 + " ::error file=x::pwned",)))
    token = first.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert last == f"::{token}::"
    assert not shown(plan)[0].startswith("::")


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=2000))
def test_letters_are_unique_and_short(number: int) -> None:
    unit = story.make_plan().units[0]
    names = letters([replace(unit, id=UnitId(str(index))) for index in range(number)])
    assert len(set(names.values())) == number
    assert max(map(len, names.values())) <= 3


def test_letters_go_on_after_z() -> None:
    unit = story.make_plan().units[0]
    names = list(letters([replace(unit, id=UnitId(str(index))) for index in range(703)]).values())
    assert [names[index] for index in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]
