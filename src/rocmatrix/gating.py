"""Whether a workflow really did what its plan promised: pure, over the results of its jobs.

GitHub calls a run green when no job failed. A job that was skipped, a matrix that was empty or too large to be expanded
(256 jobs; then no job of it appears at all) are no failures to it, so that a job which only looks for failures passes.
Here every job has one result that is right, and all others are objections. Source: GitHub's documentation of
``jobs.<job_id>.needs`` and the ``needs`` context, whose results are success, failure, cancelled and skipped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rocmatrix.errors import ExitCode

PLAN, BUILD, CHECK, DIGESTS, CHECK_GPU, COLLECT = "plan", "build", "check", "digests", "check-gpu", "collect"
RELEASE = "release"
JOBS = (PLAN, BUILD, CHECK, DIGESTS, CHECK_GPU, COLLECT, RELEASE)
"""Names of the jobs of the reusable workflow, in order."""

_NUMBER = re.compile(r"[0-9]{1,9}")

PLANNED, COLLECTED = "units", "units"
"""Outputs of ``plan`` and ``collect`` that say how many units were planned, and how many can be published."""


class Mode(StrEnum):
    """How far a workflow goes."""

    PLAN = "plan"
    BUILD = "build"
    CHECK = "check"
    RELEASE = "release"


class JobState(StrEnum):
    """How a job ended, in GitHub's words."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job of the ``needs`` context: of a matrix, all its jobs together.

    Attributes:
        result: how it ended.
        outputs: what it handed on; ``None`` for what it did not come to.
    """

    result: JobState
    outputs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is said of one job.

    Attributes:
        job: its name.
        expected: what its result has to be.
        result: what it is; ``None`` if the workflow has no such job.
        objection: what is wrong, one sentence; ``""`` if nothing is.
    """

    job: str
    expected: JobState
    result: JobState | None
    objection: str = ""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the gate says of a run.

    Attributes:
        mode: how far the run was to go.
        verdicts: one for each job, the workflow's own first.
        planned: units of the plan; ``None`` if the plan did not say.
        collected: units that can be published; ``None`` if nothing was collected.
        objections: everything that is wrong; empty for a run that did what was planned.
        exit_code: what the gate ends with.
    """

    mode: Mode
    verdicts: tuple[Verdict, ...]
    planned: int | None
    collected: int | None
    objections: tuple[str, ...]
    exit_code: ExitCode


_WANTED: Mapping[Mode, frozenset[str]] = {
    Mode.PLAN: frozenset({PLAN}),
    Mode.BUILD: frozenset({PLAN, BUILD, DIGESTS, COLLECT}),
    Mode.CHECK: frozenset({PLAN, BUILD, DIGESTS, CHECK, COLLECT}),
    Mode.RELEASE: frozenset({PLAN, BUILD, DIGESTS, CHECK, COLLECT, RELEASE}),
}
_CODES: Mapping[str, ExitCode] = {
    PLAN: ExitCode.INPUT,
    BUILD: ExitCode.BUILD,
    CHECK: ExitCode.CHECK,
    CHECK_GPU: ExitCode.CHECK,
    COLLECT: ExitCode.BUILD,
    RELEASE: ExitCode.RELEASE,
}
"""What a failure of a job ends the gate with; any other wrong result is the runner's doing, and ends with 3."""


def judge(jobs: Mapping[str, Job], *, mode: Mode, gpu: bool) -> Judgement:
    """Return what is to be said of a run.

    Args:
        jobs: by name; jobs beside the reusable workflow's own have to succeed.
        mode: how far the run was to go.
        gpu: whether runners with a GPU were named, so that the check on a GPU has to have been done.
    """
    wanted = _WANTED[mode] | ({CHECK_GPU} if gpu and CHECK in _WANTED[mode] else frozenset())
    names = [*JOBS, *(name for name in jobs if name not in JOBS)]
    verdicts = tuple(_verdict(name, jobs.get(name), wanted=name in wanted or name not in JOBS) for name in names)
    planned = _number(jobs.get(PLAN), PLANNED)
    collected = _number(jobs.get(COLLECT), COLLECTED)
    objections = [verdict.objection for verdict in verdicts if verdict.objection]
    numbers = _number_objections(planned, collected, collects=COLLECT in wanted) if not objections else []
    code = next((_code(verdict) for verdict in verdicts if verdict.objection), ExitCode.DONE)
    if numbers:
        code = ExitCode.INPUT if not planned else ExitCode.BUILD
    return Judgement(
        mode=mode,
        verdicts=verdicts,
        planned=planned,
        collected=collected,
        objections=(*objections, *numbers),
        exit_code=code,
    )


def _verdict(name: str, job: Job | None, *, wanted: bool) -> Verdict:
    expected = JobState.SUCCESS if wanted else JobState.SKIPPED
    result = job.result if job else None
    if result is expected or (result is None and not wanted):
        return Verdict(job=name, expected=expected, result=result)
    if result is None:
        said = f"{name}: the workflow has no such job, and this mode needs it"
    elif result is JobState.SKIPPED:
        said = f"{name}: it was skipped, and this mode needs it"
    elif result is JobState.SUCCESS:
        said = f"{name}: it ran, and this mode has no use for it"
    else:
        said = f"{name}: {'it failed' if result is JobState.FAILURE else 'it was cancelled'}"
    return Verdict(job=name, expected=expected, result=result, objection=said)


def _number_objections(planned: int | None, collected: int | None, *, collects: bool) -> list[str]:
    if planned is None:
        return ["plan: it did not say how many units it planned"]
    if planned == 0:
        return ["plan: there is no unit in it, so that nothing was built"]
    if collects and collected is None:
        return ["collect: it did not say how many units can be published"]
    if collects and collected != planned:
        return [f"collect: {collected} units can be published, and {planned} were planned"]
    return []


def _number(job: Job | None, output: str) -> int | None:
    text = job.outputs.get(output) if job else None
    return int(text) if text and _NUMBER.fullmatch(text) else None


def _code(verdict: Verdict) -> ExitCode:
    if verdict.result is JobState.FAILURE:
        return _CODES.get(verdict.job, ExitCode.ENVIRONMENT)
    return ExitCode.ENVIRONMENT
