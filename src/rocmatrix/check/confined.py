"""Processes that run cases: started confined, and begun anew behind a case that took one down."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

import rocmatrix
from rocmatrix.check.comparison import LARGEST
from rocmatrix.check.emulator_process import Job, Line
from rocmatrix.engine.interface import Command, Completed, Engine
from rocmatrix.errors import CheckError
from rocmatrix.records import CaseResult

TIME_LIMIT = 1800.0
"""Seconds for the cases of one process."""

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
    """

    folder: Path
    variant: Path
    tests: Path
    libraries: tuple[Path, ...]
    device: str
    code_cache: Path | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """What processes came to.

    Attributes:
        results: of the cases that ran.
        unsupported: what is needed and not emulated, so that no more cases ran; ``None`` if all did.
    """

    results: tuple[CaseResult, ...]
    unsupported: str | None = None


def merge(runs: Sequence[Run]) -> Run:
    """Return several runs as one."""
    unsupported = [run.unsupported for run in runs if run.unsupported]
    results = tuple(result for run in runs for result in run.results)
    return Run(results=results, unsupported=unsupported[0] if unsupported else None)


def run_share(engine: Engine, place: Place, number: int, cases: Sequence[str]) -> Run:
    """Run cases one after the other, in a new process behind each that took one down.

    Args:
        engine: where processes run.
        place: what they share.
        number: of this share, for the names of its files.
        cases: names, in this order.

    Raises:
        CheckError: a process ended before it began with a case.
    """
    results: tuple[CaseResult, ...] = ()
    while len(results) < len(cases):
        done = _run_process(engine, place, f"{number}-{len(results)}", tuple(cases[len(results) :]))
        results += done.results
        if done.unsupported:
            return Run(results=results, unsupported=done.unsupported)
    return Run(results=results)


def _run_process(engine: Engine, place: Place, name: str, cases: tuple[str, ...]) -> Run:
    """Return the results of a process: of every case, or of those up to the one that took it down."""
    report, file = place.folder / f"{name}.report", place.folder / f"{name}.job"
    job = Job(
        variant=str(place.variant),
        libraries=tuple(map(str, place.libraries)),
        tests=str(place.tests),
        cases=cases,
        device=place.device,
        report=str(report),
        code_cache=str(place.code_cache) if place.code_cache else None,
    )
    file.write_bytes(msgspec.json.encode(job))
    done = engine.run(
        Command(
            argv=(sys.executable, "-I", "-c", _BOOTSTRAP, str(Path(rocmatrix.__file__).parent.parent), str(file)),
            cwd=place.folder,
            timeout=TIME_LIMIT,
            environment={"OPENBLAS_NUM_THREADS": "1"},  # cases run side by side already
            writable=(place.folder, *((place.code_cache,) if place.code_cache else ())),
        )
    )
    return outcome(done, read_lines(report), cases)


def outcome(done: Completed, lines: Sequence[Line], cases: Sequence[str]) -> Run:
    """Return what a process came to, going by how it ended and what it had written.

    Raises:
        CheckError: it ended before it began with a case.
    """
    results = tuple(line.result for line in lines if line.result)
    unsupported = [line.unsupported for line in lines if line.unsupported]
    if unsupported or len(results) == len(cases):
        return Run(results=results, unsupported=unsupported[0] if unsupported else None)
    if not lines:
        raise CheckError(f"the process that runs the cases {_end(done)}", fix=_last_lines(done))
    taken_down = CaseResult(
        case=cases[len(results)],
        passed=False,
        max_abs_error=LARGEST,
        max_rel_error=LARGEST,
        seconds=round(done.seconds, 3),
        detail=f"the process {_end(done)} while this case ran. {_last_lines(done)}",
    )
    return Run(results=(*results, taken_down))


def read_lines(report: Path) -> tuple[Line, ...]:
    """Return the whole lines of a report; a process may have been ended within one."""
    if not report.is_file():
        return ()
    whole = report.read_bytes().rpartition(b"\n")[0]
    return tuple(msgspec.json.decode(line, type=Line) for line in whole.splitlines())


def _end(done: Completed) -> str:
    if done.returncode is None:
        return f"did not end within {TIME_LIMIT:.0f} s"
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return f"was ended by {name} ({signal.strsignal(-done.returncode)})"
    return f"ended with status {done.returncode}"


def _last_lines(done: Completed) -> str:
    lines = done.output.strip().splitlines()[-_SHOWN_LINES:]
    return "Its last lines: " + " | ".join(lines) if lines else "It printed nothing."
