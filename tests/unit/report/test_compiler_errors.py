"""Every error of a build's log is marked at the author's own line, once, and at most as many as GitHub shows."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from rocmatrix.events import Stage, State, UnitFinished
from rocmatrix.report.annotations import MOST, failure_annotations
from rocmatrix.report.board import Board
from rocmatrix.report.compiler_errors import compiler_errors
from rocmatrix.report.console import make_console
from rocmatrix.report.log_groups import group, show_build_logs
from rocmatrix.report.step_summary import markdown
from rocmatrix.report.subject import Subject
from rocmatrix.store import Store
from tests.unit.report import story

LOG = """[1/4] compile gemm.hip
/tmp/work/project/gemm/gemm.hip:41:17: error: use of undeclared identifier 'x'
   41 |     x = 1;
/tmp/work/project/gemm/gemm.hip:52:1: warning: unused
/usr/include/no_such.h:3:1: error: in a header of the toolchain
/tmp/work/project/gemm/gemm.hip:41:17: error: use of undeclared identifier 'x'
gemm/gemm.hip:60:2: fatal error: 'y.h' file not found
  gemm/gemm.hip:70:2: error: quoted, and no error of its own
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    source = tmp_path / "kernels" / "gemm" / "gemm" / "gemm.hip"
    source.parent.mkdir(parents=True)
    source.touch()
    return tmp_path


def failed(project: Path, log: str, units: tuple[str, ...] = (story.FAILED_ROCM,)) -> Subject:
    """Return a command in which the builds of units failed with this log."""
    subject = story.make_subject(matrix=project / "matrix.yaml")
    store, board = Store(project / "dist"), Board()
    for rocm in units:
        unit = story.unit_id(rocm)
        store.build_log(unit).parent.mkdir(parents=True)
        store.build_log(unit).write_text(log)
        event = UnitFinished(
            unit=unit,
            stage=Stage.BUILD,
            state=State.FAILED,
            reason="gemm/gemm.hip:41:17: error: use of undeclared identifier 'x'",
            error="gemm/gemm.hip:41:17: error: use of undeclared identifier 'x'\n   41 |     x = 1;",
            seconds=1.0,
            log=str(store.build_log(unit)),
            exit_code=4,
        )
        board.take(event, 0.0)
    return replace(subject, board=board, options=replace(subject.options, out=store.root))


def test_each_error_has_its_annotation_and_the_first_one_all_its_lines(project: Path) -> None:
    first, header, second = failure_annotations(failed(project, LOG), {"GITHUB_WORKSPACE": str(project)})
    assert ",file=kernels/gemm/gemm/gemm.hip,line=41,col=17::gemm/gemm.hip:41:17: error: use of" in first
    assert first.endswith("%0A   41 |     x = 1;")
    assert "file=" not in header.partition("::error ")[2].partition("::")[0]
    assert "no_such.h:3: in a header of the toolchain" in header
    assert ",file=kernels/gemm/gemm/gemm.hip,line=60,col=2::gemm/gemm.hip:60: 'y.h' file not found" in second


def test_what_two_units_say_alike_is_said_once(project: Path) -> None:
    once = failure_annotations(failed(project, LOG), {"GITHUB_WORKSPACE": str(project)})
    twice = failure_annotations(failed(project / "2", LOG, ("7.1", "7.2")), {"GITHUB_WORKSPACE": str(project)})
    assert len(twice) == len(once)


def test_there_are_no_more_than_github_shows(project: Path) -> None:
    many = "".join(f"gemm/gemm.hip:{line}:1: error: number {line}\n" for line in range(1, 40))
    assert len(failure_annotations(failed(project, many), {"GITHUB_WORKSPACE": str(project)})) == MOST


def test_an_error_that_a_log_has_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "build.log").write_text(LOG)
    assert [error.location.line for error in compiler_errors(tmp_path / "build.log")] == [41, 3, 60]


def test_a_log_that_is_not_there_has_no_errors(tmp_path: Path) -> None:
    assert compiler_errors(tmp_path / "no.log") == ()


def test_logs_are_folded_in_actions_and_none_of_their_lines_is_a_command(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys  # noqa: PLC0415 - the stream that capsys put there

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    show_build_logs(failed(project, "::error::mine\n##[group]mine\n"), make_console(sys.stdout))
    first, stop, *lines, go, last = capsys.readouterr().out.splitlines()
    assert first == f"::group::build.log of {story.unit_id(story.FAILED_ROCM)}"
    assert stop.startswith("::stop-commands::")
    assert go == f"::{stop.removeprefix('::stop-commands::')}::"
    assert lines == ["::error::mine", "##[group]mine"]
    assert last == "::endgroup::"


def test_nothing_is_folded_outside_of_actions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys  # noqa: PLC0415 - the stream that capsys put there

    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    console: Console = make_console(sys.stdout)
    with group("x", console):
        console.print("inside")
    assert capsys.readouterr().out == "inside\n"


def test_the_summary_has_a_row_for_each_cell_with_unit_state_size_digest_and_evidence() -> None:
    lines = markdown(story.make_subject()).splitlines()
    assert "| cell | unit | state | size | sha256 | tested how |" in lines
    plan = story.make_plan()
    assert [line for line in lines if line.startswith("| gemm\\.torch")]
    assert sum(line.startswith("| gemm\\.torch2") for line in lines) == len(plan.cells)
    served = next(line for line in lines if line.startswith("| gemm\\.torch2\\.13\\-rocm7\\.1 |"))
    assert "| B | " in served
    assert f"untested\\: {story.UNTESTED}" in served
    broken = next(line for line in lines if line.startswith("| gemm\\.torch2\\.13\\-rocm7\\.2 |"))
    assert "| C | failed |" in broken
