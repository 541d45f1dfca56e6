"""A shell where a unit is built: its toolchain, its sources and headers, and its build graph, ready for ``ninja``."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rocmatrix.build.graph import write_graph
from rocmatrix.build.headers import SharedHeaders
from rocmatrix.build.sources import read_project
from rocmatrix.build.unit_build import Workshop, lay_out
from rocmatrix.engine.interface import Command, Engine
from rocmatrix.engine.limits import Limits
from rocmatrix.events import Emit, Notice
from rocmatrix.plan.model import Unit
from rocmatrix.toolchain.interface import Toolchain
from rocmatrix.toolchain.torch_headers import stable_pin


def open_shell(
    unit: Unit, project: Path, toolchain: Toolchain, engine: Engine, *, cache: Path, emit: Emit, limits: Limits
) -> int:
    """Open a shell in the work folder of a unit, on this process's terminal, and return its exit status.

    Nothing of it reaches the output folder: what is made there is gone with the shell.

    Args:
        unit: with compiled code.
        project: folder of the kernel project.
        toolchain: compiles it.
        engine: where the toolchain's commands run.
        cache: folder that runs share, for torch headers.
        emit: takes what is said before the shell opens.
        limits: of the build, which are those of the shell.

    Raises:
        InputError: the project is not what it should be, or there is no terminal.
        MissingRequirementError: the toolchain objects to the unit, or something that it needs is missing.
    """
    with tempfile.TemporaryDirectory(prefix="rocmatrix-shell-") as folder:
        headers = SharedHeaders(stable_pin(), cache=cache, emit=emit)
        workshop = Workshop(
            engine=engine,
            headers=headers,
            device_cache=Path(folder) / "device",
            side_by_side=1,
            timeout=limits.seconds,
            emit=emit,
        )
        request, _ = lay_out(unit, read_project(project), toolchain, workshop, Path(folder) / "unit")
        places = write_graph(toolchain.steps(request), request.work, engine, request.places)
        emit(Notice(level="info", message=f"this is where it is built: `{engine.ninja}` runs its steps", where=unit.id))
        return engine.interact(
            Command(argv=("sh",), cwd=request.work, timeout=limits.seconds, places=places, room=request.room)
        )
