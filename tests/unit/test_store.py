"""The store: atomic writes, records that cannot go stale, recovery after a kill at any instant."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rocmatrix import store as store_module
from rocmatrix.atomic import write_file
from rocmatrix.digest import of_folder
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plain_text import LONGEST
from rocmatrix.plan.model import Plan, UnitId
from rocmatrix.records import BuildRecord, Outcome
from rocmatrix.store import Absent, Store
from tests.unit.conftest import UNIT, build_record


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "dist")


def stage_payload(store: Store, content: str) -> Path:
    store.work.mkdir(parents=True, exist_ok=True)
    folder = store.work / f"staged-{time.monotonic_ns()}"
    (folder / "sub").mkdir(parents=True)
    (folder / "__init__.py").write_text(content)
    (folder / "sub" / "data.bin").write_bytes(content.encode() * 100)
    return folder


def test_a_plan_comes_back_as_it_was_written(store: Store, plan: Plan) -> None:
    store.write_plan(plan)
    assert store.read_plan() == plan


def test_a_missing_plan_is_an_input_error_that_says_what_to_run(store: Store) -> None:
    with pytest.raises(InputError, match="rocmatrix plan"):
        store.read_plan()


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"a":' * 100_000, b"[]", b'{"schema": 1}', b"\xff\xfe", b'{"schema": "1"}']
)
def test_a_damaged_plan_is_an_input_error(store: Store, text: bytes) -> None:
    write_file(store.plan_path, text)
    with pytest.raises(InputError, match="not a plan"):
        store.read_plan()


def test_a_plan_of_another_schema_is_refused(store: Store, plan: Plan) -> None:
    store.write_plan(plan)
    store.plan_path.write_bytes(store.plan_path.read_bytes().replace(b'"schema": 1', b'"schema": 2'))
    with pytest.raises(InputError, match="schema 2 is not known"):
        store.read_plan()


def test_a_record_beside_its_artifact_is_handed_out(store: Store) -> None:
    record = build_record(store.replace_payload(UNIT, stage_payload(store, "x = 1")))
    store.write_record(record)
    assert store.read_record(UNIT, BuildRecord) == record


def test_a_record_whose_artifact_changed_counts_as_absent(store: Store) -> None:
    store.write_record(build_record(store.replace_payload(UNIT, stage_payload(store, "x = 1"))))
    (store.payload(UNIT) / "__init__.py").write_text("x = 2")
    found = store.read_record(UNIT, BuildRecord)
    assert isinstance(found, Absent)
    assert "not the one that build.json speaks of" in found.reason


def test_a_record_whose_artifact_has_one_file_more_counts_as_absent(store: Store) -> None:
    store.write_record(build_record(store.replace_payload(UNIT, stage_payload(store, "x = 1"))))
    (store.payload(UNIT) / "stray.py").write_text("")
    assert isinstance(store.read_record(UNIT, BuildRecord), Absent)


def test_a_record_of_another_unit_counts_as_absent(store: Store) -> None:
    store.write_record(build_record(None, Outcome.FAILED))
    other = UnitId("gemm.other")
    store.unit_folder(UNIT).rename(store.unit_folder(other))
    found = store.read_record(other, BuildRecord)
    assert isinstance(found, Absent)
    assert UNIT in found.reason


@pytest.mark.parametrize("damage", [b"", b"{}", b"not json", b"\x00" * 50, b'{"a":' * 100_000])
def test_a_damaged_record_counts_as_absent_and_says_why(store: Store, damage: bytes) -> None:
    store.write_record(build_record(None, Outcome.FAILED))
    (store.unit_folder(UNIT) / "build.json").write_bytes(damage)
    found = store.read_record(UNIT, BuildRecord)
    assert isinstance(found, Absent)
    assert "build.json cannot be read" in found.reason


def test_what_is_no_regular_file_of_reasonable_size_is_not_read(store: Store, tmp_path: Path) -> None:
    store.write_record(build_record(None, Outcome.FAILED))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 1 << 40)
    record, plan = store.unit_folder(UNIT) / "build.json", store.plan_path
    for target in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / "large"):
        for path in (record, plan):
            path.unlink(missing_ok=True)
            path.symlink_to(target)
        found = store.read_record(UNIT, BuildRecord)
        assert isinstance(found, Absent)
        assert found.reason.startswith("build.json does not count: ")
        with pytest.raises(InputError, match=r"is not a regular file|is larger than"):
            store.read_plan()


def test_why_a_record_does_not_count_is_a_line_of_limited_length(store: Store) -> None:
    store.write_record(build_record(None, Outcome.FAILED))
    path = store.unit_folder(UNIT) / "build.json"
    content = path.read_text()
    for old, new in (('"failed"', '"x\\n\\u001b[2J'), (UNIT, "y\\n")):
        path.write_text(content.replace(old, f"{new}{'z' * 100_000}" + ('"' if old[0] == '"' else "")))
        found = store.read_record(UNIT, BuildRecord)
        assert isinstance(found, Absent)
        assert found.reason.isprintable()
        assert len(found.reason) == LONGEST


def test_a_failed_record_needs_no_artifact(store: Store) -> None:
    record = build_record(None, Outcome.FAILED)
    store.write_record(record)
    assert store.read_record(UNIT, BuildRecord) == record


def test_a_failed_write_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.json"
    write_file(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, f"No space left on device {descriptor}")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_never_sees_a_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    contents = {bytes([65 + n]) * 200_000 for n in range(4)}
    write_file(path, next(iter(contents)))
    stop = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not stop.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for content in [*contents] * 5:
        write_file(path, content)
    stop.set()
    reader.join()
    assert seen <= contents


def test_recovery_puts_back_a_payload_that_was_renamed_aside(store: Store) -> None:
    before = store.replace_payload(UNIT, stage_payload(store, "x = 1"))
    store.payload(UNIT).rename(store.payload(UNIT).with_name("payload.aside-4711"))
    store.recover()
    assert store.payload_digest(UNIT) == before


def test_recovery_keeps_a_new_payload_and_removes_the_old_one(store: Store) -> None:
    after = store.replace_payload(UNIT, stage_payload(store, "x = 2"))
    old = store.payload(UNIT).with_name("payload.aside-4711")
    old.mkdir()
    (old / "__init__.py").write_text("x = 1")
    store.recover()
    assert store.payload_digest(UNIT) == after
    assert not old.exists()


def test_recovery_removes_unfinished_files_and_folders(store: Store) -> None:
    store.write_record(build_record(None, Outcome.FAILED))
    folder = store.unit_folder(UNIT)
    (folder / "build.json.partial-abc").write_text("{")
    (folder / "payload.partial-doomed").mkdir()
    (store.work / "gemm.partial-xyz").mkdir(parents=True)
    store.recover()
    assert sorted(path.name for path in folder.iterdir()) == ["build.json"]
    assert not list(store.work.iterdir())


def test_recovery_never_follows_a_link_out_of_the_folder(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("mine")
    store.unit_folder(UNIT).mkdir(parents=True)
    (store.unit_folder(UNIT) / "payload.partial-link").symlink_to(outside)
    store.recover()
    assert (outside / "keep").read_text() == "mine"
    assert not (store.unit_folder(UNIT) / "payload.partial-link").is_symlink()


def test_a_payload_whose_own_files_look_unfinished_is_left_alone(store: Store) -> None:
    staged = stage_payload(store, "x = 1")
    (staged / "weights.partial-1").write_text("data of the kernel")
    before = store.replace_payload(UNIT, staged)
    store.recover()
    assert store.payload_digest(UNIT) == before


def replace_for_ever(root: str) -> None:
    store = Store(Path(root))
    number = 0
    while True:
        number += 1
        store.write_record(build_record(store.replace_payload(UNIT, stage_payload(store, f"x = {number}"))))


@pytest.mark.parametrize("attempt", range(6))
def test_a_kill_at_any_instant_leaves_a_whole_payload(store: Store, attempt: int) -> None:
    store.replace_payload(UNIT, stage_payload(store, "x = 0"))
    victim = multiprocessing.get_context("spawn").Process(target=replace_for_ever, args=(str(store.root),))
    victim.start()
    while not (store.unit_folder(UNIT) / "build.json").exists():
        assert victim.is_alive()
        time.sleep(0.01)
    time.sleep(0.02 + 0.013 * attempt)
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    store.recover()
    content = (store.payload(UNIT) / "__init__.py").read_text()
    assert (store.payload(UNIT) / "sub" / "data.bin").read_bytes() == content.encode() * 100
    found = store.read_record(UNIT, BuildRecord)
    assert isinstance(found, Absent) or found.artifact_digest == of_folder(store.payload(UNIT))


def test_two_processes_cannot_work_in_one_output_folder(store: Store) -> None:
    code = (
        "import sys; from pathlib import Path; from rocmatrix.store import Store\n"
        "with Store(Path(sys.argv[1])).exclusive(): print('in', flush=True); sys.stdin.read()"
    )
    with (
        subprocess.Popen(
            [sys.executable, "-c", code, str(store.root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(store_module.__file__).parents[1])},
        ) as other,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(MissingRequirementError, match="another rocmatrix"), store.exclusive():
            pass
        other.communicate()
    with store.exclusive():
        pass


def test_an_output_path_that_is_a_file_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "dist").write_text("mine")
    with pytest.raises(InputError, match="cannot be used"), Store(tmp_path / "dist").exclusive():
        pass
    assert (tmp_path / "dist").read_text() == "mine"


@pytest.mark.parametrize("name", ["..", "../evil", "a/b", "", ".hidden", "a\nb"])
def test_an_id_that_would_leave_the_folder_is_refused(store: Store, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a folder"):
        store.payload(UnitId(name))
