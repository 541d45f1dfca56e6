"""What a release asks of a Hub: nothing twice, and after whatever went wrong first of all where things are."""

from collections import Counter
from collections.abc import Sequence

import pytest

from rocmatrix.errors import ReleaseError
from rocmatrix.events import Event, Notice
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.release.api_hub import ApiHub
from rocmatrix.release.credentials import Credential
from rocmatrix.release.hub import References
from rocmatrix.release.persistence import Patience
from rocmatrix.release.stage import publish
from rocmatrix.release.trees import file_on_disk
from rocmatrix.release.view import patient_view
from tests.system.hub import WRITER, RunningHub
from tests.system.release_source import REPOSITORY, Source
from tests.system.test_release import BRANCH, QUICK, TAG, others, references, release, tree, yank

NEXT = "v2.1.0"
FETCHED = frozenset({"resolve", "info"})
"""What verifying asks besides a listing: all files, anew."""
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


def asked(hub: RunningHub) -> list[str]:
    """Return the endpoints in the order in which they answered, and begin a new list."""
    endpoints = [exchange.endpoint for exchange in hub.traffic.exchanges]
    hub.traffic.clear()
    return endpoints


def but_fetching(endpoints: Sequence[str]) -> Counter[str]:
    return Counter(endpoint for endpoint in endpoints if endpoint not in FETCHED)


def test_a_release_asks_each_question_once(hub: RunningHub, source: Source, changed: Source) -> None:
    """Listings: where it begins, main, what was staged, the same by the client that fetches it, promoted, main again.

    The embedded Hub makes one commit of two that are the same in the same second: then what was promoted is known.
    """
    release(hub, source)
    first = but_fetching(asked(hub))
    release(hub, changed)
    following = but_fetching(asked(hub))
    release(hub, changed)
    assert asked(hub) == ["refs", "tree", "tree"]
    assert (first["refs"], first["tree"], first["commit"]) == (3, 4, 2)
    assert (following["refs"], following["commit"]) == (2, 3)
    assert following["tree"] in {5, 6}
    once = {"create-branch", "create-tag", "delete-branch", "validate-yaml"}
    assert {name: following[name] for name in once} == dict.fromkeys(once, 1)


@pytest.mark.parametrize("before", range(3), ids=["staging", "promotion", "card"])
def test_a_lost_answer_is_looked_for_before_anything_is_repeated(
    hub: RunningHub, source: Source, changed: Source, before: int
) -> None:
    release(hub, source)
    asked(hub)
    hub.faults.plan(Fault(endpoint="commit", kind=FaultKind.REPLY_LOST, skip=before))
    release(hub, changed)
    endpoints = asked(hub)
    commits = [number for number, endpoint in enumerate(endpoints) if endpoint == "commit"]
    assert len(commits) == 3, "staged, promoted, card: none of them twice"
    assert endpoints[commits[before] + 1] == "refs"
    assert endpoints.count("refs") == 3, "nowhere else is it asked anew"


class Late(ApiHub):
    """Shows branches and tags as they were before the last change, some times over."""

    def __init__(self, hub: RunningHub, times: int) -> None:
        super().__init__(hub.endpoint, Credential(token=WRITER, source="a test"))
        self.times = times
        self._before: References | None = None

    def create_tag(self, repository: str, tag: str, commit: str, message: str) -> None:
        self._before = super().references(repository)
        super().create_tag(repository, tag, commit, message)

    def references(self, repository: str) -> References | None:
        if self._before is not None and self.times:
            self.times -= 1
            return self._before
        return super().references(repository)


@pytest.mark.parametrize("times", [2, 100])
def test_a_release_is_through_when_the_hub_shows_it(hub: RunningHub, source: Source, times: int) -> None:
    said: list[str] = []

    def emit(event: Event) -> None:
        assert isinstance(event, Notice)
        said.append(event.message)

    def run() -> None:
        late = Late(hub, times)
        patience = Patience(attempts=4, first_wait=0.01)
        publish(source.wanted(), late, store=source.store, emit=emit, credential="", patience=patience)

    if times < 4:
        run()
    else:
        with pytest.raises(ReleaseError, match="does not show it yet"):
            run()
    waits = [line for line in said if "does not show it yet: staging/v2.0.0, the tag v2.0.0" in line]
    assert len(waits) == min(times, 3)
    assert references(hub)[1].keys() == {TAG}


@pytest.mark.parametrize("times", [1, 99])
def test_a_question_that_is_answered_with_a_conflict_is_asked_again(
    hub: RunningHub, source: Source, times: int
) -> None:
    """Nothing was to be changed: nobody can have been first, and what begins anew then is not under way."""
    release(hub, source)
    there = ApiHub(hub.endpoint, Credential(token=None, source=""))
    hub.faults.plan(Fault(endpoint="refs", kind=FaultKind.STATUS, status=409, count=times))
    view = patient_view(there, REPOSITORY, patience=QUICK)
    if times == 1:
        assert view.references().tags.keys() == {TAG}
    else:
        with pytest.raises(ReleaseError, match="answered 409"):
            view.references()


def test_whose_a_variant_is_is_not_read_from_a_file_that_changed(hub: RunningHub, source: Source) -> None:
    """Metadata of the same bytes is read on this machine; what was written to it since it was hashed is not trusted."""
    release(hub, source)
    others(hub, "torch213-cxx11-cu130-x86_64-linux")
    head = references(hub)[0][BRANCH]
    there = ApiHub(hub.endpoint, Credential(token=None, source=""))
    paths = {path for path in tree(hub, head) if path.startswith("build/") and path.endswith("/metadata.json")}
    here = {path: file_on_disk(source.store.kernel_folder("scale") / path) for path in paths if "rocm" in path}
    ours = tuple(sorted(path.split("/")[1] for path in here))
    asked(hub)
    assert patient_view(there, REPOSITORY, patience=QUICK).our_variants(head, here=here) == ours
    assert asked(hub) == ["tree", "resolve"], "somebody else's alone is read on the Hub"
    file = next(iter(here.values()))
    assert file.source is not None
    kept = file.source.read_bytes()
    try:
        file.source.write_bytes(b"{}".ljust(len(kept)))
        assert patient_view(there, REPOSITORY, patience=QUICK).our_variants(head, here=here) == ours
    finally:
        file.source.write_bytes(kept)
    assert asked(hub) == ["tree", "resolve", "resolve"]


def test_a_withdrawal_looks_once_and_at_its_end(hub: RunningHub, source: Source, changed: Source) -> None:
    release(hub, source)
    release(hub, changed)
    asked(hub)
    yank(hub, source, NEXT)
    endpoints = asked(hub)
    assert endpoints.count("refs") == 2
    assert (endpoints[0], endpoints[-1]) == ("refs", "refs")
    yank(hub, source, NEXT)
    assert asked(hub).count("refs") == 1
