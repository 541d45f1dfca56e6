"""The stages in order: what ``rocmatrix run`` does, and what each verb does of it.

Nothing here prints or decides how things look. A unit that failed in one stage is skipped by the next ones and the
others go on; the exit code of a run is the worst of its units' by the precedence of ``rocmatrix.errors``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from rocmatrix.audit.stage import audit_units
from rocmatrix.audit.torch_shelf import torch_reader
from rocmatrix.build.stage import build_units
from rocmatrix.check.options import CheckOptions, confirm
from rocmatrix.check.stage import check_units
from rocmatrix.collect.evidence import blame
from rocmatrix.collect.stage import collect_kernels
from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import ExitCode, InputError, worst
from rocmatrix.events import Emit, RunStarted, Stage, State, UnitFinished
from rocmatrix.machine.cache import cache_folder
from rocmatrix.plan.audit_renewal import with_choices_of
from rocmatrix.plan.model import Plan, Unit, UnitId
from rocmatrix.plan.selectors import select
from rocmatrix.project_listing import load_plan as load_plan  # noqa: PLC0414 - part of what a pipeline offers
from rocmatrix.project_listing import read_matrix, require_current_plan
from rocmatrix.records import AuditRecord, BuildRecord, CheckRecord, Coverage, Outcome
from rocmatrix.store import Absent, Store
from rocmatrix.toolchain.engines import EngineChoice, engines_of, recipes_of
from rocmatrix.toolchain.registry import make_toolchain


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a run is asked to do.

    Attributes:
        matrix: path of matrix.yaml; kernel paths in it are relative to its folder.
        out: output folder.
        only: shell patterns over unit ids; empty means all.
        toolchain: recipe that overrides the choice in matrix.yaml; ``None`` keeps it.
        engine: where toolchains run, within which limits.
        jobs: units that are built at the same time; at least 1.
        use_cache: whether earlier results may be reused.
        check: what executes the kernels, and on which inputs.
        torches: torches that the audit of per-torch units asks: wheels, folders, or versions that pip finds.
    """

    matrix: Path
    out: Path
    only: tuple[str, ...] = ()
    toolchain: str | None = None
    engine: EngineChoice = field(default_factory=EngineChoice)
    jobs: int = 1
    use_cache: bool = True
    check: CheckOptions = field(default_factory=CheckOptions)
    torches: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run came to.

    Attributes:
        units: the selected units, in the plan's order.
        builds: records by unit; likewise ``audits`` and ``checks``; a unit that a stage skipped has none.
        coverage: by kernel; empty if nothing was collected.
        missing: of each unit that is not collected, what the stage that is to blame ends with.
        altered: units whose payload is there but is not the one that their build record speaks of.
        lacking: units that could not be checked for what this machine lacks.
        exit_code: what the process returns.
        seconds: wall time.
    """

    plan: Plan
    units: tuple[Unit, ...]
    builds: dict[UnitId, BuildRecord] = field(default_factory=dict)
    audits: dict[UnitId, AuditRecord] = field(default_factory=dict)
    checks: dict[UnitId, CheckRecord] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    missing: tuple[ExitCode, ...] = ()
    altered: frozenset[UnitId] = frozenset()
    lacking: frozenset[UnitId] = frozenset()
    exit_code: ExitCode = ExitCode.DONE
    seconds: float = 0.0


def plan(options: Options, emit: Emit) -> RunResult:
    """Plan, and write ``plan.json``."""
    return _in_store(options, emit, replan=True)


def build(options: Options, emit: Emit) -> RunResult:
    """Plan and build the selected units."""
    return _in_store(options, emit, _build, replan=True)


def audit(options: Options, emit: Emit) -> RunResult:
    """Audit what was built, by the plan in the output folder and the waivers and sizes of matrix.yaml as it is now."""
    return _in_store(options, emit, _audit_anew)


def check(options: Options, emit: Emit) -> RunResult:
    """Check the numbers of the selected units that were built, by the plan that lies in the output folder.

    Raises:
        InputError: among others, matrix.yaml is not there, or a payload is damaged or lacks code for its GPU.
    """
    return _in_store(options, emit, _check_alone)


def collect(options: Options, emit: Emit) -> RunResult:
    """Collect what was built and audited, by the plan in the output folder, if it is the one of matrix.yaml."""
    return _in_store(options, emit, _collect_planned)


def run(options: Options, emit: Emit) -> RunResult:
    """Do the main job: plan, build, audit, check, collect."""
    return _in_store(options, emit, _build, _audit, _check, _collect, replan=True)


@dataclass(frozen=True, kw_only=True)
class _Context:
    """What every step of a run needs."""

    options: Options
    store: Store
    emit: Emit

    @property
    def source_root(self) -> Path:
        return self.options.matrix.absolute().parent


_Step = Callable[[_Context, RunResult], RunResult]


def _in_store(options: Options, emit: Emit, *steps: _Step, replan: bool = False) -> RunResult:
    """Take the output folder for this process, get the plan, and let each step add to the result.

    With ``replan`` the plan is made from matrix.yaml and written; else it is the one that lies in the output folder.
    """
    started = time.monotonic()
    if _check in steps or _check_alone in steps:
        confirm(options.check)
    context = _Context(options=options, store=Store(options.out), emit=emit)
    made = load_plan(options.matrix, toolchain=options.toolchain) if replan else None
    with context.store.exclusive():
        if made:
            context.store.write_plan(made)
        current = made or context.store.read_plan()
        result = RunResult(plan=current, units=select(current, options.only))
        emit(RunStarted(units=tuple(unit.id for unit in result.units), stages=tuple(_STAGES[step] for step in steps)))
        for step in steps:
            result = step(context, result)
    code = _exit_code(result, everything=not options.only)
    return replace(result, exit_code=code, seconds=time.monotonic() - started)


def _build(context: _Context, result: RunResult) -> RunResult:
    options, root, cache = context.options, context.source_root, cache_folder()
    wanted = {unit.toolchain for unit in result.units}
    specs = [spec for spec in result.plan.toolchains if spec.id in wanted]
    recipes = recipes_of(specs, options.engine, root=root)
    with engines_of(specs, recipes, options.engine, context.emit) as engines:
        toolchains = {
            spec.id: make_toolchain(spec, engine=engines[spec.id], cache=cache, recipe=recipes.get(spec.id))
            for spec in specs
        }
        builds = build_units(
            result.units,
            plan=result.plan,
            source_root=root,
            store=context.store,
            engines=engines,
            toolchains=toolchains,
            emit=context.emit,
            jobs=options.jobs,
            use_cache=options.use_cache,
            cache=cache,
            timeout=options.engine.limits.seconds,
        )
    return replace(result, builds=builds)


def _audit(context: _Context, result: RunResult) -> RunResult:
    ready, result = _built(context, result, Stage.AUDIT)
    audits = audit_units(
        ready,
        plan=result.plan,
        source_root=context.source_root,
        store=context.store,
        emit=context.emit,
        use_cache=context.options.use_cache,
        torch=torch_reader(context.options.torches, context.emit),
    )
    return replace(result, audits=audits)


def _audit_anew(context: _Context, result: RunResult) -> RunResult:
    matrix, where = read_matrix(context.options.matrix), str(context.store.plan_path)
    return _audit(context, replace(result, plan=with_choices_of(result.plan, matrix, where=where)))


def _check_alone(context: _Context, result: RunResult) -> RunResult:
    read_matrix(context.options.matrix)  # the cases lie beside it: one that is not there is a mistyped path
    return _check(context, result, strict=True)


def _check(context: _Context, result: RunResult, *, strict: bool = False) -> RunResult:
    from rocmatrix.check.executors import make_executor  # noqa: PLC0415 - heavy, and only a check needs it
    from rocmatrix.check.on_gpu.choice import Wanted  # noqa: PLC0415 - as above

    ready, result = _built(context, result, Stage.CHECK)
    wanted = Wanted(plan=result.plan, units=ready, images=lambda: read_matrix(context.options.matrix).check_images)
    executor = make_executor(
        context.options.check, wanted, engine=HostEngine(), cache=cache_folder(), emit=context.emit
    )
    checked = check_units(
        ready,
        plan=result.plan,
        source_root=context.source_root,
        store=context.store,
        emit=context.emit,
        use_cache=context.options.use_cache,
        executor=executor,
        strict=strict,
    )
    return replace(result, checks=checked.records, lacking=frozenset(checked.lacking))


def _collect(context: _Context, result: RunResult) -> RunResult:
    coverage = collect_kernels(result.plan, source_root=context.source_root, store=context.store, emit=context.emit)
    collected = {variant.unit for each in coverage.values() for variant in each.variants}
    missing = blame(context.store, (unit for unit in result.plan.units if unit.id not in collected))
    return replace(result, coverage=coverage, missing=missing)


def _collect_planned(context: _Context, result: RunResult) -> RunResult:
    require_current_plan(result.plan, context.options.matrix, where=str(context.store.plan_path))
    return _collect(context, result)


_STAGES: dict[_Step, Stage] = {_build: Stage.BUILD, _audit: Stage.AUDIT, _check: Stage.CHECK, _collect: Stage.COLLECT}
_STAGES |= {_audit_anew: Stage.AUDIT, _check_alone: Stage.CHECK, _collect_planned: Stage.COLLECT}


def _built(context: _Context, result: RunResult, stage: Stage) -> tuple[tuple[Unit, ...], RunResult]:
    """Return the units that have a payload to work on, and the result with those that somebody altered.

    Of units without a payload it is said that the stage skips them. An altered payload is a failure: nobody knows what
    it is.

    Raises:
        InputError: this run built nothing, and no earlier one did.
    """
    ready, altered = [], set(result.altered)
    for unit in result.units:
        record = context.store.read_record(unit.id, BuildRecord)
        if isinstance(record, BuildRecord) and record.outcome is Outcome.PASSED:
            ready.append(unit)
            continue
        why = record.reason if isinstance(record, Absent) else "its build failed"
        failed = isinstance(record, Absent) and context.store.payload_digest(unit.id) is not None
        if failed:
            altered.add(unit.id)
        context.emit(
            UnitFinished(
                unit=unit.id,
                stage=stage,
                state=State.FAILED if failed else State.SKIPPED,
                reason=why,
                seconds=0.0,
                error=f"{why}: build the unit again" if failed else None,
                exit_code=ExitCode.AUDIT if failed else 0,
            )
        )
    if not (ready or altered or result.builds):
        raise InputError(
            "none of the units is built", where=str(context.store.root), fix="Run `rocmatrix build` first."
        )
    return tuple(ready), replace(result, altered=frozenset(altered))


def _exit_code(result: RunResult, *, everything: bool) -> ExitCode:
    """Return what the run ends with.

    With ``everything`` no unit was left out on purpose, so that an incomplete set is a failure of its own.
    """
    codes = [ExitCode(record.error_code) for record in result.builds.values()]
    codes += [ExitCode.AUDIT for record in result.audits.values() if record.outcome is Outcome.FAILED]
    codes += [ExitCode.CHECK for record in result.checks.values() if record.outcome is Outcome.FAILED]
    codes += [ExitCode.AUDIT for _ in result.altered] + [ExitCode.ENVIRONMENT for _ in result.lacking]
    code = worst(codes)
    incomplete = any(not coverage.complete for coverage in result.coverage.values())
    return (worst(result.missing) or ExitCode.BUILD) if incomplete and everything and code is ExitCode.DONE else code
