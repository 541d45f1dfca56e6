"""Events fold into what is known of each unit."""

from rocmatrix.events import RunStarted, Stage, State, Transfer, UnitFinished, UnitProgress, UnitStarted
from rocmatrix.plan.model import UnitId
from rocmatrix.report.board import Board
from tests.unit.report import story

UNIT = UnitId("k.a")


def test_units_are_there_before_anything_happens_to_them() -> None:
    board = Board()
    board.take(RunStarted(units=(UNIT,), stages=(Stage.BUILD, Stage.AUDIT)), 0.0)
    assert list(board.rows) == [UNIT]
    assert board.stages == (Stage.BUILD, Stage.AUDIT)


def test_collecting_is_shown_if_it_is_all_there_is_or_failed() -> None:
    board = Board()
    board.take(RunStarted(units=(UNIT,), stages=(Stage.COLLECT,)), 0.0)
    assert board.stages == (Stage.COLLECT,)
    board.take(RunStarted(units=(UNIT,), stages=(Stage.BUILD, Stage.COLLECT)), 0.0)
    for state, stages in (
        (State.DONE, (Stage.BUILD,)),
        (State.SKIPPED, (Stage.BUILD,)),
        (State.FAILED, (Stage.BUILD, Stage.COLLECT)),
    ):
        board.take(UnitFinished(unit=UNIT, stage=Stage.COLLECT, state=state, reason="", seconds=0.0), 1.0)
        assert board.stages == stages


def test_a_unit_that_was_not_announced_is_taken_up() -> None:
    board = Board()
    board.take(UnitStarted(unit=UNIT, stage=Stage.AUDIT, reason="x"), 0.0)
    assert board.rows[UNIT].stages[Stage.AUDIT].reason == "x"


def test_progress_and_end_of_a_stage_are_kept() -> None:
    board = Board()
    board.take(UnitStarted(unit=UNIT, stage=Stage.BUILD, reason="not done before"), 10.0)
    board.take(UnitProgress(unit=UNIT, stage=Stage.BUILD, done=2, total=5, step="device a.hip"), 12.0)
    row = board.rows[UNIT]
    view = row.active
    assert view is not None
    assert (view.done, view.total, view.step) == (2, 5, "device a.hip")
    assert row.seconds(14.5) == 4.5
    board.take(
        UnitFinished(unit=UNIT, stage=Stage.BUILD, state=State.DONE, reason="not done before", seconds=4.7), 15.0
    )
    assert row.active is None
    assert row.seconds(99.0) == 4.7


def test_a_stage_that_is_begun_again_starts_anew() -> None:
    board = Board()
    board.take(UnitFinished(unit=UNIT, stage=Stage.BUILD, state=State.FAILED, reason="x", seconds=1.0), 1.0)
    board.take(UnitStarted(unit=UNIT, stage=Stage.BUILD, reason="again"), 2.0)
    assert board.failures == ()
    assert board.rows[UNIT].active is not None


def test_downloads_add_up_by_their_last_state() -> None:
    board = Board()
    for received in (0, 100, 300):
        board.take(Transfer(what="headers", received=received, total=300), 0.0)
    board.take(Transfer(what="other", received=7, total=None), 0.0)
    assert board.received == 307


def test_a_unit_is_settled_when_it_failed_or_its_last_stage_ended() -> None:
    board = story.played()
    assert all(board.settled(row) for row in board.rows.values())
    halfway = story.played(12)
    assert [halfway.settled(row) for row in halfway.rows.values()] == [False, False, False, False]


def test_the_first_failed_stage_of_a_unit_is_its_failure() -> None:
    ((unit, view),) = story.played().failures
    assert (unit, view.stage, view.exit_code) == (story.unit_id(story.FAILED_ROCM), Stage.BUILD, 4)
