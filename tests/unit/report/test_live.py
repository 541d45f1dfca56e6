"""The live table, drawn by rich at real widths."""

import io

import pytest
from rich.console import Console

from rocmatrix.events import RunStarted, Stage, State, Transfer, UnitFinished, UnitProgress, UnitStarted
from rocmatrix.plan.model import UnitId
from rocmatrix.report.board import Board
from rocmatrix.report.live import LiveReporter, frame
from rocmatrix.report.reporter import Verbosity
from tests.unit.report import story


def drawn(board: Board, *, width: int, height: int = 24, now: float = 30.0) -> list[str]:
    console = Console(record=True, file=io.StringIO(), width=width, height=height, markup=False, highlight=False)
    console.print(frame(board, now=now, width=width, height=height))
    return [line.rstrip() for line in console.export_text().splitlines()]


AT_WORK = 12
"""Events until two units are at work and the download is not through."""


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("upto", [0, 1, AT_WORK, 14, None])
def test_no_line_is_wider_than_the_terminal(width: int, upto: int | None) -> None:
    assert max(map(len, drawn(story.played(upto), width=width))) <= width


def test_at_80_columns_ids_and_states_are_whole() -> None:
    lines = drawn(story.played(), width=80)
    assert [line.split() for line in lines[:5]] == [
        ["unit", "build", "audit", "check", "time"],
        [story.unit_id("7.0"), "reused", "done", "untested", "0.2", "s"],
        [story.unit_id("7.1"), "done", "done", "untested", "1:02"],
        [story.unit_id("7.2"), "failed", "skipped", "skipped", "3.1", "s"],
        [story.unit_id("7.14"), "done", "done", "untested", "58", "s"],
    ]


def test_at_120_columns_there_is_a_reason_beside_each_unit() -> None:
    lines = drawn(story.played(), width=120)
    assert lines[0].split()[-1] == "why"
    assert [line.split()[0] for line in lines[1:5]] == [story.unit_id(rocm) for rocm in story.ROCMS]
    assert "gemm/gemm.hip:41:17: error:" in lines[3]
    assert lines[1].endswith(" same inputs as before")


def test_a_unit_at_work_shows_its_steps_and_a_running_clock() -> None:
    board = Board()
    board.take(RunStarted(units=(UnitId("k.a"), UnitId("k.b")), stages=(Stage.BUILD,)), 0.0)
    board.take(UnitStarted(unit=UnitId("k.a"), stage=Stage.BUILD, reason="not done before"), 10.0)
    board.take(UnitProgress(unit=UnitId("k.a"), stage=Stage.BUILD, done=3, total=5, step="link"), 12.0)
    first, second = drawn(board, width=120, now=40.0)[1:3]
    assert first.split() == ["k.a", "3/5", "30", "s", "done:", "link"]
    assert second.split() == ["k.b", "-"]


def test_at_80_columns_what_units_are_doing_is_said_below_the_table() -> None:
    board = Board()
    board.take(RunStarted(units=(UnitId("k.a"),), stages=(Stage.BUILD, Stage.AUDIT, Stage.CHECK)), 0.0)
    board.take(UnitStarted(unit=UnitId("k.a"), stage=Stage.BUILD, reason="gemm.hip changed"), 10.0)
    assert "k.a: gemm.hip changed" in drawn(board, width=80)
    board.take(UnitProgress(unit=UnitId("k.a"), stage=Stage.BUILD, done=3, total=5, step="link"), 12.0)
    assert "k.a: done: link" in drawn(board, width=80)
    assert "k.a: done: link" not in drawn(board, width=120)


def test_the_compilers_error_stands_below_the_table_with_file_and_line() -> None:
    lines = drawn(story.played(), width=120)
    at = lines.index(f"{story.unit_id('7.2')}: build failed")
    assert at > 5
    assert lines[at + 1].startswith("  | gemm/gemm.hip:41:17: error: use of undeclared identifier")


