"""Processes that run cases: started confined, and begun anew behind a case that took one down.

A case that does not end is ended by the kernel of this machine after its own time, whatever it does; its process runs
no other case after that, so that a variant that hangs in every case costs that time once for each process.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import rocmatrix
from rocmatrix.check.comparison import LARGEST
from rocmatrix.check.job import NEWS, Job, Line
from rocmatrix.engine.interface import Command, Completed, Engine
from rocmatrix.errors import CheckError, InputError
from rocmatrix.records import CaseResult

START_LIMIT = 300.0
"""Seconds for what a process does besides its cases: loading the variant, importing the cases."""

_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from rocmatrix.check.emulator_process import main; main(*sys.argv[2:])"
)
_SHOWN_LINES = 5


@dataclass(frozen=True, kw_only=True)
class Place:
    """What the processes of one unit share.

    Attributes:
        folder: that they may write to.
        variant: copy of the shared object.
        tests: copy of the tests.
        libraries: stand-ins, in the order of loading.
        device: which profile the runtime plays.
        code_cache: folder for translated code, which processes share; ``None`` for the reference interpreter.
        seed: what random inputs and orders begin with.
        limits: seconds that each case may take, by name.
        exact: names of the cases whose matrix instructions are executed in exact arithmetic.
        varied: names of the cases that run again in other orders and with other approximations.
        detectors: what is looked for beside wrong numbers.
    """

    folder: Path
    variant: Path
    tests: Path
    libraries: tuple[Path, ...]
    device: str
    code_cache: Path | None
    seed: int
    limits: Mapping[str, float]
    exact: frozenset[str] = frozenset()
    varied: frozenset[str] = frozenset()
    detectors: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """What processes came to.

    Attributes:
        results: of the cases that ran.
        unsupported: what is needed and not emulated, so that no more cases ran; ``None`` if nothing is.
        stuck: the case that did not end, so that no more cases ran; ``None`` if all did.
    """

    results: tuple[CaseResult, ...]
    unsupported: str | None = None
    stuck: str | None = None

    @property
    def ended(self) -> bool:
        """Whether no more cases may run behind these."""
        return self.unsupported is not None or self.stuck is not None


@dataclass(frozen=True, kw_only=True)
class Slots:
    """What all processes of a check share.

    Attributes:
        engine: where they run.
        free: as many as may run at the same time.
        stopped: set when nothing more is to be started.
    """

    engine: Engine
    free: threading.Semaphore
    stopped: threading.Event = field(default_factory=threading.Event)


class StoppedError(Exception):
    """The check was interrupted."""


def merge(runs: Sequence[Run]) -> Run:
    """Return several runs as one."""
    return Run(
        results=tuple(result for run in runs for result in run.results),
        unsupported=next((run.unsupported for run in runs if run.unsupported), None),
        stuck=next((run.stuck for run in runs if run.stuck), None),
    )


def run_share(
    slots: Slots, place: Place, number: int, cases: Sequence[str], ended: Callable[[CaseResult], None]
) -> Run:
    """Run cases one after the other, in a new process behind each that took one down.

    Args:
        slots: what all processes share.
        place: what those of this unit share.
        number: of this share, for the names of its files.
        cases: names, in this order.
        ended: takes each result as soon as it is there; called from any thread.

    Raises:
        CheckError: a process ended before it began with a case.
        InputError: the variant's file is not what it should be.
        StoppedError: the check was interrupted.
    """
    results: tuple[CaseResult, ...] = ()
    while len(results) < len(cases):
        with slots.free:
            if slots.stopped.is_set():
                raise StoppedError
            rest = tuple(cases[len(results) :])
            done = _run_process(slots.engine, place, f"{number}-{len(results)}", rest, ended)
        if slots.stopped.is_set():
            raise StoppedError
        results += done.results
        if done.ended:
            return Run(results=results, unsupported=done.unsupported, stuck=done.stuck)
    return Run(results=results)


def _run_process(
    engine: Engine, place: Place, name: str, cases: tuple[str, ...], ended: Callable[[CaseResult], None]
) -> Run:
    """Return the results of a process: of every case, or of those up to the one that took it down."""
    report, file = place.folder / f"{name}.report", place.folder / f"{name}.job"
    limits = {case: place.limits[case] for case in cases}
    job = Job(
        variant=str(place.variant),
        libraries=tuple(map(str, place.libraries)),
        tests=str(place.tests),
        cases=cases,
        device=place.device,
        report=str(report),
        code_cache=str(place.code_cache) if place.code_cache else None,
        seed=place.seed,
        limits=limits,
        exact=tuple(case for case in cases if case in place.exact),
        varied=tuple(case for case in cases if case in place.varied),
        detectors=place.detectors,
    )
    file.write_bytes(msgspec.json.encode(job))
    follower = Follower(report, ended)
    done = engine.run(
        Command(
            argv=(sys.executable, "-I", "-c", _BOOTSTRAP, str(Path(rocmatrix.__file__).parent.parent), str(file)),
            cwd=place.folder,
            timeout=START_LIMIT + sum(limits.values()),
            environment={"OPENBLAS_NUM_THREADS": "1"},  # cases run side by side already
            writable=(place.folder, *((place.code_cache,) if place.code_cache else ())),
            on_line=follower.take,
        )
    )
    run = outcome(done, read_lines(report), cases, limits)
    for result in run.results[follower.seen :]:
        ended(result)
    return run


class Follower:
    """Reads on in a report when its process says that there is more; what it prints otherwise means nothing.

    Attributes:
        seen: results that were passed on.
    """

    def __init__(self, report: Path, ended: Callable[[CaseResult], None]) -> None:
        """Start at the beginning of a report."""
        self._report = report
        self._ended = ended
        self.seen = 0

    def take(self, printed: str) -> None:
        """Take a line that the process printed."""
        if printed == NEWS:
            results = [line.result for line in read_lines(self._report) if line.result]
            for result in results[self.seen :]:
                self._ended(result)
            self.seen = len(results)


def outcome(done: Completed, lines: Sequence[Line], cases: Sequence[str], limits: Mapping[str, float]) -> Run:
    """Return what a process came to, going by how it ended and what it had written.

    Raises:
        CheckError: it ended before it began with a case.
        InputError: the variant's file is not what it should be.
    """
    for what, fix in (line.refused for line in lines if line.refused):
        raise InputError(what, fix=fix)
    results = tuple(line.result for line in lines if line.result)
    unsupported = [line.unsupported for line in lines if line.unsupported]
    if unsupported or len(results) == len(cases):
        return Run(results=results, unsupported=unsupported[0] if unsupported else None)
    if not lines:
        raise CheckError(f"the process that runs the cases {_end(done)}", fix=_last_lines(done))
    case = cases[len(results)]
    stuck = done.returncode in {-signal.SIGALRM, None}
    said = (
        f"the case did not end within its {limits[case]:.0f} s; no other case was run after it in that process"
        if stuck
        else f"the process {_end(done)} while this case ran. {_last_lines(done)}"
    )
    taken_down = CaseResult(
        case=case,
        passed=False,
        max_abs_error=LARGEST,
        max_rel_error=LARGEST,
        seconds=round(done.seconds, 3),
        detail=said,
    )
    return Run(results=(*results, taken_down), stuck=case if stuck else None)


def read_lines(report: Path) -> tuple[Line, ...]:
    """Return the whole lines of a report; a process may have been ended within one."""
    if not report.is_file():
        return ()
    whole = report.read_bytes().rpartition(b"\n")[0]
    return tuple(msgspec.json.decode(line, type=Line) for line in whole.splitlines())


def _last_lines(done: Completed) -> str:
    said = [line for line in done.output.strip().splitlines() if line != NEWS][-_SHOWN_LINES:]
    return "Its last lines: " + " | ".join(said) if said else "It printed nothing."


def _end(done: Completed) -> str:
    if done.returncode is None:
        return f"did not end within {done.seconds:.0f} s"
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return f"was ended by {name} ({signal.strsignal(-done.returncode)})"
    return f"ended with status {done.returncode}"
