"""The audit stage: built units -> records of what their binaries really are.

It reads the plan and the store alone, so it can run on another machine than the build, and executes nothing of a unit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import rocmatrix
from rocmatrix import digest, document
from rocmatrix.audit.facts import Expectation, outcome
from rocmatrix.audit.policy import Policy, load_policy
from rocmatrix.audit.rules import RULE_IDS, RULES_VERSION, judge
from rocmatrix.audit.summary import binary_facts, device_file_facts
from rocmatrix.audit.variant import READERS_VERSION, read_folder
from rocmatrix.digest import Digest
from rocmatrix.errors import ExitCode
from rocmatrix.events import Emit, Stage, State, UnitFinished, UnitStarted
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.extension import extension_name
from rocmatrix.plan.model import Abi, Plan, Unit, UnitId
from rocmatrix.records import AuditRecord, BuildRecord, Finding, Outcome, Severity
from rocmatrix.store import Absent, Store


def audit_units(
    units: Iterable[Unit],
    *,
    plan: Plan,
    source_root: Path,
    store: Store,
    emit: Emit,
    use_cache: bool = True,
) -> dict[UnitId, AuditRecord]:
    """Audit the payloads of units and write ``audit.json`` of each.

    A unit without a build to rely on is skipped, which is said in an event, and has no record in the result.

    Args:
        units: which ones.
        plan: the plan that they are part of.
        source_root: taken because every stage is; the sources say nothing about a binary.
        store: where payloads and records lie.
        emit: takes events.
        use_cache: whether an audit of the same payload by the same rules may be reused.

    Raises:
        InputError: a unit's ROCm is not known to compat.toml.
    """
    del plan, source_root
    records = {}
    for unit in units:
        build = store.read_record(unit.id, BuildRecord)
        if isinstance(build, Absent) or build.artifact_digest is None:
            why = build.reason if isinstance(build, Absent) else "its build failed"
            emit(UnitFinished(unit=unit.id, stage=Stage.AUDIT, state=State.SKIPPED, reason=why, seconds=0.0))
            continue
        records[unit.id] = _audit(unit, build, build.artifact_digest, store=store, emit=emit, use_cache=use_cache)
    return records


def _audit(
    unit: Unit, build: BuildRecord, artifact: Digest, *, store: Store, emit: Emit, use_cache: bool
) -> AuditRecord:
    """Return the earlier audit of a unit if it still holds, else audit it and write the record."""
    clock = time.monotonic()
    policy = load_policy()
    expected = expectation(unit, build)
    inputs = _inputs_digest(artifact, expected, policy)
    reason = "asked to do it again"
    if use_cache:
        earlier = store.read_record(unit.id, AuditRecord)
        if isinstance(earlier, AuditRecord) and earlier.inputs_digest == inputs:
            emit(_finished(earlier, State.REUSED, "same payload, same rules", time.monotonic() - clock))
            return earlier
        reason = earlier.reason if isinstance(earlier, Absent) else "the payload, the promise or the rules changed"
    emit(UnitStarted(unit=unit.id, stage=Stage.AUDIT, reason=reason))
    started = datetime.now(UTC)
    facts = read_folder(store.payload(unit.id), policy.machines)
    findings = judge(facts, expected, policy)
    record = AuditRecord(
        unit=unit.id,
        inputs_digest=inputs,
        artifact_digest=artifact,
        outcome=outcome(findings),
        rocmatrix=rocmatrix.__version__,
        started=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(time.monotonic() - clock, 3),
        rules=RULE_IDS,
        binaries=tuple(binary_facts(binary) for binary in facts.binaries),
        findings=findings,
        device_files=tuple(device_file_facts(file) for file in facts.device_files),
    )
    store.write_record(record)
    emit(_finished(record, State.DONE, _verdict(record), record.seconds))
    return record


def expectation(unit: Unit, build: BuildRecord) -> Expectation:
    """Return what the plan and the build promise of a unit's payload.

    Raises:
        InputError: the unit's ROCm is not known to compat.toml.
    """
    compiled = unit.abi is not Abi.NOARCH
    return Expectation(
        name=unit.kernel,
        variant=unit.variant,
        abi=unit.abi,
        archs=unit.archs,
        hip_soname=load_compat().hip_soname(unit.rocm) if compiled and unit.rocm else None,
        extension=extension_name(unit.kernel, build.uid) if compiled else None,
        files=build.files,
    )


def _inputs_digest(artifact: Digest, expected: Expectation, policy: Policy) -> Digest:
    """Return the digest of everything that decides what an audit says."""
    inputs = {
        "artifact": artifact,
        "expected": document.to_builtins(expected),
        "policy": policy.identity,
        "rules": RULES_VERSION,
        "readers": READERS_VERSION,
    }
    return digest.of_bytes(digest.canonical_json(inputs))


def _finished(record: AuditRecord, state: State, reason: str, seconds: float) -> UnitFinished:
    """Return the event for a record; a failed audit stays failed however often it is reused."""
    if record.outcome is Outcome.PASSED:
        return UnitFinished(unit=record.unit, stage=Stage.AUDIT, state=state, reason=reason, seconds=seconds)
    errors = [finding for finding in record.findings if finding.severity is Severity.ERROR]
    return UnitFinished(
        unit=record.unit,
        stage=Stage.AUDIT,
        state=State.FAILED,
        reason=_verdict(record),
        seconds=seconds,
        error="\n".join(_line(finding) for finding in errors),
        exit_code=ExitCode.AUDIT,
    )


def _verdict(record: AuditRecord) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in record.findings)
    warnings = len(record.findings) - errors
    parts = [
        f"{count} {word}{'s' * (count != 1)}" for count, word in ((errors, "error"), (warnings, "warning")) if count
    ]
    return ", ".join(parts) or f"all {len(record.rules)} rules hold"


def _line(finding: Finding) -> str:
    return f"{finding.where}: {finding.what} [{finding.rule}]\n  {finding.fix}"
