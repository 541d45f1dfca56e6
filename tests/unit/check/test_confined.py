"""What is made of a process that runs cases, by how it ended and what it wrote."""

import signal
from pathlib import Path

import msgspec
import pytest

from rocmatrix.check.confined import Follower, merge, outcome, read_lines
from rocmatrix.check.job import NEWS, Line
from rocmatrix.engine.interface import Completed
from rocmatrix.errors import CheckError, InputError
from rocmatrix.records import CaseResult

CASES = ("first", "second", "third")
LIMITS = dict.fromkeys(CASES, 7.0)


def result(case: str) -> CaseResult:
    return CaseResult(case=case, passed=True, max_abs_error=0.0, max_rel_error=0.0, seconds=0.0)


def ended(status: int | None, output: str = "") -> Completed:
    return Completed(returncode=status, output=output, seconds=3.0)


FIRST = (Line(began="first"), Line(result=result("first")))


def test_a_process_that_came_to_its_end_has_all_results() -> None:
    lines = (*FIRST, Line(result=result("second")), Line(result=result("third")))
    assert outcome(ended(0), lines, CASES, LIMITS).results == tuple(map(result, CASES))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (-signal.SIGSEGV, "was ended by SIGSEGV (Segmentation fault) while this case ran"),
        (-signal.SIGABRT, "SIGABRT"),
        (3, "ended with status 3"),
    ],
)
def test_a_crash_is_a_failed_case_that_names_its_end(status: int | None, said: str) -> None:
    run = outcome(ended(status, "one\ntwo\n"), (*FIRST, Line(began="second")), CASES, LIMITS)
    assert [(each.case, each.passed) for each in run.results] == [("first", True), ("second", False)]
    assert said in run.results[1].detail
    assert "Its last lines: one | two" in run.results[1].detail


def test_a_process_that_never_began_is_no_case_to_blame() -> None:
    with pytest.raises(CheckError, match="ended with status 1"):
        outcome(ended(1, "No module named numpy"), (), CASES, LIMITS)


def test_a_variant_that_the_loader_does_not_take_is_bad_input() -> None:
    line = Line(refused=("the loader does not take it: file too short", "Build it again."))
    with pytest.raises(InputError, match="file too short\n  Build it again"):
        outcome(ended(0), (Line(began="first"), line), CASES, LIMITS)


def test_what_is_not_emulated_is_said_and_ends_the_cases() -> None:
    run = outcome(ended(0), (*FIRST, Line(unsupported="the instruction s_dance")), CASES, LIMITS)
    assert run.unsupported == "the instruction s_dance"
    assert run.results == (result("first"),)
    assert merge([run, outcome(ended(0), FIRST, CASES[:1], LIMITS)]).unsupported == "the instruction s_dance"


def test_a_line_that_was_cut_off_is_not_read(tmp_path: Path) -> None:
    report = tmp_path / "report"
    assert read_lines(report) == ()
    report.write_bytes(msgspec.json.encode(FIRST[0]) + b"\n" + msgspec.json.encode(FIRST[1])[:20])
    assert read_lines(report) == (FIRST[0],)


@pytest.mark.parametrize("status", [-signal.SIGALRM, None])
def test_a_case_that_does_not_end_is_named_with_its_time_and_nothing_runs_behind_it(status: int | None) -> None:
    run = outcome(ended(status), (*FIRST, Line(began="second")), CASES, LIMITS)
    assert [(each.case, each.passed) for each in run.results] == [("first", True), ("second", False)]
    assert run.results[1].detail.startswith("the case did not end within its 7 s")
    assert (run.stuck, run.ended) == ("second", True)
    assert merge([outcome(ended(0), FIRST, CASES[:1], LIMITS), run]).stuck == "second"


def test_results_are_followed_while_a_process_runs_and_its_own_words_mean_nothing(tmp_path: Path) -> None:
    report, seen = tmp_path / "report", list[CaseResult]()
    follower = Follower(report, seen.append)
    follower.take(NEWS)
    report.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in FIRST))
    follower.take("the author prints")
    assert seen == []
    follower.take(NEWS)
    follower.take(NEWS)
    assert (seen, follower.seen) == ([result("first")], 1)


def test_what_a_process_said_for_us_is_not_among_its_last_words() -> None:
    run = outcome(ended(3, f"one\n{NEWS}\n"), (*FIRST, Line(began="second")), CASES, LIMITS)
    assert run.results[1].detail.endswith("Its last lines: one")
