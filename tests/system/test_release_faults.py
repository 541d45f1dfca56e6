"""Every request of a release meets every fault, and a release is killed at every request.

Afterwards users find the old state or the complete new one, no tag is on anything incomplete, other people's variant is
what it was, and the same release run again ends in the same files. A seeded part of the table is run; ``--long`` runs
all of it.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rocmatrix.errors import ReleaseError
from rocmatrix.hubserver.faults import Fault, FaultKind
from rocmatrix.hubserver.traffic import Exchange
from rocmatrix.release.api_hub import limit_requests
from rocmatrix.release.trees import Tree, in_variant
from tests.system.hub import WRITER, RunningHub, serving
from tests.system.release_source import Source, make_source
from tests.system.test_release import BRANCH, TAG, others, references, release, tree

NEXT = "v2.1.0"
THEIRS = "torch213-cxx11-cu130-x86_64-linux"
CASES, KILLS = 12, 4
RANDOM = random.Random(20261130)  # noqa: S311 - the same cases in every run
_SECONDS = 120
_SOURCE = Path(__file__).parents[2] / "src"
ANY = "*"
FAULTS = (
    *(Fault(endpoint=ANY, kind=kind) for kind in FaultKind if kind not in {FaultKind.DELAY, FaultKind.STATUS}),
    Fault(endpoint=ANY, kind=FaultKind.DELAY, seconds=0.3),
    *(Fault(endpoint=ANY, kind=FaultKind.STATUS, status=each) for each in (401, 403, 404, 409, 412, 413, 500, 503)),
    Fault(endpoint=ANY, kind=FaultKind.STATUS, status=429, headers={"Retry-After": "0"}),
)
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A Hub on which the earlier version and somebody else's variant are, and what a release of the next one does.

    Attributes:
        folder: of the Hub; each test takes a copy.
        source: of the next version.
        before: the version branch.
        after: the version branch as a release without a fault leaves it.
        requests: endpoints in the order in which that release asked.
    """

    folder: Path
    source: Source
    before: Tree
    after: Tree
    requests: tuple[str, ...]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    limit_requests()
    folder = tmp_path_factory.mktemp("prepared")
    first = make_source(folder / "first")
    source = make_source(folder / "next", tag=NEXT, line="CHANGED = True")
    with serving(folder) as hub:
        release(hub, first)
        others(hub, THEIRS)
        before = tree(hub, BRANCH)
    copied = folder / "copy"
    shutil.copytree(folder / "hub", copied / "hub")
    with serving(copied) as hub:
        release(hub, source)
        requests = tuple(exchange.endpoint for exchange in hub.traffic.exchanges)
        after = tree(hub, BRANCH)
    return Prepared(folder=folder / "hub", source=source, before=before, after=after, requests=requests)


@pytest.fixture
def hub(prepared: Prepared, tmp_path: Path) -> Iterator[RunningHub]:
    shutil.copytree(prepared.folder, tmp_path / "hub")
    with serving(tmp_path) as running:
        yield running


def theirs(files: Tree) -> Tree:
    return {path: file for path, file in files.items() if in_variant(path, THEIRS)}


def require_old_or_new(hub: RunningHub, prepared: Prepared) -> None:
    branches, tags = references(hub)
    now = tree(hub, branches[BRANCH])
    assert now in (prepared.before, prepared.after), "users find something that is neither"
    assert theirs(now) == theirs(prepared.before)
    assert tags.keys() <= {TAG, NEXT}
    if NEXT in tags:
        assert tree(hub, tags[NEXT]) == prepared.after


def table(requests: tuple[str, ...]) -> list[Fault]:
    """Return a fault of each kind for each request: its endpoint, and how many of that endpoint came before."""
    seen: Counter[str] = Counter()
    faults = []
    for endpoint in requests:
        faults += [replace(fault, endpoint=endpoint, skip=seen[endpoint]) for fault in FAULTS]
        seen[endpoint] += 1
    return faults


