"""What is on the Hub already, and what others do to it: released is said only where users get what was released."""

import json

import pytest

from rocmatrix.errors import ReleaseError
from rocmatrix.events import discard
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.release.publication import Released
from rocmatrix.release.stage import publish
from tests.system.hub import RunningHub
from tests.system.meddling import MeddledHub, Meddling, delete_branch, move_tag, put
from tests.system.release_source import Source
from tests.system.test_release import BRANCH, QUICK, TAG, others, references, release, tree, yank

NEXT = "v2.1.0"
THEIRS = "torch213-cxx11-cu130-x86_64-linux"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


def released(hub: RunningHub, source: Source, meddling: Meddling) -> Released:
    there = MeddledHub(hub, meddling)
    return publish(source.wanted(), there, store=source.store, emit=discard, credential="a test", patience=QUICK)


def require_refused(hub: RunningHub, source: Source, said: str) -> None:
    """Release again: it is refused, and nothing is written."""
    before = references(hub)
    with pytest.raises(ReleaseError, match=said):
        release(hub, source)
    assert references(hub) == before


# -- what is there already -----------------------------------------------------------------------------------------


def test_a_release_whose_branch_somebody_deleted_is_not_said_to_be_there(hub: RunningHub, source: Source) -> None:
    release(hub, source)
    delete_branch(hub, BRANCH)
    require_refused(hub, source, f"{TAG} was released, and somebody deleted {BRANCH} since")


def test_a_release_whose_files_somebody_changed_is_not_said_to_be_there(hub: RunningHub, source: Source) -> None:
    release(hub, source)
    others(hub, THEIRS)
    put(hub, BRANCH, {"benchmarks/benchmark_scale.py": b"# somebody else's\n"})
    assert release(hub, source).already, "what is not ours to keep may change"
    path = next(path for path in tree(hub, BRANCH) if path.endswith("__init__.py"))
    put(hub, BRANCH, {path: b"import os\n"})
    require_refused(hub, source, rf"{BRANCH} was changed since: it has other bytes in {path}")


def test_a_withdrawn_release_is_not_said_to_be_there(hub: RunningHub, source: Source, changed: Source) -> None:
    release(hub, source)
    release(hub, changed)
    assert release(hub, source).already, "a later one took its place"
    yank(hub, changed, NEXT)
    require_refused(hub, changed, f"{NEXT} was released and withdrawn: wrong numbers")
    assert release(hub, source).already, "it is back"


def test_whose_metadata_only_has_the_name_of_our_block_is_somebody_elses(
    hub: RunningHub, source: Source, changed: Source
) -> None:
    release(hub, source)
    theirs = {
        f"build/{THEIRS}/metadata.json": json.dumps({"rocmatrix": 3}).encode(),
        f"build/{THEIRS}/k.so": b"\x7fELF",
    }
    put(hub, BRANCH, theirs)
    release(hub, changed)
    assert theirs.keys() <= tree(hub, BRANCH).keys()


# -- others at work ------------------------------------------------------------------------------------------------


def test_a_tag_that_somebody_moves_at_once_is_not_released(hub: RunningHub, source: Source, changed: Source) -> None:
    release(hub, source)
    moved = Meddling(when="after", what="create_tag", does=lambda: move_tag(hub, NEXT, "main"))
    with pytest.raises(ReleaseError, match=rf"{NEXT} was released with other content: the Hub lacks"):
        released(hub, changed, moved)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_branch_that_somebody_deletes_at_once_is_not_released(
    hub: RunningHub, source: Source, changed: Source, when: str
) -> None:
    release(hub, source)
    gone = Meddling(when=when, what="create_tag", does=lambda: delete_branch(hub, BRANCH))
    with pytest.raises(ReleaseError, match=f"somebody deleted {BRANCH} since"):
        released(hub, changed, gone)


@pytest.mark.parametrize("kind", [None, FaultKind.REPLY_LOST])
def test_a_release_that_begins_again_after_its_tag_was_not_there_before(
    hub: RunningHub, source: Source, changed: Source, kind: FaultKind | None
) -> None:
    release(hub, source)
    if kind:
        hub.faults.plan(Fault(endpoint="create-tag", kind=kind))
    busy = Meddling(when="before", what="commit", number=3, does=lambda: put(hub, "main", {"x.txt": b"1"}))  # the card
    assert released(hub, changed, busy) == Released(commit=references(hub)[1][NEXT], already=False)
    assert release(hub, changed).already


def test_a_tag_that_somebody_moved_to_the_same_files_is_looked_at_once(hub: RunningHub, source: Source) -> None:
    """What begins again takes what it finds; where it had put the tag before is of no matter any more."""

    def move() -> None:
        others(hub, THEIRS)
        move_tag(hub, TAG, BRANCH)

    done = released(hub, source, Meddling(when="after", what="create_tag", does=move))
    assert done.commit == references(hub)[0][BRANCH] == references(hub)[1][TAG]


def test_a_staging_branch_is_removed_once_where_the_answer_was_lost(hub: RunningHub, source: Source) -> None:
    hub.faults.plan(Fault(endpoint="delete-branch", kind=FaultKind.REPLY_LOST))
    assert not release(hub, source).already
    assert references(hub)[0].keys() == {"main", BRANCH}
