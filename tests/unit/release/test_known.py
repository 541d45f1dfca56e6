"""Branches and tags as a release knows them: its own changes, and what a Hub that is late shows of them."""

from rocmatrix.release.hub import References
from rocmatrix.release.known import KnownReferences

SHOWN = References(branches={"main": "m0", "v2": "a"}, tags={})


def known() -> KnownReferences:
    made = KnownReferences()
    made.take(SHOWN)
    return made


def test_its_own_changes_are_known_and_what_was_shown_stays_as_it_was() -> None:
    made = known()
    made.move_branch("v2", "b")
    made.move_branch("staging", "s")
    made.move_branch("staging", None)
    made.add_tag("v2", "b")
    assert made.now == References(branches={"main": "m0", "v2": "b"}, tags={"v2": "b"})
    assert References(branches={"main": "m0", "v2": "a"}, tags={}) == SHOWN


def test_a_hub_is_behind_while_it_shows_any_state_from_before() -> None:
    made = known()
    for commit in ("base", "s", None):
        made.move_branch("staging", commit)
    made.move_branch("v2", "b")
    made.add_tag("v2.0.0", "b")
    there = {"main": "m0", "v2": "b"}
    for staging in ("base", "s"):
        late = References(branches={**there, "staging": staging}, tags={"v2.0.0": "b"})
        assert made.behind(late) == ("staging",)
    assert made.behind(References(branches={**there, "v2": "a"}, tags={})) == ("v2", "the tag v2.0.0")
    assert made.behind(References(branches=there, tags={"v2.0.0": "b"})) == ()
    assert made.behind(None) == ("the tag v2.0.0",)


def test_others_may_have_moved_a_branch_on() -> None:
    made = known()
    made.move_branch("v2", "b")
    assert made.behind(References(branches={"main": "m1", "v2": "theirs"}, tags={})) == ()


def test_what_others_took_away_is_neither_late_nor_there() -> None:
    made = known()
    made.move_branch("v2", "b")
    made.add_tag("v2.0.0", "b")
    assert made.taken(References(branches={"main": "m1", "v2": "theirs"}, tags={"v2.0.0": "b"})) == ()
    assert made.taken(References(branches={"main": "m0"}, tags={"v2.0.0": "b"})) == ("v2",)
    assert made.taken(References(branches={"v2": "b"}, tags={"v2.0.0": "theirs"})) == ("the tag v2.0.0",)
    assert made.taken(SHOWN) == (), "it is late"


def test_nothing_is_known_in_doubt_and_what_was_changed_is_still_waited_for() -> None:
    made = known()
    made.move_branch("v2", "b")
    made.doubt_branch("main")
    made.move_branch("main", "m1")  # from where it was moved is not known: the next look decides
    made.add_tag("v2.0.0", "b")
    assert made.now is None
    made.take(SHOWN)
    assert made.behind(SHOWN) == ("v2",)
    made.forget()
    assert (made.now, made.changed, made.behind(SHOWN)) == (None, False, ())


def test_what_may_have_been_made_is_not_waited_for_in_its_state_from_before() -> None:
    made = known()
    made.move_branch("staging", "s")
    made.add_tag("v2.0.0", "s")
    made.doubt_branch("staging")  # as it was deleted
    made.doubt_tag("v2.0.0")
    assert made.behind(SHOWN) == made.taken(SHOWN) == ()