def test_a_long_error_is_cut_and_says_so() -> None:
    board = Board()
    error = "\n".join(f"a.hip:{line}: error: x" for line in range(1, 101))
    board.take(
        UnitFinished(
            unit=UnitId("k.a"), stage=Stage.BUILD, state=State.FAILED, reason="x", seconds=1.0, error=error, exit_code=4
        ),
        1.0,
    )
    lines = drawn(board, width=80)
    assert "  | … 92 more lines" in lines
    assert "  | a.hip:1: error: x" in lines


def test_running_downloads_are_shown_with_their_sizes_and_finished_ones_are_not() -> None:
    board = Board()
    board.take(Transfer(what="headers of torch 2.13.0", received=1_200_000, total=3_400_000), 0.0)
    board.take(Transfer(what="old", received=10, total=10), 0.0)
    lines = drawn(board, width=80)
    assert "fetching headers of torch 2.13.0: 1.2 MB of 3.4 MB" in lines
    assert not any("old" in line for line in lines)


def test_totals_count_units_failures_bytes_and_time() -> None:
    assert drawn(story.played(), width=80, now=64.2)[-1] == "4 of 4 units, 1 failed, 3.4 MB fetched, 1 min 04 s"


def test_a_picture_is_not_disturbed_by_what_happens_while_it_is_drawn() -> None:
    board = story.played(AT_WORK)
    before = drawn(board, width=120)
    made = frame(board, now=30.0, width=120, height=24)
    for second, event in enumerate(story.events()):
        board.take(event, float(second))
    console = Console(record=True, file=io.StringIO(), width=120, height=24)
    console.print(made)
    assert [line.rstrip() for line in console.export_text().splitlines()] == before


@pytest.mark.parametrize("height", [8, 24, 50])
def test_hundreds_of_units_fit_the_terminal_and_none_that_matters_is_hidden(height: int) -> None:
    board = Board()
    units = tuple(UnitId(f"k.{index:03}") for index in range(300))
    board.take(RunStarted(units=units, stages=(Stage.BUILD,)), 0.0)
    for unit in units[:200]:
        board.take(UnitFinished(unit=unit, stage=Stage.BUILD, state=State.DONE, reason="", seconds=1.0), 1.0)
    board.take(UnitStarted(unit=units[250], stage=Stage.BUILD, reason=""), 2.0)
    lines = drawn(board, width=80, height=height)
    assert len(lines) <= height
    assert any(line.startswith("k.250 ") for line in lines)
    assert any(line.startswith("and ") and line.endswith(" more") for line in lines)
    assert lines[-1].startswith("200 of 300 units")


def test_foreign_text_cannot_act_on_the_terminal() -> None:
    board = Board()
    hostile = "\x1b[2J\x1b]0;x\x07[bold]\r"
    board.take(UnitStarted(unit=UnitId(f"k{hostile}"), stage=Stage.BUILD, reason=hostile), 0.0)
    board.take(Transfer(what=hostile, received=1, total=2), 0.0)
    board.take(
        UnitFinished(
            unit=UnitId(f"j{hostile}"),
            stage=Stage.BUILD,
            state=State.FAILED,
            reason=hostile,
            seconds=1.0,
            error=hostile,
        ),
        0.0,
    )
    text = "\n".join(drawn(board, width=200))
    assert text.count(r"\x1b[2J\x1b]0;x\x07[bold]") == 7
    assert not set(text) & set("\x1b\x07\r")


def test_the_cursor_comes_back_and_notices_stay() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, height=24, force_terminal=True, highlight=False, markup=False)
    with LiveReporter(console, Verbosity.NORMAL) as reporter:
        for event in story.events():
            reporter.emit(event)
    written = stream.getvalue()
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")
    assert "warning: kernels/gemm: the checkout is dirty" in written


def test_the_cursor_comes_back_after_an_error() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, height=24, force_terminal=True)
    with pytest.raises(KeyboardInterrupt), LiveReporter(console, Verbosity.NORMAL):
        raise KeyboardInterrupt
    assert stream.getvalue().rindex("\x1b[?25h") > stream.getvalue().rindex("\x1b[?25l")
