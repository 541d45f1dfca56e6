"""Merging what several machines left: one artifact for each unit, and records that speak of it."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.cli.main import main
from rocmatrix.collect.parts import Parts, merge_parts
from rocmatrix.errors import ExitCode, InputError
from rocmatrix.events import Event, Notice
from rocmatrix.plain_text import LONGEST
from rocmatrix.records import AuditRecord, BuildRecord, CaseResult, CheckRecord, KernelFinding, Outcome, Tested
from rocmatrix.store import Store
from tests.unit.collect.conftest import CASE, SECOND, Project
from tests.unit.conftest import UNIT

Machine = Callable[[str], Project]
FINDING = KernelFinding(kind="race", kernel="gemm", text="two waves write one byte")


@pytest.fixture
def machine(tmp_path: Path, project: Project) -> Machine:
    """Return a function that gives another machine, with the same sources and plan."""

    def make(name: str) -> Project:
        made = Project(tmp_path / name, project.plan)
        made.store.write_plan(project.plan)
        return made

    return make


@pytest.fixture
def into(tmp_path: Path) -> Store:
    return Store(tmp_path / "merged")


def merge(into: Store, *parts: Path, checks: Sequence[Path] = (), emulated: Sequence[Path] = ()) -> list[str]:
    events: list[Event] = []
    merge_parts(Parts(whole=parts, emulated=emulated, checks=checks), into, events.append)
    return [event.message for event in events if isinstance(event, Notice)]


def test_units_of_two_machines_come_together_and_merging_again_changes_nothing(machine: Machine, into: Store) -> None:
    one, two = machine("one"), machine("two")
    one.go_through(UNIT)
    two.go_through(SECOND)
    assert merge(into, one.store.root, two.store.root) == []
    for unit, project in ((UNIT, one), (SECOND, two)):
        assert into.payload_digest(unit) == project.store.payload_digest(unit)
        for kind in (BuildRecord, AuditRecord, CheckRecord):
            assert into.read_record(unit, kind) == project.store.read_record(unit, kind)  # type: ignore[type-var]
    before = {path: path.read_bytes() for path in into.root.rglob("*") if path.is_file()}
    merge(into, one.store.root, two.store.root)
    assert {path: path.read_bytes() for path in into.root.rglob("*") if path.is_file()} == before


def test_two_artifacts_of_one_unit_are_refused_with_both_folders(machine: Machine, into: Store) -> None:
    one, two = machine("one"), machine("two")
    one.go_through()
    build_other_bytes(two)
    with pytest.raises(InputError) as refused:
        merge(into, one.store.root, two.store.root)
    assert str(one.store.root) in str(refused.value)
    assert str(two.store.root) in str(refused.value)
    assert into.payload_digest(UNIT) is None


def build_other_bytes(project: Project) -> None:
    """Build the unit with another result than every other machine has."""
    project.build()
    record = project.store.read_record(UNIT, BuildRecord)
    assert isinstance(record, BuildRecord)
    shutil.copytree(project.store.payload(UNIT), project.root / "other")
    (project.root / "other" / "__init__.py").write_text("# other bytes\n")
    artifact = project.store.replace_payload(UNIT, project.root / "other")
    project.store.write_record(replace(record, artifact_digest=artifact))


def check_only(project: Project) -> Path:
    """Leave nothing but check.json of the unit, as a machine does that only runs cases."""
    folder = project.store.unit_folder(UNIT)
    shutil.rmtree(folder / "payload")
    for name in ("build.json", "audit.json"):
        (folder / name).unlink(missing_ok=True)
    return project.store.root


@pytest.mark.parametrize("gpu_first", [True, False])
def test_the_best_evidence_is_kept_of_checks_that_come_without_the_payload(
    machine: Machine, into: Store, *, gpu_first: bool
) -> None:
    built, emulated, gpu = machine("built"), machine("emulated"), machine("gpu")
    for project in (built, emulated, gpu):
        project.build()
    built.audit()
    emulated.check(tested=Tested.EMULATED)
    gpu.check(tested=Tested.MI300X)
    checks = [check_only(emulated), check_only(gpu)]
    merge(into, built.store.root, *(reversed(checks) if gpu_first else checks))
    record = into.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    assert record.tested is Tested.MI300X


@pytest.mark.parametrize("emulated", [Tested.EMULATED, Tested.UNTESTED])
def test_a_gpu_s_record_counts_beside_what_the_emulator_says(machine: Machine, into: Store, emulated: Tested) -> None:
    """Also where it says that it could not run the unit: that it was asked is what counts."""
    built, hosted, gpu = machine("built"), machine("hosted"), machine("gpu")
    for project in (built, hosted, gpu):
        project.build()
    built.audit()
    hosted.check(tested=emulated)
    gpu.check(tested=Tested.MI300X)
    assert merge(into, built.store.root, emulated=[check_only(hosted)], checks=[check_only(gpu)]) == []
    record = into.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    assert record.tested is Tested.MI300X


@pytest.mark.parametrize("said", ["nothing", "of a GPU", "of another artifact"])
def test_a_gpu_s_record_without_that_of_the_emulator_is_refused(machine: Machine, into: Store, said: str) -> None:
    built, hosted, gpu = machine("built"), machine("hosted"), machine("gpu")
    for project in (built, gpu):
        project.build()
    built.audit()
    gpu.check(tested=Tested.MI300X)
    if said == "of another artifact":
        build_other_bytes(hosted)
        hosted.check()
    elif said == "of a GPU":
        hosted.build()
        hosted.check(tested=Tested.OTHER_GPU)
    with pytest.raises(InputError, match="no machine that checks on the emulator says anything of it") as refused:
        merge(into, built.store.root, emulated=[hosted.store.root], checks=[check_only(gpu)])
    assert refused.value.where == UNIT


@pytest.mark.parametrize("claimed", [Tested.EMULATED, Tested.UNTESTED])
def test_a_machine_with_a_gpu_cannot_say_what_the_emulator_found(
    machine: Machine, into: Store, claimed: Tested
) -> None:
    """Its record would outweigh the honest one, which says why the emulator could not run the unit."""
    built, hosted, gpu = machine("built"), machine("hosted"), machine("gpu")
    for project in (built, hosted, gpu):
        project.build()
    built.audit()
    hosted.check(tested=Tested.UNTESTED)
    gpu.check(tested=claimed)
    for emulated, kept in (([], False), ([check_only(hosted)], True)):
        (said,) = merge(into, built.store.root, emulated=emulated, checks=[gpu.store.root])
        assert f"its record does not count: it says {claimed}, and is of no GPU" in said
        record = into.read_record(UNIT, CheckRecord)
        assert isinstance(record, CheckRecord) is kept
    assert isinstance(record, CheckRecord)
    assert record.tested is Tested.UNTESTED


def test_a_failure_is_the_gpu_s_though_it_says_that_it_is_the_emulator_s(machine: Machine, into: Store) -> None:
    built, hosted, gpu = machine("built"), machine("hosted"), machine("gpu")
    for project in (built, hosted, gpu):
        project.build()
    hosted.check()
    gpu.check(outcome=Outcome.FAILED, tested=Tested.EMULATED)
    assert merge(into, built.store.root, emulated=[check_only(hosted)], checks=[check_only(gpu)]) == []
    record = into.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    assert (record.outcome, record.tested) == (Outcome.FAILED, Tested.OTHER_GPU)


def test_a_failure_on_the_emulator_is_kept_before_what_a_gpu_says(machine: Machine, into: Store) -> None:
    built, hosted, gpu = machine("built"), machine("hosted"), machine("gpu")
    for project in (built, hosted, gpu):
        project.build()
    hosted.check(outcome=Outcome.FAILED)
    gpu.check(tested=Tested.MI300X)
    merge(into, built.store.root, emulated=[check_only(hosted)], checks=[check_only(gpu)])
    record = into.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    assert (record.outcome, record.tested) == (Outcome.FAILED, Tested.EMULATED)


def test_a_failed_check_is_kept_before_a_better_one_that_passed(machine: Machine, into: Store) -> None:
    built, gpu = machine("built"), machine("gpu")
    built.build()
    built.audit()
    built.check(outcome=Outcome.FAILED, tested=Tested.EMULATED)
    gpu.build()
    gpu.check(tested=Tested.MI300X)
    merge(into, built.store.root, check_only(gpu))
    record = into.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    assert record.outcome is Outcome.FAILED


def test_a_check_of_another_artifact_does_not_count_and_is_said(machine: Machine, into: Store) -> None:
    built, other = machine("built"), machine("other")
    built.build()
    other.build(SECOND)
    other.store.unit_folder(SECOND).rename(other.store.unit_folder(UNIT))
    other.check()
    notices = merge(into, built.store.root, check_only(other))
    assert any("its record does not count" in notice for notice in notices), notices
    assert not isinstance(into.read_record(UNIT, CheckRecord), CheckRecord)


def test_of_a_machine_that_only_checks_no_build_and_no_audit_is_taken(machine: Machine, into: Store) -> None:
    failed, unaudited, gpu = machine("failed"), machine("unaudited"), machine("gpu")
    failed.build(outcome=Outcome.FAILED, error="gemm.hip:3:1: error: no")
    unaudited.build(SECOND)
    for unit in (UNIT, SECOND):
        gpu.build(unit)
        gpu.audit(unit)
        gpu.check(unit, tested=Tested.MI300X)
    assert merge(into, failed.store.root, unaudited.store.root, checks=[gpu.store.root]) == []
    assert into.payload_digest(UNIT) is None
    build = into.read_record(UNIT, BuildRecord)
    assert isinstance(build, BuildRecord)
    assert build.outcome is Outcome.FAILED
    assert not isinstance(into.read_record(SECOND, AuditRecord), AuditRecord)
    check = into.read_record(SECOND, CheckRecord)
    assert isinstance(check, CheckRecord)
    assert check.tested is Tested.MI300X


def test_another_artifact_beside_a_check_neither_counts_nor_stops_the_release(machine: Machine, into: Store) -> None:
    built, gpu = machine("built"), machine("gpu")
    built.go_through()
    build_other_bytes(gpu)
    gpu.check()
    notices = merge(into, built.store.root, checks=[gpu.store.root])
    assert any("its record does not count" in notice for notice in notices), notices
    assert into.payload_digest(UNIT) == built.store.payload_digest(UNIT)


def test_a_failed_build_is_brought_along_and_a_good_one_wins(machine: Machine, into: Store) -> None:
    bad, good = machine("bad"), machine("good")
    bad.build(outcome=Outcome.FAILED, error="gemm.hip:3:1: error: no")
    merge(into, bad.store.root)
    record = into.read_record(UNIT, BuildRecord)
    assert isinstance(record, BuildRecord)
    assert record.outcome is Outcome.FAILED
    good.build()
    merge(into, bad.store.root, good.store.root)
    assert into.payload_digest(UNIT) == good.store.payload_digest(UNIT)


def test_a_link_in_a_payload_is_refused(machine: Machine, into: Store, tmp_path: Path) -> None:
    part = machine("part")
    part.go_through()
    (tmp_path / "secret").write_bytes((part.store.payload(UNIT) / "__init__.py").read_bytes())
    (part.store.payload(UNIT) / "__init__.py").unlink()
    (part.store.payload(UNIT) / "__init__.py").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="this is a link"):
        merge(into, part.store.root)
    assert into.payload_digest(UNIT) is None


def test_what_a_machine_that_only_checks_leaves_is_neither_waited_for_nor_read_without_end(
    machine: Machine, into: Store
) -> None:
    built, gpu = machine("built"), machine("gpu")
    built.go_through()
    gpu.build()
    gpu.check(tested=Tested.MI300X)
    record = check_only(gpu) / "units" / UNIT / "check.json"
    os.mkfifo(gpu.root / "pipe")
    for target in (Path("/dev/zero"), gpu.root / "pipe"):
        record.unlink()
        record.symlink_to(target)
        (said,) = merge(into, built.store.root, checks=[gpu.store.root])
        assert "its record does not count: check.json does not count: this is not a regular file" in said


def test_a_pipe_in_a_payload_is_refused(machine: Machine, into: Store) -> None:
    part = machine("part")
    part.go_through()
    os.mkfifo(part.store.payload(UNIT) / "pipe")
    with pytest.raises(InputError, match="this is neither a file nor a folder"):
        merge(into, part.store.root)


def test_what_is_no_part_or_has_another_plan_is_one_message(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = machine("one"), machine("other")
    other.store.write_plan(replace(one.plan, warnings=("another",)))
    out = ["--out", str(tmp_path / "merged")]
    for parts, said in (
        ([str(tmp_path / "nowhere")], "this is no output folder"),
        ([str(tmp_path)], "no part has a plan"),
        ([str(one.store.root), str(other.store.root)], "its plan is not that of"),
        ([str(one.store.root), "--checks-from", str(tmp_path / "nowhere")], "this is no output folder"),
        ([str(one.store.root), "--emulated-from", str(other.store.root)], "its plan is not that of"),
        ([str(one.store.root), "--checks-from", str(other.store.root)], "its plan is not that of"),
    ):
        assert main(["collect", *out, "--from", *parts]) == ExitCode.INPUT
        printed = capsys.readouterr().err
        assert said in printed
        assert "Traceback" not in printed


def test_a_folder_without_any_unit_of_the_plan_is_said(machine: Machine, into: Store, tmp_path: Path) -> None:
    built, idle, empty = machine("built"), machine("idle"), tmp_path / "empty"
    built.go_through()
    empty.mkdir()
    events: list[Event] = []
    merge_parts(Parts(whole=[built.store.root, empty], checks=[idle.store.root]), into, events.append)
    said = [event for event in events if isinstance(event, Notice)]
    assert [event.where for event in said] == [str(empty), str(idle.store.root)]
    assert {event.message for event in said} == {"nothing is taken from it: it has no unit of the plan"}
    assert into.payload_digest(UNIT) == built.store.payload_digest(UNIT)


def test_texts_of_a_check_are_taken_as_printable_lines_of_limited_length(machine: Machine, into: Store) -> None:
    built, gpu = machine("built"), machine("gpu")
    built.build()
    built.audit()
    gpu.build()
    gpu.check(tested=Tested.MI300X)
    record = gpu.store.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    case = CaseResult(
        case="small", passed=True, max_abs_error=0.0, max_rel_error=0.0, seconds=1.0, detail="\u202e" * 5_000
    )
    gpu.store.write_record(replace(record, reason=f"x\n# Pwned \x1b[2J{'long ' * 100_000}", cases=(case,)))
    assert merge(into, built.store.root, checks=[check_only(gpu)]) == []
    taken = into.read_record(UNIT, CheckRecord)
    assert isinstance(taken, CheckRecord)
    assert taken.reason.startswith("x # Pwned \\x1b[2Jlong long ")
    for text in (taken.reason, taken.cases[0].detail):
        assert text.isprintable()
        assert len(text) == LONGEST
    before = (into.unit_folder(UNIT) / "check.json").read_bytes()
    merge(into, built.store.root, checks=[gpu.store.root])
    assert (into.unit_folder(UNIT) / "check.json").read_bytes() == before


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (lambda record: replace(record, cases=()), "it passed as mi300x without a case"),
        (lambda record: replace(record, gpu=None), "it is of mi300x, and no GPU is named"),
        (lambda record: replace(record, tested=Tested.EMULATED), "it is of emulated, and names a GPU"),
        (lambda record: replace(record, tested=Tested.UNTESTED), "it has cases, and nothing executed them"),
        (lambda record: replace(record, cases=(CASE, replace(CASE, passed=False))), "its case small did not"),
        (lambda record: replace(record, cases=(replace(CASE, findings=(FINDING,)),)), "its case small did not"),
    ],
)
def test_a_check_that_claims_more_than_it_shows_does_not_count_and_is_said(
    machine: Machine, into: Store, odd: Callable[[CheckRecord], CheckRecord], said: str
) -> None:
    built, gpu = machine("built"), machine("gpu")
    built.go_through()
    gpu.build()
    gpu.check(tested=Tested.MI300X)
    record = gpu.store.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    gpu.store.write_record(odd(record))
    (notice,) = merge(into, built.store.root, checks=[gpu.store.root])
    assert "its record does not count: check.json contradicts itself: " in notice
    assert said in notice
    kept = into.read_record(UNIT, CheckRecord)
    assert isinstance(kept, CheckRecord)
    assert kept.tested is Tested.EMULATED


def test_a_failure_counts_whatever_else_its_record_says(machine: Machine, into: Store) -> None:
    built, gpu = machine("built"), machine("gpu")
    built.go_through()
    gpu.build()
    gpu.check(tested=Tested.MI300X)
    record = gpu.store.read_record(UNIT, CheckRecord)
    assert isinstance(record, CheckRecord)
    gpu.store.write_record(replace(record, outcome=Outcome.FAILED, cases=(), gpu=None))
    assert merge(into, built.store.root, checks=[gpu.store.root]) == []
    kept = into.read_record(UNIT, CheckRecord)
    assert isinstance(kept, CheckRecord)
    assert kept.outcome is Outcome.FAILED
