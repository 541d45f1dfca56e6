"""The build graph of a unit: steps of a toolchain as a ninja file, run through an engine.

ninja decides the order and what runs at the same time, and prints what a command printed in one piece once it ended.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from rocmatrix.build.diagnostics import first_error, names_source, relative_to
from rocmatrix.engine.interface import Command, Completed, Engine
from rocmatrix.engine.paths import PathMap, Place
from rocmatrix.errors import BuildError, InputError, MissingRequirementError
from rocmatrix.toolchain.interface import DAMAGED_CACHE, Step

GRAPH = "build.ninja"
"""Name of the ninja file."""

_STATUS = "[%f/%t] "
_PROGRESS = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
_WIDTH = 1_000_000  # ninja_syntax breaks lines at spaces, which nobody reads here

_UNSPEAKABLE = re.compile("[\\r\\n\\0\ud800-\udfff]")
"""Line ends, and bytes of a file name that are no UTF-8, as Python holds them."""

_SCARCE = 16 * 1024 * 1024
"""Bytes. With less than this left on its disk a tool that fails is taken to have run out of it."""

_FULL = "No space left on device"
"""The C library's text for ENOSPC, whichever disk it was."""

OnStep = Callable[[int, int, str], None]
"""Takes how many steps are done, of how many, and the label of the one that was just done."""


@dataclass(frozen=True, kw_only=True)
class GraphRun:
    """How and where a graph is run.

    Attributes:
        engine: runs ninja.
        folder: for the graph file; commands run there.
        writable: other folders that commands write to.
        project: private copy of the sources; paths below it are shown relative to it.
        jobs: commands at the same time.
        timeout: seconds that all steps may take.
        log: takes each line that is printed.
        on_step: told when a step is done.
        on_damage: told what was damaged in a cache and is made again.
        on_kept: told the command line that opens a shell where a build failed, if the engine kept that.
        places: folders of the build as an engine with a file system of its own has them.
        room: what the commands belong to.
    """

    engine: Engine
    folder: Path
    writable: tuple[Path, ...]
    project: Path
    jobs: int
    timeout: float
    log: Callable[[str], None]
    on_step: OnStep
    on_damage: Callable[[str], None]
    on_kept: Callable[[tuple[str, ...]], None]
    places: tuple[Place, ...] = ()
    room: str = ""


def ninja_text(steps: Sequence[Step]) -> str:
    """Return the ninja file of some steps.

    Raises:
        InputError: a path or an argument has a character that ninja cannot express.
    """
    from ninja import ninja_syntax  # noqa: PLC0415 - only where something is built

    text = io.StringIO()
    writer = ninja_syntax.Writer(text, width=_WIDTH)  # type: ignore[arg-type] # its stub says str, it writes to a file
    for number, step in enumerate(steps):
        command = _command_line(step)
        _require_expressible(step, command)
        rule = f"step{number}"
        writer.rule(
            rule,
            command=ninja_syntax.escape(command),
            description=ninja_syntax.escape(step.label),
            depfile=ninja_syntax.escape(str(step.depfile)) if step.depfile else None,
        )
        writer.build([_graph_path(path) for path in step.outputs], rule, [_graph_path(path) for path in step.inputs])
    return text.getvalue()


