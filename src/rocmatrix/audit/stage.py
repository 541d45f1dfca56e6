"""The audit stage: built units -> records of what their binaries really are.

It reads the plan and the store alone, so it can run on another machine than the build, and executes nothing of a unit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import rocmatrix
from rocmatrix import digest, document
from rocmatrix.audit.facts import Expectation, outcome
from rocmatrix.audit.policy import Policy, load_policy
from rocmatrix.audit.reading import read_everything
from rocmatrix.audit.rules import RULE_IDS, RULES_VERSION, judge_with_waivers
from rocmatrix.audit.summary import binary_facts, device_file_facts
from rocmatrix.audit.torch_reader import NoTorch, TorchReader
from rocmatrix.audit.variant import READERS_VERSION
from rocmatrix.digest import Digest
from rocmatrix.errors import ExitCode
from rocmatrix.events import Emit, Stage, State, UnitFinished, UnitStarted
from rocmatrix.plan.audit_choice import AuditChoice
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
    torch: TorchReader | None = None,
) -> dict[UnitId, AuditRecord]:
    """Audit the payloads of units and write ``audit.json`` of each.

    A unit without a build to rely on is skipped, which is said in an event, and has no record in the result.

    Args:
        units: which ones.
        plan: the plan that they are part of, with what their authors ask of the audit.
        source_root: taken because every stage is; the sources say nothing about a binary.
        store: where payloads and records lie.
        emit: takes events.
        use_cache: whether an audit of the same payload by the same rules may be reused.
        torch: asks the torches that per-torch units are meant for; ``None`` if none can be asked.

    Raises:
        InputError: a unit's ROCm is not known to compat.toml.
    """
    del source_root
    records = {}
    for unit in units:
        build = store.read_record(unit.id, BuildRecord)
        if isinstance(build, Absent) or build.artifact_digest is None:
            why = build.reason if isinstance(build, Absent) else "its build failed"
            emit(UnitFinished(unit=unit.id, stage=Stage.AUDIT, state=State.SKIPPED, reason=why, seconds=0.0))
            continue
        expected = expectation(unit, build, plan.kernel(unit.kernel).audit)
        task = _Task(unit=unit.id, artifact=build.artifact_digest, expected=expected, torch=torch or NoTorch())
        records[unit.id] = _audit(task, store=store, emit=emit, use_cache=use_cache)
    return records


@dataclass(frozen=True, kw_only=True)
class _Task:
    """One payload to audit."""

    unit: UnitId
    artifact: Digest
    expected: Expectation
    torch: TorchReader


def _audit(task: _Task, *, store: Store, emit: Emit, use_cache: bool) -> AuditRecord:
    """Return the earlier audit of a unit if it still holds, else audit it and write the record."""
    clock = time.monotonic()
    policy = load_policy()
    inputs = _inputs_digest(task, policy)
    reason = "asked to do it again"
    if use_cache:
        earlier = store.read_record(task.unit, AuditRecord)
        if isinstance(earlier, AuditRecord) and earlier.inputs_digest == inputs:
            emit(_finished(earlier, State.REUSED, "same payload, same rules", time.monotonic() - clock))
            return earlier
        reason = earlier.reason if isinstance(earlier, Absent) else "the payload, the promise or the rules changed"
    emit(UnitStarted(unit=task.unit, stage=Stage.AUDIT, reason=reason))
    started = datetime.now(UTC)
    facts = read_everything(store.payload(task.unit), policy)
    facts = replace(facts, torch=task.torch.answer(facts, task.expected))
    judged = judge_with_waivers(facts, task.expected, policy)
    record = AuditRecord(
        unit=task.unit,
        inputs_digest=inputs,
        artifact_digest=task.artifact,
        outcome=outcome(judged.findings),
        rocmatrix=rocmatrix.__version__,
        started=started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(time.monotonic() - clock, 3),
        rules=RULE_IDS,
        binaries=tuple(binary_facts(binary) for binary in facts.binaries),
        findings=judged.findings,
        waived=judged.waived,
        device_files=tuple(device_file_facts(file) for file in facts.device_files),
    )
    store.write_record(record)
    emit(_finished(record, State.DONE, _verdict(record), record.seconds))
    return record


def expectation(unit: Unit, build: BuildRecord, choice: AuditChoice) -> Expectation:
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
        torch=unit.torch,
        rocm=unit.rocm,
        choice=choice,
    )


def _inputs_digest(task: _Task, policy: Policy) -> Digest:
    """Return the digest of everything that decides what an audit says."""
    inputs = {
        "artifact": task.artifact,
        "expected": document.to_builtins(task.expected),
        "torch": task.torch.identity,
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
    counts = [(sum(finding.severity is severity for finding in record.findings), severity) for severity in Severity]
    parts = [f"{count} {severity.value}{'s' * (count != 1)}" for count, severity in counts if count]
    parts += [f"{len(record.waived)} waived"] if record.waived else []
    return ", ".join(parts) or f"all {len(record.rules)} rules hold"


def _line(finding: Finding) -> str:
    return f"{finding.where}: {finding.what} [{finding.rule}]\n  {finding.fix}"