def require_happened(hub: RunningHub, fault: Fault) -> None:
    """Two commits of the same second are one, and its files are asked for once: then the last request is not made."""
    made = sum(exchange.endpoint == fault.endpoint for exchange in hub.traffic.exchanges)
    assert hub.faults.happened == (fault,) or (not hub.faults.happened and made == fault.skip), (
        f"{fault} did not happen"
    )


def chosen(prepared: Prepared, config: pytest.Config) -> list[Fault]:
    faults = table(prepared.requests)
    if config.getoption("--long"):
        return faults
    return RANDOM.sample(faults, CASES)


def test_no_fault_of_one_request_leaves_half_a_release(
    prepared: Prepared, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    wanted = prepared.source.wanted()
    endings: Counter[str] = Counter()
    for number, fault in enumerate(chosen(prepared, pytestconfig)):
        place = tmp_path / str(number)
        shutil.copytree(prepared.folder, place / "hub")
        with serving(place) as hub:
            hub.faults.plan(fault)
            try:
                release(hub, prepared.source, wanted)
                endings["released"] += 1
            except ReleaseError:
                endings["stopped"] += 1
            require_happened(hub, fault)
            hub.faults.clear()
            require_old_or_new(hub, prepared)
            release(hub, prepared.source, wanted)
            branches, tags = references(hub)
            assert tree(hub, BRANCH) == tree(hub, tags[NEXT]) == prepared.after, fault
            assert branches.keys() == {"main", BRANCH}, fault
        shutil.rmtree(place)
    assert endings["released"] > endings["stopped"], endings


def command(hub: RunningHub, source: Source, *more: str) -> subprocess.Popen[bytes]:
    """Start the release as a user would."""
    options = ("--tag", source.tag, "--matrix", str(source.root / "matrix.yaml"), "--out", str(source.store.root))
    return subprocess.Popen(
        [sys.executable, "-m", "rocmatrix", "release", *options, "--allow-untested", *more],
        env={**hub.environment(WRITER), "PYTHONPATH": str(_SOURCE)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def kill_at(hub: RunningHub, number: int, source: Source, *more: str) -> None:
    """Run the release until the server has done this many of its requests; it is killed before it has the answer."""
    kill_process_at(hub, number, lambda: command(hub, source, *more))


def kill_process_at(hub: RunningHub, number: int, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """Start a client, and kill it when the server has done this many of its requests, before it answers the last."""
    victim: list[int] = []
    started = threading.Event()

    def kill(_: Exchange) -> None:
        started.wait(_SECONDS)
        if len(hub.traffic.exchanges) == number:
            os.kill(victim[0], signal.SIGKILL)

    hub.traffic.tell = kill
    process = start()
    victim.append(process.pid)
    started.set()
    output, _ = process.communicate(timeout=_SECONDS)
    assert process.returncode == -signal.SIGKILL, output.decode()
    hub.traffic.tell = None


def run_again(hub: RunningHub, source: Source) -> None:
    """Run the release as a user would, to its end."""
    again = command(hub, source)
    output, _ = again.communicate(timeout=_SECONDS)
    assert again.returncode == 0, output.decode()
    assert WRITER.encode() not in output


def test_a_release_that_is_killed_at_any_request_is_run_again(
    prepared: Prepared, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    requests = range(1, len(prepared.requests) + 1)
    numbers = requests if pytestconfig.getoption("--long") else RANDOM.sample(requests, KILLS)
    for number in numbers:
        place = tmp_path / str(number)
        shutil.copytree(prepared.folder, place / "hub")
        with serving(place) as hub:
            kill_at(hub, number, prepared.source)
            require_old_or_new(hub, prepared)
            if number == numbers[0]:
                run_again(hub, prepared.source)
            else:
                release(hub, prepared.source)
            assert tree(hub, BRANCH) == tree(hub, references(hub)[1][NEXT]) == prepared.after
        shutil.rmtree(place)
