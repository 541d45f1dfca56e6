"""The stage: records and events, reuse while nothing changed, failures that stay failures.

A noarch unit needs no compiler, so these tests run anywhere; compiled units are audited in the system tests.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.audit import stage as stage_module
from rocmatrix.audit.rules import RULE_IDS
from rocmatrix.audit.stage import audit_units, expectation
from rocmatrix.digest import of_file
from rocmatrix.events import Event, Stage, State, UnitFinished, UnitStarted
from rocmatrix.plan.audit_choice import AUDIT_RULES, AuditChoice
from rocmatrix.plan.model import Abi, Plan, Unit, UnitId
from rocmatrix.records import AuditRecord, BuildRecord, Outcome, PayloadFile
from rocmatrix.store import Store
from tests.unit.conftest import build_record

NOARCH = UnitId("gemm.torch-rocm")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "dist")


@pytest.fixture
def unit(plan: Plan) -> Unit:
    compiled = plan.units[0]
    return replace(
        compiled, id=NOARCH, variant="torch-rocm", abi=Abi.NOARCH, torch=None, rocm=None, toolchain=None, archs=()
    )


def build(store: Store, content: str = "x = 1\n") -> BuildRecord:
    """Put a payload and its record into the store."""
    with store.scratch("test") as staged:
        (staged / "payload").mkdir()
        (staged / "payload" / "__init__.py").write_text(content)
        artifact = store.replace_payload(NOARCH, staged / "payload")
    path = store.payload(NOARCH) / "__init__.py"
    files = (PayloadFile(path="__init__.py", size=path.stat().st_size, digest=of_file(path)),)
    record = replace(build_record(artifact), unit=NOARCH, uid="", files=files)
    store.write_record(record)
    return record


def audit(store: Store, plan: Plan, unit: Unit, *, use_cache: bool = True) -> tuple[AuditRecord | None, list[Event]]:
    events: list[Event] = []
    root = Path("nowhere")
    records = audit_units([unit], plan=plan, source_root=root, store=store, emit=events.append, use_cache=use_cache)
    return records.get(unit.id), events


def test_an_audit_writes_a_record_that_the_store_hands_out(store: Store, plan: Plan, unit: Unit) -> None:
    built = build(store)
    record, _ = audit(store, plan, unit)
    assert record
    assert store.read_record(unit.id, AuditRecord) == record
    assert (record.outcome, record.findings, record.rules) == (Outcome.PASSED, (), RULE_IDS)
    assert record.artifact_digest == built.artifact_digest


def test_a_waiver_may_name_every_rule_and_no_other() -> None:
    assert RULE_IDS == AUDIT_RULES


def test_events_say_why_it_is_done_and_how_it_ended(store: Store, plan: Plan, unit: Unit) -> None:
    build(store)
    _, (started, finished) = audit(store, plan, unit)
    assert started == UnitStarted(unit=NOARCH, stage=Stage.AUDIT, reason="not done before")
    assert isinstance(finished, UnitFinished)
    assert (finished.state, finished.reason, finished.exit_code) == (State.DONE, f"all {len(RULE_IDS)} rules hold", 0)


def test_the_same_payload_is_not_audited_twice(store: Store, plan: Plan, unit: Unit) -> None:
    build(store)
    first, _ = audit(store, plan, unit)
    second, (finished,) = audit(store, plan, unit)
    assert second == first
    assert isinstance(finished, UnitFinished)
    assert finished.state is State.REUSED


def test_without_the_cache_it_is(store: Store, plan: Plan, unit: Unit) -> None:
    build(store)
    audit(store, plan, unit)
    _, events = audit(store, plan, unit, use_cache=False)
    assert [event.type for event in events] == ["unit-started", "unit-finished"]


def test_another_payload_is_audited_again(store: Store, plan: Plan, unit: Unit) -> None:
    build(store)
    first, _ = audit(store, plan, unit)
    build(store, "x = 2\n")
    second, (started, _) = audit(store, plan, unit)
    assert first
    assert second
    assert first.artifact_digest != second.artifact_digest
    assert isinstance(started, UnitStarted)
    assert started.reason == "the payload is not the one that audit.json speaks of"


def test_other_rules_or_another_promise_are_audited_again(
    store: Store, plan: Plan, unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(store)
    audit(store, plan, unit)
    failed, (started, _) = audit(store, plan, replace(unit, archs=("gfx942",)))
    assert failed
    assert failed.outcome is Outcome.FAILED
    assert isinstance(started, UnitStarted)
    assert started.reason == "the payload, the promise or the rules changed"
    audit(store, plan, unit)
    monkeypatch.setattr(stage_module, "RULES_VERSION", -1)
    _, events = audit(store, plan, unit)
    assert len(events) == 2


def test_a_failed_audit_stays_failed_when_it_is_reused(store: Store, plan: Plan, unit: Unit) -> None:
    build(store)
    promised = replace(unit, archs=("gfx942",))
    audit(store, plan, promised)
    record, (finished,) = audit(store, plan, promised)
    assert record
    assert record.outcome is Outcome.FAILED
    assert isinstance(finished, UnitFinished)
    assert (finished.state, finished.exit_code, finished.reason) == (State.FAILED, 5, "1 error")
    assert (finished.error or "").startswith(".: gfx942 was promised, but there is no offload bundle in it [archs]")


def test_a_unit_without_a_build_is_skipped_and_has_no_record(store: Store, plan: Plan, unit: Unit) -> None:
    record, (finished,) = audit(store, plan, unit)
    assert record is None
    assert isinstance(finished, UnitFinished)
    assert (finished.state, finished.reason) == (State.SKIPPED, "not done before")


def test_a_payload_that_was_changed_after_its_build_is_not_vouched_for(store: Store, plan: Plan, unit: Unit) -> None:
    build(store)
    (store.payload(NOARCH) / "__init__.py").write_text("x = 'tampered'\n")
    record, (finished,) = audit(store, plan, unit)
    assert record is None
    assert isinstance(finished, UnitFinished)
    assert finished.reason == "the payload is not the one that build.json speaks of"


def test_a_build_record_that_names_other_files_than_the_payload_has_fails(store: Store, plan: Plan, unit: Unit) -> None:
    record = build(store)
    store.write_record(replace(record, files=()))
    audited, _ = audit(store, plan, unit)
    assert audited
    assert [finding.what for finding in audited.findings] == ["build.json does not know the file __init__.py"]


def test_what_is_expected_of_a_compiled_unit(plan: Plan) -> None:
    expected = expectation(plan.units[0], build_record(None), AuditChoice())
    assert expected.extension == "_gemm_rocm_0123abcd"
    assert expected.hip_soname == "libamdhip64.so.7"
    assert expected.archs == ("gfx942",)
