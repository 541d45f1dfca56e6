"""``--json``: one document that holds the plan, what happened to each unit, and its records."""

import io
import json
from dataclasses import replace

from rocmatrix import document
from rocmatrix.errors import ExitCode
from rocmatrix.events import Stage, State, UnitFinished
from rocmatrix.report.board import Board
from rocmatrix.report.documents import RunDocument, error_document, run_document, write_document, write_line
from tests.unit.report import story


def test_a_run_can_be_read_back() -> None:
    made = run_document(story.make_subject())
    assert document.from_json(document.to_json(made), RunDocument) == made


def test_a_run_says_how_it_ended_and_what_became_of_each_unit() -> None:
    written = json.loads(document.to_json(run_document(story.make_subject())))
    assert (written["command"], written["exit_code"], written["received"]) == ("run", 4, 3_400_000)
    failed = next(unit for unit in written["units"] if unit["id"] == story.unit_id("7.2"))
    assert failed["build"]["outcome"] == "failed"
    assert failed["audit"] is None
    assert [(stage["stage"], stage["state"]) for stage in failed["stages"]] == [
        ("build", "failed"),
        ("audit", "skipped"),
        ("check", "skipped"),
    ]
    assert failed["stages"][0]["error"] == story.ERROR


def test_an_error_has_its_parts() -> None:
    made = error_document("no", where="matrix.yaml:3", fix=None, code=ExitCode.INPUT)
    assert json.loads(document.to_json(made)) == {
        "error": {"what": "no", "where": "matrix.yaml:3", "fix": None, "exit_code": 2}
    }


def test_names_that_are_not_utf8_can_be_written() -> None:
    board = Board()
    unit = story.unit_id("7.0")
    board.take(
        UnitFinished(
            unit=unit, stage=Stage.BUILD, state=State.FAILED, reason="\udcff", seconds=0.0, log="\udcff", error="\udcff"
        ),
        0.0,
    )
    written = json.loads(document.to_json(run_document(replace(story.make_subject(), board=board))))
    assert written["units"][0]["stages"][0]["error"] == r"\udcff"
    made = error_document("\udcff", where="\udcff", fix="\udcff", code=ExitCode.INPUT)
    assert json.loads(document.to_json(made))["error"]["what"] == r"\udcff"


def test_a_document_is_utf8_in_any_locale() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="cp1252")
    write_document(error_document("→", where=None, fix=None, code=ExitCode.INPUT), stream)
    assert json.loads(raw.getvalue().decode("utf-8"))["error"]["what"] == "→"


def test_a_line_is_one_line() -> None:
    stream = io.StringIO()
    write_line(story.make_plan(), stream)
    assert stream.getvalue().count("\n") == 1
    assert json.loads(stream.getvalue())["units"][0]["id"] == story.unit_id("7.0")
