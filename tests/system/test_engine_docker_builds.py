"""Builds in containers: the same bytes anywhere, logs of their own, and a rerun that completes whatever was killed."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker import DockerClient
from docker.errors import APIError

from rocmatrix.engine.connection import connect
from rocmatrix.records import BuildRecord, Isolation, Outcome
from rocmatrix.store import Absent, Store
from tests.system.docker_bed import Bed, OwnEngine, make_base, missing_docker, own_engine
from tests.system.engine_site import left_after, make_engine, ours, site_of
from tests.unit.build.small import Site, make_unit

pytestmark = pytest.mark.needs_docker

REPOSITORY = Path(__file__).parents[2]
TORCHES = ("2.12", "2.13", "2.14")
UNITS = [make_unit(torch).id for torch in TORCHES]
KILLS, MANY_KILLS = 3, 30
SEED = 20261130
PAUSE = 0.4
"""Seconds that each step of a unit takes at least, so that there is something to kill."""
SECRET = "hf_engine_build_51c0ffee"  # noqa: S105 - planted, and opens nothing


@pytest.fixture(scope="module")
def image(docker_engine: Bed) -> str:
    """Debian's minimal system."""
    return make_base(docker_engine.client, "trixie")


def test_the_bytes_are_the_same_in_another_folder_and_on_the_host(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    here, there, host = (Site.make(tmp_path / name) for name in ("a", "another folder, with spaces", "host"))
    with site_of(here.root, make_engine(image)) as site:
        first = site.build(*TORCHES, jobs=3)
    with site_of(there.root, make_engine(image)) as site:
        second = site.build(*TORCHES, jobs=1)
    assert [record.outcome for record in first] == [Outcome.PASSED] * 3, [record.error for record in first]
    digests = [[record.artifact_digest for record in records] for records in (first, second, host.build(*TORCHES))]
    assert digests[0] == digests[1] == digests[2]
    assert {record.isolation for record in first} == {Isolation.CONTAINER}
    for record in first:
        log = Store(here.root / "dist").build_log(record.unit).read_text()
        assert log.count("] copy one.hip\n") == 1
        assert log.count("] join\n") == 1
    for file in (path for path in (here.root / "dist").rglob("*") if path.is_file()):
        assert SECRET.encode() not in file.read_bytes(), file


def test_a_broken_source_is_named_by_its_own_path_and_a_second_run_continues(image: str, tmp_path: Path) -> None:
    source = Site.make(tmp_path).project / "small/one.hip"
    source.write_text("one\n#broken\n")
    with site_of(tmp_path, make_engine(image)) as site:
        (record,) = site.build("2.13")
        assert record.error == "small/one.hip:2:1: error: this line is broken"
        source.write_text("one\n")
        (record,) = site.build("2.13")
        assert record.outcome is Outcome.PASSED


@dataclass(frozen=True)
class Victim:
    """A dockerd of the test's own with a base image, which may be killed."""

    engine: OwnEngine
    image: str
    port: int

    def client(self) -> DockerClient:
        """Return a client of it."""
        before = os.environ.get("DOCKER_HOST")
        os.environ["DOCKER_HOST"] = self.engine.host
        try:
            return connect()
        finally:
            del os.environ["DOCKER_HOST"]
            if before is not None:
                os.environ["DOCKER_HOST"] = before


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    if why := missing_docker():
        pytest.skip(why)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with own_engine(tmp_path_factory.mktemp("victim"), "--host", f"tcp://127.0.0.1:{port}", "--tls=false") as engine:
        found = Victim(engine=engine, image="local/debian:trixie", port=port)
        client = found.client()
        make_base(client, "trixie")
        client.close()
        yield found


def start(root: Path, victim: Victim, *options: str, host: str | None = None) -> subprocess.Popen[str]:
    variables = {"PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}", "DOCKER_HOST": host or victim.engine.host}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.system.engine_site", str(root), victim.image, str(PAUSE), *options],
        cwd=REPOSITORY,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run_to_the_end(root: Path, victim: Victim, *, host: str | None = None) -> float:
    started = time.monotonic()
    process = start(root, victim, host=host)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    return time.monotonic() - started


def state(root: Path) -> dict[str, str]:
    """Return the artifact digest of each unit that is built; the store holds record and payload together."""
    records = [Store(root / "dist").read_record(unit, BuildRecord) for unit in UNITS]
    return {
        record.unit: record.artifact_digest
        for record in records
        if not isinstance(record, Absent) and record.artifact_digest
    }


def kill_something(what: str, process: subprocess.Popen[str], victim: Victim) -> None:
    """Kill rocmatrix, its containers or the engine with SIGKILL, and let an engine that was killed start again."""
    if what == "rocmatrix":
        os.kill(process.pid, signal.SIGKILL)
    elif what == "container":
        client = victim.client()
        for one in ours(client):
            with suppress(APIError):  # it has ended by now, or was never started
                if one.startswith("container"):
                    client.api.kill(one.split()[1], signal.SIGKILL)
        client.close()
    else:
        victim.engine.kill()
        process.communicate(timeout=120)
        victim.engine.start()


def test_whatever_is_killed_the_rerun_completes(victim: Victim, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    Site.make(undisturbed)
    Site.make(killed)
    seconds = run_to_the_end(undisturbed, victim)
    expected = state(undisturbed)
    assert len(expected) == len(UNITS)
    chance = random.Random(SEED)  # noqa: S311 - nothing secret
    for number in range(MANY_KILLS if request.config.getoption("--long") else KILLS):
        what = ("rocmatrix", "container", "dockerd")[number % 3]
        process = start(killed, victim, "--no-cache")
        time.sleep(chance.uniform(0.3, 1.0) * seconds)
        kill_something(what, process, victim)
        output, _ = process.communicate(timeout=120)
        assert "Traceback" not in output, f"after kill {number} of {what}:\n{output}"
        for unit, artifact in state(killed).items():
            assert artifact == expected[unit], f"after kill {number} of {what}"
        run_to_the_end(killed, victim)
        assert state(killed) == expected, f"after kill {number} of {what}"
        client = victim.client()
        assert left_after(client, []) == [], f"after kill {number} of {what}"
        client.close()
    assert {unit: Store(killed / "dist").payload_digest(unit) for unit in UNITS} == expected


def test_an_engine_elsewhere_is_sent_everything(victim: Victim, tmp_path: Path) -> None:
    Site.make(tmp_path)
    run_to_the_end(tmp_path, victim, host=f"tcp://127.0.0.1:{victim.port}")
    assert len(state(tmp_path)) == len(UNITS)


def test_an_interrupted_build_leaves_no_container(victim: Victim, tmp_path: Path) -> None:
    Site.make(tmp_path)
    client = victim.client()
    process = start(tmp_path, victim)
    deadline = time.monotonic() + 60
    while not ours(client) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output.rstrip().endswith("KeyboardInterrupt")
    assert left_after(client, []) == []
    client.close()