def write_graph(steps: Sequence[Step], folder: Path, engine: Engine, places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Write the ninja file of some steps into a folder, and return all places that they use.

    Args:
        steps: with the paths of this machine.
        folder: where it goes.
        engine: runs it, and says how paths read there.
        places: that the steps may use beside their own.

    Raises:
        InputError: a path or an argument has a character that ninja cannot express.
    """
    everything = (*places, *dict.fromkeys(place for step in steps for place in step.places))
    paths = engine.paths(everything)
    (folder / GRAPH).write_text(ninja_text([_inward(step, paths) for step in steps]), encoding="utf-8")
    return everything


def run_graph(steps: Sequence[Step], run: GraphRun) -> None:
    """Run all steps, each after those that make its inputs.

    Raises:
        BuildError: a command failed, or all of them took too long; the message is the first error that was printed.
        InputError: a path or an argument has a character that ninja cannot express.
        MissingRequirementError: ninja is not there, or the disk is full.
    """
    places = write_graph(steps, run.folder, run.engine, run.places)

    def take(line: str) -> None:
        run.log(relative_to(run.project, line))
        if match := _PROGRESS.match(line):
            run.on_step(int(match[1]), int(match[2]), match[3])
        elif line.startswith(DAMAGED_CACHE):
            run.on_damage(line.removeprefix(DAMAGED_CACHE))

    done = run.engine.run(
        Command(
            argv=(run.engine.ninja, "-f", GRAPH, "-j", str(run.jobs)),
            cwd=run.folder,
            environment={"NINJA_STATUS": _STATUS, "TERM": "dumb"},
            timeout=run.timeout,
            writable=(run.folder, *run.writable),
            on_line=take,
            places=places,
            room=run.room,
        )
    )
    if done.kept:
        run.on_kept(done.kept)
    if done.returncode != 0:
        _refuse(done, run)


def _refuse(done: Completed, run: GraphRun) -> NoReturn:
    """Raise the error of a graph that did not run to its end.

    Raises:
        BuildError: as ``run_graph``.
        MissingRequirementError: as ``run_graph``.
    """
    if done.returncode is None:
        raise BuildError(done.stopped or f"the build was ended after {run.timeout:.0f} seconds (--limit time)")
    error = first_error(done.output, run.project)
    if done.stopped:
        raise BuildError(f"{error}\n{done.stopped}")
    if done.free is None:
        _blame_disk(error, run)
    elif not names_source(error) and (done.free < _SCARCE or _FULL in error):
        raise BuildError(f"{error}\nit filled the disk that it may use (--limit disk)")
    raise BuildError(error)


def _inward(step: Step, paths: PathMap) -> Step:
    """Return a step with its paths as they are where commands run."""
    if not paths.pairs:
        return step

    def moved(path: Path) -> Path:
        return Path(paths.inward(str(path)))

    return replace(
        step,
        argv=tuple(paths.inward(word) for word in step.argv),
        inputs=tuple(moved(path) for path in step.inputs),
        outputs=tuple(moved(path) for path in step.outputs),
        depfile=moved(step.depfile) if step.depfile else None,
        environment={name: paths.inward(value) for name, value in step.environment.items()},
    )


def _blame_disk(error: str, run: GraphRun) -> None:
    """Refuse to take a full disk for a fault of the sources: tools say little of it, or die of SIGBUS.

    Raises:
        MissingRequirementError: a disk that the build writes to is full, and no source is said to be wrong.
    """
    if names_source(error):
        return
    for folder in (run.folder, *run.writable):
        free = shutil.disk_usage(folder).free
        if free < _SCARCE or _FULL in error:
            raise MissingRequirementError(
                f"a command failed with {free} bytes free on its disk: {error}",
                where=str(folder),
                fix="Free disk space, or choose another folder with --out.",
            )


def _require_expressible(step: Step, command: str) -> None:
    """Refuse what a ninja file cannot hold: line ends and undecodable bytes, and in its paths the separator ``|``."""
    paths = [str(path) for path in (*step.outputs, *step.inputs)]
    wrong = next((text for text in [*paths, *step.argv] if _UNSPEAKABLE.search(text)), None)
    wrong = wrong or next((path for path in paths if "|" in path), None)
    if wrong is None and not _UNSPEAKABLE.search(command + step.label):
        return
    raise InputError(
        f"the build cannot use the name {wrong or step.label!r}: it has a line end, a `|` or bytes that are not UTF-8",
        where=step.label if wrong else None,
        fix="Rename the file, or choose another output folder (--out) or cache (ROCMATRIX_CACHE).",
    )


def _command_line(step: Step) -> str:
    """Return the shell line of a step: ninja hands every command to ``sh``."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(step.environment.items())]
    return " ".join([*variables, shlex.join(step.argv)])


def _graph_path(path: Path) -> str:
    """Return a path for ``Writer.build``, which escapes spaces and colons, and dollars only before a space."""
    return re.sub(r"\$(?! )", "$$", str(path))
