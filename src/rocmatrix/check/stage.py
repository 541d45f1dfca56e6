"""The stage ``check``: whether the numbers are right, and what computed them.

The numerical cases of a kernel are read and validated whether or not something can run them, so that a broken
``tests/cases.py`` is found on any machine. Without an executor a unit is ``untested``, plainly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import rocmatrix
from rocmatrix import digest
from rocmatrix.cases import CaseDescription
from rocmatrix.check.cases_file import TESTS_FOLDER, cases_digest, read_cases
from rocmatrix.check.interface import Execution, Executor, Progress, UntestableError
from rocmatrix.digest import Digest
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import CheckError, ExitCode, InputError, MissingRequirementError
from rocmatrix.events import Emit, Stage, State, UnitFinished, UnitProgress, UnitStarted
from rocmatrix.plan.model import Plan, Unit, UnitId
from rocmatrix.records import CaseResult, CheckRecord, GpuRun, Outcome, Tested
from rocmatrix.store import Absent, Store

NO_CASES = "the kernel has no tests/cases.py, so there is nothing to compare its numbers with"
NO_EXECUTOR = "nothing in this version of rocmatrix executes gfx code"

_T = TypeVar("_T")
_SIDE_BY_SIDE = 8
"""Units that are checked at the same time; the executor decides how many of their processes are."""


@dataclass(frozen=True, kw_only=True)
class _Cases:
    """The cases of a kernel: their folder and digest (``None`` without a file), what they are or their error.

    ``strict``: whether a payload that is not what its unit promises is the user's to mend, and ends the check.
    """

    tests: Path
    digest: Digest | None
    descriptions: tuple[CaseDescription, ...] = ()
    error: CheckError | None = None
    strict: bool = False


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What checking units came to: their records, and the units that could not be checked for what they lack here."""

    records: dict[UnitId, CheckRecord]
    lacking: tuple[UnitId, ...] = ()


def check_units(  # noqa: D417 - units, plan, source_root, store and emit are those of every stage
    units: Sequence[Unit],
    *,
    plan: Plan,
    source_root: Path,
    store: Store,
    emit: Emit,
    use_cache: bool = True,
    executor: Executor | None = None,
    strict: bool = False,
) -> Checked:
    """Check units that have a payload side by side, and write ``check.json`` for each.

    A unit without a payload is skipped and has no record, and none has one that lacks something, the right image for
    example; the others are checked all the same.

    Args:
        use_cache: whether a record of the same payload, cases and executor may be used again.
        executor: what runs the cases; ``None`` leaves every unit untested.
        strict: whether a payload that is damaged, or not what its unit promises, ends the check instead of failing it.

    Raises:
        InputError: with ``strict``, what is wrong with such a payload.
    """
    kernels = {unit.kernel for unit in units}
    cases = {name: replace(_read_cases(plan, name, source_root, store), strict=strict) for name in kernels}

    def check(unit: Unit) -> CheckRecord | MissingRequirementError | None:
        try:
            return _check_unit(unit, cases[unit.kernel], store, emit, executor, use_cache=use_cache)
        except MissingRequirementError as err:
            emit(_lacking(unit, err))
            return err

    found = tuple(zip(units, _side_by_side(units, check, executor), strict=True))
    return Checked(
        records={unit.id: record for unit, record in found if isinstance(record, CheckRecord)},
        lacking=tuple(unit.id for unit, lack in found if isinstance(lack, MissingRequirementError)),
    )


