"""What is known of every unit so far: events folded into rows, without any look.

A board is not safe for threads; the reporters that own one hold a lock around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rocmatrix.events import (
    Event,
    Notice,
    RunStarted,
    Stage,
    State,
    Transfer,
    UnitFinished,
    UnitProgress,
    UnitStarted,
)
from rocmatrix.plan.model import UnitId


@dataclass(frozen=True, kw_only=True)
class StageView:
    """One stage of one unit.

    Attributes:
        state: how it ended; ``None`` while it is at work.
        reason: why the work is done or was not, or the first error of a failure.
        done: steps that are done, of ``total``; 0 of 0 while unknown.
        step: what the last finished step was.
        started: seconds on the board's clock.
        seconds: wall time once it has ended.
        log: path of the log, where there is one.
        error: the tool's own first error of a failure.
        exit_code: what a failure ends the run with.
    """

    stage: Stage
    state: State | None = None
    reason: str = ""
    done: int = 0
    total: int = 0
    step: str = ""
    started: float = 0.0
    seconds: float = 0.0
    log: str | None = None
    error: str | None = None
    exit_code: int = 0


@dataclass(kw_only=True)
class Row:
    """One unit: its stages in the order in which they were taken up."""

    unit: UnitId
    stages: dict[Stage, StageView] = field(default_factory=dict)

    @property
    def active(self) -> StageView | None:
        """The stage that is at work now."""
        return next((view for view in self.stages.values() if view.state is None), None)

    @property
    def failure(self) -> StageView | None:
        """The first stage that failed."""
        return next((view for view in self.stages.values() if view.state is State.FAILED), None)

    @property
    def first(self) -> StageView | None:
        """The stage that was taken up first: it knows why the unit was worked on or reused."""
        return next(iter(self.stages.values()), None)

    def seconds(self, now: float) -> float:
        """Return the wall time of all stages so far, the running one up to ``now`` on the board's clock."""
        return sum(view.seconds if view.state else now - view.started for view in self.stages.values())


@dataclass(kw_only=True)
class Board:
    """All units, downloads and notices of a run.

    Attributes:
        expected: stages that every unit will go through, in order; empty until the run says so.
        rows: by unit, in the plan's order.
        transfers: downloads by what they are, the last state of each.
    """

    expected: tuple[Stage, ...] = ()
    rows: dict[UnitId, Row] = field(default_factory=dict)
    transfers: dict[str, Transfer] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def take(self, event: Event, now: float) -> None:
        """Fold one event in; ``now`` is in seconds on any clock that does not go back."""
        match event:
            case RunStarted():
                self.expected = event.stages
                self.rows = {unit: Row(unit=unit) for unit in event.units} | self.rows
            case Transfer():
                self.transfers[event.what] = event
            case Notice():
                self.notices.append(event)
            case UnitStarted() | UnitProgress() | UnitFinished():
                row = self.rows.setdefault(event.unit, Row(unit=event.unit))
                before = row.stages.get(event.stage, StageView(stage=event.stage, started=now))
                row.stages[event.stage] = _after(before, event, now)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Stages to show, in their natural order: those expected and those that units went through.

        Collecting takes a moment and follows from the other stages; it is shown if it failed or is all there is.
        """
        views = [view for row in self.rows.values() for view in row.stages.values()]
        shown = {*self.expected, *(view.stage for view in views)}
        if shown != {Stage.COLLECT} and not any(
            view.stage is Stage.COLLECT and view.state is State.FAILED for view in views
        ):
            shown.discard(Stage.COLLECT)
        return tuple(stage for stage in Stage if stage in shown)

    @property
    def failures(self) -> tuple[tuple[UnitId, StageView], ...]:
        """Every unit with the stage that failed for it first."""
        return tuple((row.unit, view) for row in self.rows.values() if (view := row.failure))

    @property
    def received(self) -> int:
        """Bytes downloaded so far."""
        return sum(transfer.received for transfer in self.transfers.values())

    def settled(self, row: Row) -> bool:
        """Return whether nothing more will happen to a unit: a stage failed, or its last stage has ended."""
        if row.active:
            return False
        return row.failure is not None or all(stage in row.stages for stage in self.stages)


def _after(view: StageView, event: UnitStarted | UnitProgress | UnitFinished, now: float) -> StageView:
    match event:
        case UnitStarted():
            return StageView(stage=event.stage, reason=event.reason, started=now)
        case UnitProgress():
            return replace(view, done=event.done, total=event.total, step=event.step)
        case UnitFinished():
            return replace(
                view,
                state=event.state,
                reason=event.reason,
                seconds=event.seconds,
                log=event.log,
                error=event.error,
                exit_code=event.exit_code,
            )
