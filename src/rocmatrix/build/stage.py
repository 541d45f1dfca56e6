"""The build stage: units -> payloads and records, several at a time, reusing what still holds.

A unit's log is written while it builds, its payload is moved into place when it is complete, and its record is written
last. A run that is killed at any instant therefore leaves units that are built, or that will be built by the next run.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rocmatrix import __version__
from rocmatrix.build.headers import SharedHeaders
from rocmatrix.build.identity import input_digests, inputs_digest, uid
from rocmatrix.build.payload import list_files
from rocmatrix.build.sources import Project, read_project
from rocmatrix.build.unit_build import Workshop, build_unit
from rocmatrix.build.verdict import judge
from rocmatrix.digest import Digest
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Engine
from rocmatrix.engine.limits import Limits
from rocmatrix.errors import BuildError, ExitCode, MissingRequirementError
from rocmatrix.events import Emit, Stage, State, UnitFinished, UnitStarted
from rocmatrix.plan.model import Abi, Plan, ToolchainId, Unit, UnitId
from rocmatrix.records import BuildRecord, Outcome, ToolchainIdentity
from rocmatrix.store import Store
from rocmatrix.toolchain.interface import Toolchain
from rocmatrix.toolchain.torch_headers import stable_pin


def build_units(
    units: Sequence[Unit],
    *,
    plan: Plan,
    source_root: Path,
    store: Store,
    engines: Mapping[ToolchainId, Engine],
    toolchains: Mapping[ToolchainId, Toolchain],
    emit: Emit,
    jobs: int,
    use_cache: bool,
    cache: Path,
    timeout: float = Limits().seconds,
) -> dict[UnitId, BuildRecord]:
    """Build units, or find that an earlier build holds; a unit that fails does not stop the others.

    Args:
        units: what to build, in the order in which it is taken up.
        plan: the plan that they are from.
        source_root: folder of matrix.yaml; the paths of kernels are relative to it.
        store: the output folder, held by this process.
        engines: where the commands of each toolchain run; the caller closes them.
        toolchains: by the ids that units name.
        emit: takes events, from several threads.
        jobs: units that are built at the same time.
        use_cache: whether an earlier build may be reused.
        cache: folder that runs share, for torch headers.
        timeout: seconds that the steps of one unit may take.

    Returns:
        The record of each unit, also of those that failed, in the order of ``units``.

    Raises:
        InputError: a project is not what it should be; nothing was built then.
        KeyboardInterrupt: the run was interrupted; what was running has been killed.
    """
    names = dict.fromkeys(unit.kernel for unit in units)
    projects = {name: read_project(source_root / plan.kernel(name).path) for name in names}
    side_by_side = max(1, min(jobs, len(units)))
    shared = Workshop(
        engine=HostEngine(),
        headers=SharedHeaders(stable_pin(), cache=cache, emit=emit),
        device_cache=store.work / "device",
        side_by_side=side_by_side,
        timeout=timeout,
        emit=emit,
    )
    tasks = [
        _Task(
            unit=unit,
            project=projects[unit.kernel],
            toolchain=toolchains[unit.toolchain] if unit.toolchain else None,
            workshop=replace(shared, engine=engines[unit.toolchain]) if unit.toolchain else shared,
        )
        for unit in units
    ]
    run = _Run(store=store, emit=emit, use_cache=use_cache, stopped=threading.Event(), rooms=_Rooms(tasks))
    return {record.unit: record for record in _run_all(tasks, run, side_by_side)}


@dataclass(frozen=True, kw_only=True)
class _Task:
    """A unit, the project it is of, what compiles it and where; no toolchain for noarch."""

    unit: Unit
    project: Project
    toolchain: Toolchain | None
    workshop: Workshop


class _Rooms:
    """Gives back what an engine keeps for the units of a kernel once the last of them is done."""

    def __init__(self, tasks: Sequence[_Task]) -> None:
        self._left = Counter((task.unit.toolchain, task.unit.kernel) for task in tasks)
        self._lock = threading.Lock()

    def leave(self, task: _Task) -> None:
        """Take note that a unit is done."""
        key = (task.unit.toolchain, task.unit.kernel)
        with self._lock:
            self._left[key] -= 1
            last = not self._left[key]
        if last:
            task.workshop.engine.release(task.unit.kernel)


@dataclass(frozen=True, kw_only=True)
class _Run:
    """What all tasks share."""

    store: Store
    emit: Emit
    use_cache: bool
    stopped: threading.Event
    rooms: _Rooms


class _StoppedError(Exception):
    """The run was interrupted while this unit was built."""


def _run_all(tasks: Sequence[_Task], run: _Run, side_by_side: int) -> list[BuildRecord]:
    """Return the records of all tasks; an exception of one, or an interrupt, kills what runs and is raised."""
    with ThreadPoolExecutor(max_workers=side_by_side, thread_name_prefix="build") as pool:
        futures = [pool.submit(_take_up, task, run) for task in tasks]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            broken = [future for future in futures if future.done() and future.exception()]
            for future in broken or futures:
                future.result()
        except BaseException:
            run.stopped.set()
            for engine in {id(task.workshop.engine): task.workshop.engine for task in tasks}.values():
                engine.interrupt()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _take_up(task: _Task, run: _Run) -> BuildRecord:
    try:
        return _do(task, run)
    finally:
        run.rooms.leave(task)


def _do(task: _Task, run: _Run) -> BuildRecord:
    """Build one unit or reuse its earlier build, and leave a record."""
    clock, unit, workshop = time.monotonic(), task.unit, task.workshop
    identity, headers, missing = _resolved(task)
    standard = workshop.headers.cxx_standard(unit) if task.toolchain else None
    inputs = input_digests(task.project, unit, toolchain=identity, headers=headers, cxx_standard=standard)
    verdict = judge(run.store.read_record(unit.id, BuildRecord), inputs, use_cache=run.use_cache)
    if verdict.reusable:
        _finish(run, verdict.reusable, State.REUSED, verdict.reason, time.monotonic() - clock)
        return verdict.reusable
    run.emit(UnitStarted(unit=unit.id, stage=Stage.BUILD, reason=verdict.reason))
    draft = BuildRecord(
        unit=unit.id,
        inputs_digest=inputs_digest(inputs),
        artifact_digest=None,
        outcome=Outcome.FAILED,
        rocmatrix=__version__,
        uid=uid(task.project),
        toolchain=identity,
        isolation=workshop.engine.isolation,
        headers=None,
        gates=(),
        started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=0.0,
        files=(),
        inputs=inputs,
    )
    record = _missing(draft, missing) if missing else _build(task, run, draft, verdict.reason)
    record = replace(record, seconds=round(time.monotonic() - clock, 3))
    if record.outcome is Outcome.FAILED:
        run.store.discard_payload(unit.id)
    run.store.write_record(record)
    state = State.DONE if record.outcome is Outcome.PASSED else State.FAILED
    _finish(run, record, state, verdict.reason, record.seconds)
    return record


def _build(task: _Task, run: _Run, draft: BuildRecord, reason: str) -> BuildRecord:
    """Build a unit and return its record; the payload is in its place if it passed."""
    log_path = run.store.build_log(task.unit.id)
    log_path.parent.mkdir(parents=True, exist_ok=True)
    toolchain = draft.toolchain.description if draft.toolchain else "no compiler"
    with run.store.scratch(task.unit.id) as scratch, log_path.open("w", encoding="utf-8") as log:
        print(f"{task.unit.id}, {reason}, {toolchain}, rocmatrix {draft.rocmatrix}", file=log, flush=True)
        try:
            built = build_unit(task.unit, task.project, task.toolchain, task.workshop, scratch=scratch, log=log)
            record = replace(draft, headers=built.headers, gates=built.gates, error=built.error)
            if built.payload is None:
                record = replace(record, error_code=ExitCode.BUILD)
            else:
                files, made = list_files(built.payload), _keep(run, task.unit.id, built.payload)
                record = replace(record, outcome=Outcome.PASSED, files=files, artifact_digest=made)
        except MissingRequirementError as err:
            record = _missing(draft, err)
        except OSError as err:
            record = _missing(draft, MissingRequirementError(f"{err.filename or 'a file'}: {err.strerror or err}"))
        if run.stopped.is_set():
            raise _StoppedError
        print(record.error or f"built {record.artifact_digest}", file=log)
    return record


def _keep(run: _Run, unit: UnitId, payload: Path) -> Digest:
    if run.stopped.is_set():
        raise _StoppedError
    return run.store.replace_payload(unit, payload)


def _resolved(
    task: _Task,
) -> tuple[ToolchainIdentity | None, Digest | None, MissingRequirementError | BuildError | None]:
    """Return who compiles and the digest of torch's headers, or what is missing to find that out.

    That may be a compiler, an engine, an image that can be made, or headers; those are not fetched for a unit that the
    toolchain objects to, of which the build speaks.
    """
    toolchain, unit, headers = task.toolchain, task.unit, task.workshop.headers
    if toolchain is None:
        return None, None, None
    known = headers.digest(unit) if unit.abi is Abi.STABLE else None
    identity = None
    try:
        identity = toolchain.identity()
        if known or toolchain.objection(unit, task.project.manifest):
            return identity, known, None
        return identity, headers.digest(unit), None
    except (MissingRequirementError, BuildError) as err:
        return identity, known, err


def _missing(draft: BuildRecord, err: MissingRequirementError | BuildError) -> BuildRecord:
    return replace(draft, error=str(err), error_code=err.exit_code)


def _finish(run: _Run, record: BuildRecord, state: State, reason: str, seconds: float) -> None:
    log = run.store.build_log(record.unit)
    event = UnitFinished(
        unit=record.unit,
        stage=Stage.BUILD,
        state=state,
        reason=(record.error or reason).partition("\n")[0] if state is State.FAILED else reason,
        seconds=seconds,
        log=str(log) if log.exists() else None,
        error=record.error,
        exit_code=record.error_code,
    )
    run.emit(event)
