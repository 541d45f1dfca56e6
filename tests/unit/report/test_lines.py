"""Plain lines: one a change, greppable, in one piece."""

import io
import threading

import pytest

from rocmatrix.events import Event, Notice, Stage, State, Transfer, UnitFinished, UnitProgress, UnitStarted
from rocmatrix.plan.model import UnitId
from rocmatrix.report.console import make_console
from rocmatrix.report.lines import LineReporter
from rocmatrix.report.reporter import Verbosity
from tests.unit.report import story
from tests.unit.report.test_workflow_commands import executed

UNIT = UnitId("k.a")


def said(*events: Event, verbosity: Verbosity = Verbosity.NORMAL) -> list[str]:
    stream = io.StringIO()
    with LineReporter(make_console(stream), verbosity) as reporter:
        for event in events:
            reporter.emit(event)
    return stream.getvalue().splitlines()


def test_every_change_of_a_unit_is_one_line_that_grep_finds() -> None:
    lines = said(*story.events())
    unit = story.unit_id("7.1")
    assert [line.split()[:3] for line in lines if unit in line] == [
        ["build", "started", unit],
        ["build", "done", unit],
        ["audit", "started", unit],
        ["audit", "done", unit],
        ["check", "untested", unit],
    ]


def test_nothing_is_coloured_or_wrapped_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    (line,) = said(UnitStarted(unit=UNIT, stage=Stage.BUILD, reason="long " * 50))
    assert "\x1b" not in line
    assert len(line) > 200


def test_the_error_of_a_failure_follows_its_line_behind_bars() -> None:
    lines = said(*story.events())
    at = next(index for index, line in enumerate(lines) if " failed " in line)
    assert lines[at + 1 : at + 4] == [f"  | {line}" for line in story.ERROR.split("\n")]


def test_steps_are_said_only_when_asked_for() -> None:
    step = UnitProgress(unit=UNIT, stage=Stage.BUILD, done=1, total=5, step="device gemm.hip for gfx942")
    assert said(step) == []
    assert said(step, verbosity=Verbosity.VERBOSE) == ["build   1/5       k.a  device gemm.hip for gfx942"]


def test_a_download_is_said_when_it_begins_and_when_it_ends() -> None:
    received = [Transfer(what="headers", received=amount, total=3_400_000) for amount in (0, 1_000_000, 3_400_000)]
    assert said(*received) == ["fetch   started   headers  3.4 MB", "fetch   done      headers  3.4 MB"]


def test_a_download_of_unknown_size_says_so() -> None:
    assert said(Transfer(what="wheel", received=0, total=None)) == ["fetch   started   wheel  size unknown"]


def test_quiet_says_failures_and_warnings_only() -> None:
    lines = said(*story.events(), verbosity=Verbosity.QUIET)
    assert [line for line in lines if not line.startswith("  | ")] == [
        "warning: kernels/gemm: the checkout is dirty",
        f"build   failed    {story.unit_id('7.2')}  3.1 s  gemm/gemm.hip:41:17: error: use of undeclared identifier",
    ]


def test_foreign_text_cannot_act_on_the_terminal_or_start_a_line() -> None:
    lines = said(
        Notice(level="warning", message="a\x1b[2Jb\nbuild done k.a", where="x\ry"),
        UnitFinished(
            unit=UnitId("k.\x1b[31m"), stage=Stage.BUILD, state=State.FAILED, reason="r\nr", seconds=0.0, error="\x07e"
        ),
    )
    assert lines == [
        r"warning: x y: a\x1b[2Jb build done k.a",
        r"build   failed    k.\x1b[31m  0.0 s  r r",
        r"  | \x07e",
    ]


def test_compiler_output_cannot_give_commands_to_a_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = said(
        UnitFinished(
            unit=UNIT,
            stage=Stage.BUILD,
            state=State.FAILED,
            reason="##[add-path]/evil",
            seconds=0.0,
            error="::error::x\n##[add-mask]y",
        ),
        Notice(level="warning", message="::set-env name=A::b ##[x]"),
    )
    assert any(r"##\x5badd-path]/evil" in line for line in lines)
    assert executed("\n".join(lines)) == []


def test_lines_of_threads_do_not_interleave() -> None:
    stream = io.StringIO()
    reporter = LineReporter(make_console(stream), Verbosity.NORMAL)
    error = "\n".join(["the same line"] * 20)

    def fail(name: str) -> None:
        for _ in range(10):
            reporter.emit(
                UnitFinished(
                    unit=UnitId(name),
                    stage=Stage.BUILD,
                    state=State.FAILED,
                    reason="r",
                    seconds=0.0,
                    error=error.replace("same", name),
                )
            )

    threads = [threading.Thread(target=fail, args=(f"k.{index}",)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()
    blocks = [lines[start : start + 21] for start in range(0, len(lines), 21)]
    assert len(blocks) == 80
    for head, *rest in blocks:
        assert set(rest) == {f"  | the {head.split()[2]} line"}
