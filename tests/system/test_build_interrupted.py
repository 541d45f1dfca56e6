"""A run that is killed or interrupted at any time can be repeated, and ends as one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from rocmatrix.records import BuildRecord
from rocmatrix.store import Absent, Store
from tests.unit.build.small import Site, make_unit

REPOSITORY = Path(__file__).parents[2]
UNITS = [make_unit(torch).id for torch in ("2.12", "2.13", "2.14")]
KILLS = 15
SEED = 20261129


def start(root: Path, *options: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.unit.build.small", str(root), *options],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run_to_the_end(root: Path) -> float:
    started = time.monotonic()
    process = start(root)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    return time.monotonic() - started


def state(root: Path) -> dict[str, str | None]:
    """Return the artifact digest of each unit, by its record; the record must agree with the payload beside it."""
    store = Store(root / "dist")
    records = [store.read_record(unit, BuildRecord) for unit in UNITS]
    return {record.unit: record.artifact_digest for record in records if not isinstance(record, Absent)}


def processes_of(root: Path) -> list[str]:
    """Return the command lines that mention a folder, apart from this process and its parents."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if str(root) in line and int(path.parent.name) not in {os.getpid(), os.getppid()}:
            found.append(line)
    return found


def gone_within(root: Path, seconds: float) -> bool:
    """Wait for what a killed run left running: a command that was at work ends, and ninja with its broken pipe."""
    deadline = time.monotonic() + seconds
    while processes_of(root) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes_of(root)


def test_a_killed_run_is_completed_by_the_next_one(tmp_path: Path) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    Site.make(undisturbed)
    Site.make(killed)
    seconds = run_to_the_end(undisturbed)
    expected = state(undisturbed)
    assert len(expected) == len(UNITS)
    chance = random.Random(SEED)  # noqa: S311 - nothing secret
    for number in range(KILLS):
        process = start(killed, "--no-cache")
        time.sleep(chance.uniform(0.2, 1.1) * seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        for unit, artifact in state(killed).items():
            assert artifact == expected[unit], f"after kill {number}"
    run_to_the_end(killed)
    assert state(killed) == expected
    assert {unit: Store(killed / "dist").payload_digest(unit) for unit in UNITS} == expected
    assert [path.name for path in (killed / "dist/work").iterdir()] == ["device"]
    assert gone_within(killed, 10.0)


def test_an_interrupt_ends_the_run_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    Site.make(tmp_path)
    slow = (
        "import sys; from pathlib import Path; from tests.unit.build.small import Site, SmallToolchain\n"
        "root = Path(sys.argv[1])\n"
        "Site(root=root, toolchain=SmallToolchain(folder=root, pause=30)).build('2.12', '2.13')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, str(tmp_path)],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while sum("sleep" in line for line in processes_of(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sum("sleep" in line for line in processes_of(tmp_path)) >= 2, "two units are at work"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert time.monotonic() - started < 10
    assert processes_of(tmp_path) == []
    assert state(tmp_path) == {}


def test_what_was_built_before_a_run_stays_until_the_new_build_is_complete(tmp_path: Path) -> None:
    site = Site.make(tmp_path)
    site.build("2.12", "2.13", "2.14")
    before = state(tmp_path)
    (site.project / "small/one.hip").write_text("changed\n")
    process = start(tmp_path)
    time.sleep(0.4)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    partial = state(tmp_path)
    run_to_the_end(tmp_path)
    after = state(tmp_path)
    assert all(after[unit] != before[unit] for unit in UNITS)
    assert all(artifact in {before[unit], after[unit]} for unit, artifact in partial.items())
