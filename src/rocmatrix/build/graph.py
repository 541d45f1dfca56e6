"""The build graph of a unit: steps of a toolchain as a ninja file, run through an engine.

ninja decides the order and what runs at the same time, and prints what a command printed in one piece once it ended.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.build.diagnostics import first_error, relative_to
from rocmatrix.engine.interface import Command, Engine
from rocmatrix.errors import BuildError
from rocmatrix.toolchain.interface import DAMAGED_CACHE, Step

TIMEOUT = 3600.0
"""Seconds that the graph of one unit may take."""

_STATUS = "[%f/%t] "
_PROGRESS = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
_WIDTH = 1_000_000  # ninja_syntax breaks lines at spaces, which nobody reads here

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
        log: takes each line that is printed.
        on_step: told when a step is done.
        on_damage: told what was damaged in a cache and is made again.
    """

    engine: Engine
    folder: Path
    writable: tuple[Path, ...]
    project: Path
    jobs: int
    log: Callable[[str], None]
    on_step: OnStep
    on_damage: Callable[[str], None]


def ninja_text(steps: Sequence[Step]) -> str:
    """Return the ninja file of some steps.

    Raises:
        ValueError: a step has no output or an argument with a line end, which ninja cannot express.
    """
    from ninja import ninja_syntax  # noqa: PLC0415 - only where something is built

    text = io.StringIO()
    writer = ninja_syntax.Writer(text, width=_WIDTH)  # type: ignore[arg-type] # its stub says str, it writes to a file
    for number, step in enumerate(steps):
        command = _command_line(step)
        if "\n" in command or "\n" in step.label or not step.outputs:
            raise ValueError(f"the step {step.label!r} has no output, or a line end in an argument")
        rule = f"step{number}"
        writer.rule(
            rule,
            command=ninja_syntax.escape(command),
            description=ninja_syntax.escape(step.label),
            depfile=ninja_syntax.escape(str(step.depfile)) if step.depfile else None,
        )
        writer.build([_graph_path(path) for path in step.outputs], rule, [_graph_path(path) for path in step.inputs])
    return text.getvalue()


def run_graph(steps: Sequence[Step], run: GraphRun) -> None:
    """Run all steps, each after those that make its inputs.

    Raises:
        BuildError: a command failed, or all of them took too long; the message is the first error that was printed.
        MissingRequirementError: ninja is not there.
    """
    import ninja  # noqa: PLC0415 - only where something is built

    graph = run.folder / "build.ninja"
    graph.write_text(ninja_text(steps), encoding="utf-8")

    def take(line: str) -> None:
        run.log(relative_to(run.project, line))
        if match := _PROGRESS.match(line):
            run.on_step(int(match[1]), int(match[2]), match[3])
        elif line.startswith(DAMAGED_CACHE):
            run.on_damage(line.removeprefix(DAMAGED_CACHE))

    done = run.engine.run(
        Command(
            argv=(str(Path(ninja.BIN_DIR) / "ninja"), "-f", graph.name, "-j", str(run.jobs)),
            cwd=run.folder,
            environment={"NINJA_STATUS": _STATUS, "TERM": "dumb"},
            timeout=TIMEOUT,
            writable=(run.folder, *run.writable),
            on_line=take,
        )
    )
    if done.returncode is None:
        raise BuildError(f"the build was ended after {TIMEOUT:.0f} seconds")
    if done.returncode != 0:
        raise BuildError(first_error(done.output, run.project))


def _command_line(step: Step) -> str:
    """Return the shell line of a step: ninja hands every command to ``sh``."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(step.environment.items())]
    return " ".join([*variables, shlex.join(step.argv)])


def _graph_path(path: Path) -> str:
    """Return a path for ``Writer.build``, which escapes spaces and colons, and dollars only before a space."""
    return re.sub(r"\$(?! )", "$$", str(path))