def _side_by_side(units: Sequence[Unit], check: Callable[[Unit], _T], executor: Executor | None) -> list[_T]:
    """Return what a function makes of each unit; an exception of one, or an interrupt, ends the others."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="check") as pool:
        futures = [pool.submit(check, unit) for unit in units]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except BaseException:
            if executor:
                executor.interrupt()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        return [future.result() for future in futures]


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
    inputs = _inputs_digest(artifact, cases, executor.identity(unit) if executor else None)
    earlier = store.read_record(unit.id, CheckRecord)
    if use_cache and not isinstance(earlier, Absent) and _holds(earlier, inputs):
        state = State.UNTESTED if earlier.tested is Tested.UNTESTED else State.REUSED
        emit(_finished(unit, state, earlier.reason, 0.0))
        return earlier
    emit(UnitStarted(unit=unit.id, stage=Stage.CHECK, reason="its numbers were not checked before"))

    def progress(done: int, total: int, step: str) -> None:
        emit(UnitProgress(unit=unit.id, stage=Stage.CHECK, done=done, total=total, step=step))

    clock, started = time.monotonic(), datetime.now(UTC)
    verdict = _judge(unit, cases, store.payload(unit.id), executor, progress)
    record = CheckRecord(
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
        device=verdict.device,
        seed=verdict.seed,
        detectors=verdict.detectors,
        gpu=verdict.gpu,
    )
    store.write_record(record)
    emit(_event(unit, record, cases.error))
    return record


def _holds(earlier: CheckRecord, inputs: Digest) -> bool:
    """Say whether a record can be used again; a failure is always tried anew."""
    return earlier.inputs_digest == inputs and earlier.outcome is Outcome.PASSED


def _inputs_digest(artifact: Digest, cases: _Cases, executor: str | None) -> Digest:
    inputs = {
        "artifact": artifact,
        "cases": cases.digest,
        "executor": executor,
        "rocmatrix": rocmatrix.__version__,
    }
    return digest.of_bytes(digest.canonical_json(inputs))


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    """What ``check.json`` says besides when and of what."""

    outcome: Outcome
    tested: Tested
    reason: str
    results: tuple[CaseResult, ...] = ()
    left_out: tuple[str, ...] = ()
    device: str = ""
    seed: int = 0
    detectors: tuple[str, ...] = ()
    gpu: GpuRun | None = None


def _judge(unit: Unit, cases: _Cases, payload: Path, executor: Executor | None, progress: Progress) -> _Verdict:
    """Run the cases, where there are any and something can run them.

    Raises:
        InputError: of a strict check, what is wrong with the payload.
    """
    if executor is None or cases.error or cases.digest is None:
        return _untested(cases)
    try:
        return _judge_execution(executor.run(unit, payload, cases.tests, cases.descriptions, progress=progress))
    except UntestableError as err:
        return _Verdict(outcome=Outcome.PASSED, tested=Tested.UNTESTED, reason=str(err))
    except (CheckError, InputError) as err:
        if cases.strict and isinstance(err, InputError):
            raise
        return _Verdict(outcome=Outcome.FAILED, tested=Tested.UNTESTED, reason=str(err))


def _untested(cases: _Cases) -> _Verdict:
    """Return the verdict where there is nothing to run, or nothing that runs it."""
    if cases.error:
        reason = f"{cases.error.where}: {cases.error.what}"
        return _Verdict(outcome=Outcome.FAILED, tested=Tested.UNTESTED, reason=reason)
    if cases.digest is None:
        return _Verdict(outcome=Outcome.PASSED, tested=Tested.UNTESTED, reason=NO_CASES)
    reason = f"{NO_EXECUTOR}; its {len(cases.descriptions)} numerical cases were read, not run"
    return _Verdict(outcome=Outcome.PASSED, tested=Tested.UNTESTED, reason=reason)


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
        device=execution.profile,
        seed=execution.seed,
        detectors=execution.detectors,
        gpu=execution.gpu,
    )


def _event(unit: Unit, record: CheckRecord, error: CheckError | None) -> UnitFinished:
    if record.outcome is Outcome.FAILED:
        return _finished(unit, State.FAILED, record.reason, record.seconds, error=str(error or record.reason))
    state = State.UNTESTED if record.tested is Tested.UNTESTED else State.DONE
    return _finished(unit, state, record.reason, record.seconds)


def _lacking(unit: Unit, err: MissingRequirementError) -> UnitFinished:
    made = _finished(unit, State.FAILED, err.what, 0.0, error=str(err))
    return replace(made, exit_code=err.exit_code)


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
