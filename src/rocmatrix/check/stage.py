"""The stage ``check``: whether the numbers are right, and what computed them.

The numerical cases of a kernel are read and validated whether or not something can run them, so that a broken
``tests/cases.py`` is found on any machine. Without an executor a unit is ``untested``, plainly.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import rocmatrix
from rocmatrix import digest
from rocmatrix.cases import CaseDescription
from rocmatrix.check.cases_file import TESTS_FOLDER, cases_digest, read_cases
from rocmatrix.check.interface import Execution, Executor, UntestableError
from rocmatrix.digest import Digest
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import CheckError, ExitCode
from rocmatrix.events import Emit, Stage, State, UnitFinished, UnitStarted
from rocmatrix.plan.model import Plan, Unit, UnitId
from rocmatrix.records import CaseResult, CheckRecord, Outcome, Tested
from rocmatrix.store import Absent, Store

NO_CASES = "the kernel has no tests/cases.py, so there is nothing to compare its numbers with"
NO_EXECUTOR = "nothing in this version of rocmatrix executes gfx code"


@dataclass(frozen=True, kw_only=True)
class _Cases:
    """The cases of a kernel: their folder and digest (``None`` without a file), what they are or their error."""

    tests: Path
    digest: Digest | None
    descriptions: tuple[CaseDescription, ...] = ()
    error: CheckError | None = None


def check_units(  # noqa: D417 - units, plan, source_root, store and emit are those of every stage
    units: Sequence[Unit],
    *,
    plan: Plan,
    source_root: Path,
    store: Store,
    emit: Emit,
    use_cache: bool = True,
    executor: Executor | None = None,
) -> dict[UnitId, CheckRecord]:
    """Check units that have a payload, write ``check.json`` for each, and return the records.

    A unit without a payload is skipped and has no record.

    Args:
        use_cache: whether a record of the same payload, cases and executor may be used again.
        executor: what runs the cases; ``None`` leaves every unit untested.
    """
    cases = {kernel: _read_cases(plan, kernel, source_root, store) for kernel in {unit.kernel for unit in units}}
    records = {}
    for unit in units:
        record = _check_unit(unit, cases[unit.kernel], store, emit, executor, use_cache=use_cache)
        if record:
            records[unit.id] = record
    return records


def _read_cases(plan: Plan, kernel: str, source_root: Path, store: Store) -> _Cases:
    path = plan.kernel(kernel).path
    project = source_root / path
    tests, found = project / TESTS_FOLDER, cases_digest(project)
    if found is None:
        return _Cases(tests=tests, digest=None)
    with store.scratch("check") as scratch:
        try:
            read = read_cases(project, engine=HostEngine(), scratch=scratch, shown=path)
        except CheckError as err:
            return _Cases(tests=tests, digest=found, error=err)
    return _Cases(tests=tests, digest=found, descriptions=read)


def _check_unit(
    unit: Unit, cases: _Cases, store: Store, emit: Emit, executor: Executor | None, *, use_cache: bool
) -> CheckRecord | None:
    artifact = store.payload_digest(unit.id)
    if artifact is None:
        emit(_finished(unit, State.SKIPPED, "there is no payload", 0.0))
        return None
    inputs = _inputs_digest(artifact, cases, executor)
    earlier = store.read_record(unit.id, CheckRecord)
    if use_cache and not isinstance(earlier, Absent) and _holds(earlier, inputs):
        state = State.UNTESTED if earlier.tested is Tested.UNTESTED else State.REUSED
        emit(_finished(unit, state, earlier.reason, 0.0))
        return earlier
    emit(UnitStarted(unit=unit.id, stage=Stage.CHECK, reason="its numbers were not checked before"))
    record = _check(unit, cases, store.payload(unit.id), executor, artifact=artifact, inputs=inputs)
    store.write_record(record)
    emit(_event(unit, record, cases.error))
    return record


def _holds(earlier: CheckRecord, inputs: Digest) -> bool:
    """Say whether a record can be used again; a failure is always tried anew."""
    return earlier.inputs_digest == inputs and earlier.outcome is Outcome.PASSED


def _inputs_digest(artifact: Digest, cases: _Cases, executor: Executor | None) -> Digest:
    inputs = {
        "artifact": artifact,
        "cases": cases.digest,
        "executor": executor.identity if executor else None,
        "rocmatrix": rocmatrix.__version__,
    }
    return digest.of_bytes(digest.canonical_json(inputs))


def _check(
    unit: Unit, cases: _Cases, payload: Path, executor: Executor | None, *, artifact: Digest, inputs: Digest
) -> CheckRecord:
    started, clock = datetime.now(UTC), time.monotonic()
    verdict = _judge(unit, cases, payload, executor)
    return CheckRecord(
        unit=unit.id,
        inputs_digest=inputs,
        artifact_digest=artifact,
        outcome=verdict.outcome,
        rocmatrix=rocmatrix.__version__,
        started=started.isoformat(timespec="seconds").replace("+00:00", "Z"),
        seconds=round(time.monotonic() - clock, 3),
        tested=verdict.tested,
        reason=verdict.reason,
        cases=verdict.results,
        left_out=verdict.left_out,
    )


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    """What ``check.json`` says besides when and of what."""

    outcome: Outcome
    tested: Tested
    reason: str
    results: tuple[CaseResult, ...] = ()
    left_out: tuple[str, ...] = ()


def _judge(unit: Unit, cases: _Cases, payload: Path, executor: Executor | None) -> _Verdict:
    if cases.error:
        reason = f"{cases.error.where}: {cases.error.what}"
        return _Verdict(outcome=Outcome.FAILED, tested=Tested.UNTESTED, reason=reason)
    if cases.digest is None:
        return _Verdict(outcome=Outcome.PASSED, tested=Tested.UNTESTED, reason=NO_CASES)
    if executor is None:
        reason = f"{NO_EXECUTOR}; its {len(cases.descriptions)} numerical cases were read, not run"
        return _Verdict(outcome=Outcome.PASSED, tested=Tested.UNTESTED, reason=reason)
    try:
        return _judge_execution(executor.run(unit, payload, cases.tests, cases.descriptions))
    except UntestableError as err:
        return _Verdict(outcome=Outcome.PASSED, tested=Tested.UNTESTED, reason=str(err))
    except CheckError as err:
        return _Verdict(outcome=Outcome.FAILED, tested=Tested.UNTESTED, reason=str(err))


def _judge_execution(execution: Execution) -> _Verdict:
    wrong = [result for result in execution.results if not result.passed]
    reason = execution.device
    if wrong:
        told = f"{wrong[0].case}: {wrong[0].detail or 'outside of its tolerance'}"
        reason = f"{told}; {len(wrong)} of {len(execution.results)} cases failed on {reason}"
    return _Verdict(
        outcome=Outcome.FAILED if wrong else Outcome.PASSED,
        tested=execution.tested,
        reason=reason,
        results=execution.results,
        left_out=execution.left_out,
    )


def _event(unit: Unit, record: CheckRecord, error: CheckError | None) -> UnitFinished:
    if record.outcome is Outcome.FAILED:
        return _finished(unit, State.FAILED, record.reason, record.seconds, error=str(error or record.reason))
    state = State.UNTESTED if record.tested is Tested.UNTESTED else State.DONE
    return _finished(unit, state, record.reason, record.seconds)


def _finished(unit: Unit, state: State, reason: str, seconds: float, error: str | None = None) -> UnitFinished:
    return UnitFinished(
        unit=unit.id,
        stage=Stage.CHECK,
        state=state,
        reason=reason,
        seconds=seconds,
        error=error,
        exit_code=ExitCode.CHECK if state is State.FAILED else ExitCode.DONE,
    )
