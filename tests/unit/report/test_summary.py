"""The end of a run says what became of every promise."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.digest import of_bytes
from rocmatrix.errors import ExitCode
from rocmatrix.events import Stage, State, UnitFinished
from rocmatrix.pipeline import Options, RunResult
from rocmatrix.records import CaseResult, CellCoverage, CollectedVariant, Coverage, Finding, Outcome, Severity, Tested
from rocmatrix.report.board import Board
from rocmatrix.report.console import make_console
from rocmatrix.report.subject import Subject
from rocmatrix.report.summary import summarize
from tests.unit.report import story


def shown(subject: Subject, *, explain: bool = False, brief: bool = False) -> list[str]:
    stream = io.StringIO()
    summarize(subject, make_console(stream), explain=explain, brief=brief)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def spaced(lines: list[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def coverage(served: Sequence[str]) -> Coverage:
    cells = [cell for cell in story.make_plan().cells if cell.unit]
    return Coverage(
        kernel="gemm",
        rocmatrix="0.1.0",
        complete=False,
        variants=tuple(
            CollectedVariant(
                variant=story.unit_id(rocm).removeprefix("gemm."),
                unit=story.unit_id(rocm),
                artifact_digest=story.artifact(rocm),
                size=45_000,
            )
            for rocm in served
        ),
        cells=tuple(
            CellCoverage(
                cell=cell.id,
                variant=story.unit_id(cell.rocm).removeprefix("gemm.") if cell.rocm in served else None,
                tested=Tested.UNTESTED,
                reason="no emulator" if cell.rocm in served else "not built",
            )
            for cell in cells
        ),
    )


def test_cells_of_a_failed_unit_are_marked_in_the_grid_and_explained() -> None:
    lines = shown(story.make_subject())
    assert ["2.11", "·", "B", "C!", "·"] in [line.split() for line in lines]
    assert any(line.split()[:2] == ["!", "failed:"] for line in lines)


def test_each_unit_that_was_built_has_size_and_digest_of_its_binary_and_its_payload() -> None:
    lines = shown(story.make_subject())
    at = next(index for index, line in enumerate(lines) if line.startswith(f"  B  {story.unit_id('7.1')}"))
    assert [line.strip() for line in lines[at + 1 : at + 5]] == [
        "_gemm_rocm_1a2b3c4d.abi3.so  43.2 kB",
        story.FILES[0].digest,
        "payload, 2 files  45.0 kB",
        story.artifact("7.1"),
    ]


def test_units_of_the_same_bytes_say_so_instead_of_repeating_digests() -> None:
    subject = story.make_subject()
    first, second = story.build_record("7.0"), story.build_record("7.1")
    same = replace(second, artifact_digest=first.artifact_digest)
    builds = {**subject.result.builds, same.unit: same}
    lines = shown(replace(subject, result=replace(subject.result, builds=builds)))
    assert "     the same bytes as A" in lines
    assert sum(str(first.artifact_digest) in line for line in lines) == 1


def test_a_digest_is_never_broken_over_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert any(line.endswith(story.artifact("7.1")) for line in shown(story.make_subject()))


def test_untested_is_said_plainly_with_the_reason_and_for_which_units() -> None:
    lines = shown(story.make_subject())
    assert f"A B D untested: {story.UNTESTED}" in spaced(lines)


def test_numbers_that_were_checked_are_said_with_what_computed_them() -> None:
    case = CaseResult(case="a", passed=True, max_abs_error=0.0, max_rel_error=0.0, seconds=1.0)
    record = replace(
        story.check_record("7.0"),
        tested=Tested.EMULATED,
        reason="gfx942 emulator",
        cases=(case, replace(case, passed=False)),
    )
    subject = story.make_subject()
    checks = {**subject.result.checks, record.unit: record}
    lines = shown(replace(subject, result=replace(subject.result, checks=checks)))
    assert any(line.split(maxsplit=1) == ["A", "1 of 2 cases passed, emulated: gfx942 emulator"] for line in lines)


def test_which_compiler_and_isolation_made_the_units_is_said() -> None:
    lines = shown(story.make_subject())
    assert "A B D compiled by clang 22.1.8 of ziglang 0.17.1, isolation: host" in spaced(lines)


def test_a_failure_shows_the_compilers_own_words_and_the_log() -> None:
    lines = shown(story.make_subject())
    at = lines.index(f"{story.unit_id('7.2')}: build failed")
    assert lines[at + 1 : at + 4] == [f"  | {line}" for line in story.ERROR.split("\n")]
    assert lines[at + 4].startswith("  log: dist/units/")


def test_a_finding_of_the_audit_says_what_where_and_what_to_do() -> None:
    lines = shown(story.make_subject())
    at = next(index for index, line in enumerate(lines) if line.startswith("warning[glibc-ceiling]: "))
    assert [line.split(":")[0].strip() for line in lines[at + 1 : at + 4]] == ["in", "fix", "source"]
    assert story.unit_id("7.14") in lines[at + 1]


def test_a_failed_audit_is_told_once() -> None:
    finding = Finding(
        rule="archs", severity=Severity.ERROR, what="gfx950 is missing", where="a.so", fix="f", source="s"
    )
    record = replace(story.audit_record("7.0"), outcome=Outcome.FAILED, findings=(finding,))
    subject = story.make_subject()
    board = Board()
    for event in story.failed_audit("7.0", "a.so: gfx950 is missing [archs]"):
        board.take(event, 0.0)
    result = replace(subject.result, builds={}, audits={record.unit: record}, exit_code=ExitCode.AUDIT)
    text = "\n".join(shown(replace(subject, result=result, board=board), brief=True))
    assert text.count("gfx950 is missing") == 1


def test_the_last_line_counts_everything_and_explains_the_exit_code() -> None:
    assert shown(story.make_subject())[-1] == (
        "run: 20 cells: 5 served, 3 failed, 11 refused, 1 excluded; 4 units: 2 built, 1 reused, 1 failed; "
        "3.4 MB fetched; 1 min 04 s; exit code 4: a unit did not build"
    )


def test_a_brief_summary_is_failures_and_the_last_line() -> None:
    lines = shown(story.make_subject(), brief=True)
    assert lines[0] == f"{story.unit_id('7.2')}: build failed"
    assert not any(line.startswith("torch") for line in lines)
    assert lines[-1].startswith("run: ")


def test_explain_says_why_each_unit_was_built_or_reused() -> None:
    lines = shown(story.make_subject(), explain=True)
    assert f"build   reused    {story.unit_id('7.0')}: same inputs as before" in lines
    assert f"build   done      {story.unit_id('7.1')}: kernels/gemm/gemm/gemm.hip changed" in lines


def test_units_that_were_not_selected_are_not_said_to_be_served() -> None:
    plan = story.make_plan()
    result = RunResult(plan=plan, units=plan.units[:1])
    subject = Subject(
        command="build", options=Options(matrix=Path("m"), out=Path("dist")), result=result, board=Board()
    )
    assert subject.fates == {"served": 1, "not selected": 7, "refused": 11, "excluded": 1}


def test_a_unit_that_could_not_be_checked_here_is_told_and_not_said_to_give_users_nothing() -> None:
    unit = story.unit_id("7.1")
    board = story.played()
    lack = "its image is another one\n  Name another."
    ended = UnitFinished(
        unit=unit, stage=Stage.CHECK, state=State.FAILED, reason=lack, seconds=0.0, error=lack, exit_code=3
    )
    board.take(ended, now=60.0)
    made = replace(story.make_subject(), board=board)
    assert unit in made.broken
    lacking = replace(made, result=replace(made.result, lacking=frozenset({unit})))
    assert unit not in lacking.broken
    text = "\n".join(shown(lacking))
    assert f"{unit}: check failed" in text
    assert "its image is another one" in text


def test_what_collect_left_out_is_not_said_to_be_served_nor_done() -> None:
    plan = story.make_plan()
    result = RunResult(plan=plan, units=plan.units, coverage={"gemm": coverage(["7.0", "7.1"])})
    subject = Subject(
        command="collect", options=Options(matrix=Path("m"), out=Path("dist")), result=result, board=Board()
    )
    lines = shown(subject)
    assert subject.fates == {"served": 4, "not collected": 4, "refused": 11, "excluded": 1}
    assert lines[-1].endswith("done, but 4 cells of the promise not collected")
    assert "A B untested: no emulator" in spaced(lines)
    assert f"       {story.artifact('7.0')}" in lines


def test_places_are_named_only_if_there_is_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "plan.json").touch()
    lines = shown(story.make_subject(out=Path("dist")))
    assert "dist/plan.json  the plan" in lines
    assert not any(line.startswith("dist/units") for line in lines)


def test_foreign_text_cannot_act_on_the_terminal() -> None:
    hostile = "\x1b[2J\x07"
    subject = story.make_subject()
    finding = Finding(rule=hostile, severity=Severity.ERROR, what=hostile, where=hostile, fix=hostile, source=hostile)
    audit = replace(story.audit_record("7.0"), findings=(finding,))
    check = replace(story.check_record("7.0"), reason=hostile)
    build = replace(
        story.build_record("7.0"), files=(replace(story.FILES[0], path=f"{hostile}.so"),), artifact_digest=of_bytes(b"")
    )
    result = replace(subject.result, audits={audit.unit: audit}, checks={check.unit: check}, builds={build.unit: build})
    text = "\n".join(shown(replace(subject, result=result), explain=True))
    assert not set(text) & set("\x1b\x07")
    assert text.count(r"\x1b[2J\x07") >= 7
