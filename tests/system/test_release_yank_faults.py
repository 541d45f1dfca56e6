"""Withdrawals that meet faults or are killed, and machines whose disk is full: the old state or the new one."""

import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from rocmatrix.errors import ReleaseError
from rocmatrix.hubserver.faults import Fault
from rocmatrix.release.api_hub import limit_requests
from rocmatrix.release.trees import Tree
from tests.system.hub import WRITER, RunningHub, serving
from tests.system.release_source import Source, make_source
from tests.system.test_release import BRANCH, TAG, others, references, release, tree, yank
from tests.system.test_release_faults import NEXT, THEIRS, kill_process_at, require_happened, table

CASES, KILLS = 4, 2
RANDOM = random.Random(20261130)  # noqa: S311 - the same cases in every run
SECONDS = 120
REASON = "wrong numbers for K = 384"
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


@dataclass(frozen=True, kw_only=True)
class Withdrawing:
    """A Hub with two releases and somebody else's variant, and what a withdrawal of the second does.

    Attributes:
        folder: of the Hub; each test takes a copy.
        source: of the second release.
        before: the version branch.
        after: the version branch as a withdrawal without a fault leaves it.
        tags: of the Hub, which stay.
        requests: endpoints in the order in which the withdrawal asked.
    """

    folder: Path
    source: Source
    before: Tree
    after: Tree
    tags: dict[str, str]
    requests: tuple[str, ...]


@pytest.fixture(scope="module")
def withdrawing(tmp_path_factory: pytest.TempPathFactory) -> Withdrawing:
    limit_requests()
    folder = tmp_path_factory.mktemp("withdrawing")
    source = make_source(folder / "next", tag=NEXT, line="CHANGED = True")
    with serving(folder) as hub:
        release(hub, make_source(folder / "first"))
        others(hub, THEIRS)
        release(hub, source)
        before, tags = tree(hub, BRANCH), references(hub)[1]
    shutil.copytree(folder / "hub", folder / "copy/hub")
    with serving(folder / "copy") as hub:
        yank(hub, source, NEXT)
        requests = tuple(exchange.endpoint for exchange in hub.traffic.exchanges)
        after = tree(hub, BRANCH)
    return Withdrawing(folder=folder / "hub", source=source, before=before, after=after, tags=tags, requests=requests)


@contextmanager
def again(withdrawing: Withdrawing, place: Path) -> Iterator[RunningHub]:
    """Serve a copy of the prepared Hub."""
    shutil.copytree(withdrawing.folder, place / "hub")
    with serving(place) as hub:
        yield hub
    shutil.rmtree(place)


def require_old_or_new(hub: RunningHub, withdrawing: Withdrawing) -> None:
    assert tree(hub, BRANCH) in (withdrawing.before, withdrawing.after), "users find something that is neither"
    assert references(hub)[1] == withdrawing.tags, "tags do not move"


def require_withdrawn(hub: RunningHub, withdrawing: Withdrawing) -> None:
    assert tree(hub, BRANCH) == withdrawing.after
    assert references(hub)[1] == withdrawing.tags
    assert THEIRS in str(withdrawing.after.keys())


def test_no_fault_of_one_request_leaves_half_a_withdrawal(
    withdrawing: Withdrawing, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    faults = table(withdrawing.requests)
    chosen: list[Fault] = faults if pytestconfig.getoption("--long") else RANDOM.sample(faults, CASES)
    for number, fault in enumerate(chosen):
        with again(withdrawing, tmp_path / str(number)) as hub:
            hub.faults.plan(fault)
            try:
                yank(hub, withdrawing.source, NEXT)
            except ReleaseError:
                require_old_or_new(hub, withdrawing)
            require_happened(hub, fault)
            hub.faults.clear()
            yank(hub, withdrawing.source, NEXT)
            require_withdrawn(hub, withdrawing)


def command(hub: RunningHub, source: Source, *words: str, limit: int | None = None) -> subprocess.Popen[bytes]:
    """Start rocmatrix as a user would; ``limit``: bytes that a file may have, where its disk ends."""

    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    place = ("--matrix", str(source.root / "matrix.yaml"), "--out", str(source.store.root))
    return subprocess.Popen(
        [sys.executable, "-m", "rocmatrix", *words, *place],
        env={**hub.environment(WRITER), "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=restrict,  # noqa: PLW1509 - it only sets a limit
    )


def test_a_withdrawal_that_is_killed_at_any_request_is_run_again(
    withdrawing: Withdrawing, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    requests = range(1, len(withdrawing.requests) + 1)
    numbers = requests if pytestconfig.getoption("--long") else RANDOM.sample(requests, KILLS)
    for number in numbers:
        with again(withdrawing, tmp_path / str(number)) as hub:
            kill_process_at(hub, number, partial(command, hub, withdrawing.source, "yank", NEXT, "--reason", REASON))
            require_old_or_new(hub, withdrawing)
            yank(hub, withdrawing.source, NEXT)
            require_withdrawn(hub, withdrawing)


# -- the disk of the machine that releases -------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["api", "git"])
def test_a_full_disk_of_this_machine_is_said_and_users_find_the_old_state(tmp_path: Path, transport: str) -> None:
    """A file may have 1 MiB, as if the disk ended there: staging or verifying needs 12 MB. With room it goes on."""
    limit_requests()
    first = make_source(tmp_path / "first")
    source = make_source(tmp_path / "source", tag=NEXT, line="CHANGED = True", large="# 12 MB\n" * 1_500_000)
    with serving(tmp_path) as hub:
        release(hub, first)
        before = tree(hub, BRANCH)
        where = f"{hub.endpoint}/kernels" if transport == "git" else hub.endpoint
        words = ("release", "--tag", NEXT, "--allow-untested", "--transport", transport, "--hub", where)
        full = command(hub, source, *words, limit=1 << 20)
        said = full.communicate(timeout=SECONDS)[0].decode()
        assert full.returncode == 3, said  # the environment lacks something
        assert "File too large" in said, said
        assert "Traceback" not in said
        assert tree(hub, BRANCH) == before
        assert references(hub)[1].keys() == {TAG}
        room = command(hub, source, *words)
        said = room.communicate(timeout=SECONDS)[0].decode()
        assert room.returncode == 0, said
        assert references(hub)[1].keys() == {TAG, NEXT}
