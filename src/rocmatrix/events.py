"""Typed events: how stages report while they work.

Stages stay silent otherwise. They call an ``Emit`` that they were given; the command line decides what people see.
Every event has a ``type``, so that a stream of them can be read without knowing the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from rocmatrix.plan.model import UnitId


class Stage(StrEnum):
    """The stages a unit goes through, in order."""

    BUILD = "build"
    AUDIT = "audit"
    CHECK = "check"
    COLLECT = "collect"


class State(StrEnum):
    """How a stage ended for one unit."""

    DONE = "done"
    """The work was done now."""
    REUSED = "reused"
    """An earlier result still holds."""
    FAILED = "failed"
    UNTESTED = "untested"
    """Only of ``check``: nothing here can execute the kernel."""
    SKIPPED = "skipped"
    """An earlier stage failed for this unit."""


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """The plan is made: these units will go through these stages, in this order."""

    units: tuple[UnitId, ...]
    stages: tuple[Stage, ...]
    type: Literal["run-started"] = "run-started"


@dataclass(frozen=True, kw_only=True)
class UnitStarted:
    """A stage takes up a unit; ``reason`` says why the work is done at all."""

    unit: UnitId
    stage: Stage
    reason: str
    type: Literal["unit-started"] = "unit-started"


@dataclass(frozen=True, kw_only=True)
class UnitProgress:
    """Steps of the unit's work that are done, of how many, and what the last one was."""

    unit: UnitId
    stage: Stage
    done: int
    total: int
    step: str
    type: Literal["unit-progress"] = "unit-progress"


@dataclass(frozen=True, kw_only=True)
class UnitFinished:
    """A stage is through with a unit.

    Attributes:
        reason: why it was built or reused, or the first error of a failure.
        seconds: wall time of the stage for this unit.
        log: path of the log, where there is one.
        error: for a failure the first error as its tool printed it, with file and line; may have several lines.
        exit_code: what a failure ends the run with; 0 otherwise.
    """

    unit: UnitId
    stage: Stage
    state: State
    reason: str
    seconds: float
    log: str | None = None
    error: str | None = None
    exit_code: int = 0
    type: Literal["unit-finished"] = "unit-finished"


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """Bytes of a download so far; ``total`` is ``None`` while unknown, and equals ``received`` at the end."""

    what: str
    received: int
    total: int | None
    type: Literal["transfer"] = "transfer"


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Something to know that stops nothing.

    Attributes:
        level: ``info`` or ``warning``.
        message: one sentence.
        where: file with line, or unit; ``None`` if it belongs to the run.
    """

    level: Literal["info", "warning"]
    message: str
    where: str | None = None
    type: Literal["notice"] = "notice"


Event = RunStarted | UnitStarted | UnitProgress | UnitFinished | Transfer | Notice
"""Any event."""

Emit = Callable[[Event], None]
"""Takes an event; called from several threads at once, so it must be safe for that."""


def discard(event: Event) -> None:
    """Take an event and do nothing: for callers that want silence."""
