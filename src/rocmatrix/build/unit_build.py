"""One unit from its sources to a payload that the toolchain's gates let through."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from rocmatrix.build import registration
from rocmatrix.build.graph import GraphRun, run_graph
from rocmatrix.build.headers import SharedHeaders
from rocmatrix.build.identity import extension_name
from rocmatrix.build.payload import write_payload
from rocmatrix.build.sources import Project
from rocmatrix.engine.interface import Engine
from rocmatrix.engine.paths import Place
from rocmatrix.errors import BuildError, InputError, MissingRequirementError
from rocmatrix.events import Emit, Notice, Stage, UnitProgress
from rocmatrix.plan.extension import EXTENSION_SUFFIX
from rocmatrix.plan.model import Unit
from rocmatrix.records import Gate, HeadersOrigin
from rocmatrix.toolchain.interface import BuildRequest, Step, Toolchain


class Announcements:
    """Says of steps that take long that they begin: once in a run, whichever unit comes to them first."""

    def __init__(self) -> None:
        """Nothing is said yet."""
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def make(self, steps: Sequence[Step], emit: Emit) -> None:
        """Announce the long ones of these steps whose results are not there yet."""
        for step in steps:
            if step.takes_long and not all(path.exists() for path in step.outputs) and self._is_new(step.label):
                emit(Notice(level="info", message=f"making {step.label}"))

    def _is_new(self, label: str) -> bool:
        with self._lock:
            new = label not in self._said
            self._said.add(label)
        return new


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """What the builds of one run share.

    Attributes:
        engine: runs the commands of the unit's toolchain.
        headers: of torch, for stable-ABI units.
        device_cache: folder for code objects that units share.
        side_by_side: units that are built at the same time and share the engine's processors.
        timeout: seconds that the steps of one unit may take.
        emit: takes progress.
        announcements: of long steps.
    """

    engine: Engine
    headers: SharedHeaders
    device_cache: Path
    side_by_side: int
    timeout: float
    emit: Emit
    announcements: Announcements = field(default_factory=Announcements)


@dataclass(frozen=True, kw_only=True)
class Built:
    """What became of a build that could be started.

    Attributes:
        payload: folder of the payload; ``None`` if there is none.
        headers: where the torch headers came from, if the unit needs them.
        gates: what the toolchain tried.
        error: the first error of a failure, or ``None``.
    """

    payload: Path | None
    headers: HeadersOrigin | None = None
    gates: tuple[Gate, ...] = ()
    error: str | None = None


def build_unit(
    unit: Unit, project: Project, toolchain: Toolchain | None, workshop: Workshop, *, scratch: Path, log: TextIO
) -> Built:
    """Build one unit below a scratch folder.

    Raises:
        MissingRequirementError: the toolchain objects to the unit, or something that it needs is missing.
    """
    if toolchain is None or project.manifest.torch is None:
        return _assembled(project, scratch, log, None)
    request, headers = lay_out(unit, project, toolchain, workshop, scratch)
    try:
        _compile(request, toolchain, workshop, log)
    except BuildError as err:
        return Built(payload=None, headers=headers, error=err.what)
    except InputError as err:  # of this project alone: units of other kernels go on
        return Built(payload=None, headers=headers, error=str(err))
    gates = _tried(toolchain, request, log)
    if failed := [gate for gate in gates if not gate.passed]:
        error = "\n".join(f"gate {gate.name}: {gate.detail}" for gate in failed)
        return Built(payload=None, headers=headers, gates=gates, error=error)
    return replace(_assembled(project, scratch, log, request.output), headers=headers, gates=gates)


def lay_out(
    unit: Unit, project: Project, toolchain: Toolchain, workshop: Workshop, scratch: Path
) -> tuple[BuildRequest, HeadersOrigin]:
    """Lay a unit with compiled code out below a scratch folder, and return it with the origin of its headers.

    Raises:
        MissingRequirementError: the toolchain objects to the unit, or something that it needs is missing.
    """
    objection = toolchain.objection(unit, project.manifest)
    if objection:
        raise MissingRequirementError(
            objection, where=unit.id, fix="Name another toolchain for it in matrix.yaml, or with --toolchain."
        )
    include, headers = workshop.headers.get(unit)
    request = _placed(_request(unit, project, scratch, workshop, include), headers)
    _write_files(project, request)
    return request, headers


def _assembled(project: Project, scratch: Path, log: TextIO, library: Path | None) -> Built:
    payload = scratch / "payload"
    for name in write_payload(project, payload, extension=extension_name(project), library=library):
        print(f"left out: {name}, its suffix is not in pyext", file=log)
    return Built(payload=payload)


def _request(unit: Unit, project: Project, scratch: Path, workshop: Workshop, include: Path | None) -> BuildRequest:
    extension = extension_name(project)
    return BuildRequest(
        unit=unit,
        manifest=project.manifest,
        project=scratch / "project",
        generated=scratch / "generated",
        torch_include=include,
        work=scratch / "work",
        device_cache=workshop.device_cache,
        extension=extension,
        output=scratch / "output" / f"{extension}{EXTENSION_SUFFIX}",
        cxx_standard=workshop.headers.cxx_standard(unit),
    )


def _placed(request: BuildRequest, headers: HeadersOrigin) -> BuildRequest:
    """Return the request with the names of its folders in an engine that has a file system of its own.

    Sources have the same name in all units of a kernel, so that their path, should it get into a binary, is the same.
    """
    unit = request.unit
    places = [
        Place(host=request.project, name="project"),
        Place(host=request.generated, name="generated"),
        Place(host=request.work, name=f"{unit.id}/work", writable=True),
        Place(host=request.output.parent, name=f"{unit.id}/output", writable=True, fetched=True),
        Place(host=request.device_cache, name="device", writable=True, sent=False),
    ]
    if request.torch_include:
        content = headers.headers_digest.removeprefix("sha256:")[:16]
        places.append(Place(host=request.torch_include, name=f"headers/torch-{content}"))
    return replace(request, places=tuple(places), room=unit.kernel)


def _write_files(project: Project, request: BuildRequest) -> None:
    """Write the private copy of the sources and what is generated, and make the folders of the build."""
    for folder in (request.project, request.generated, request.work, request.output.parent, request.device_cache):
        folder.mkdir(parents=True, exist_ok=True)
    project.write_to(request.project)
    (request.generated / registration.NAME).write_text(registration.text(request.extension), encoding="utf-8")


def _compile(request: BuildRequest, toolchain: Toolchain, workshop: Workshop, log: TextIO) -> None:
    unit = request.unit.id

    def on_step(done: int, total: int, label: str) -> None:
        workshop.emit(UnitProgress(unit=unit, stage=Stage.BUILD, done=done, total=total, step=label))

    def on_damage(what: str) -> None:
        workshop.emit(Notice(level="warning", message=f"damaged cache: {what}", where=unit))

    def on_kept(argv: tuple[str, ...]) -> None:
        entering = f"the container of the failed build is kept: {shlex.join(argv)}"
        print(entering, file=log, flush=True)
        workshop.emit(Notice(level="info", message=entering, where=unit))

    run = GraphRun(
        engine=workshop.engine,
        folder=request.work,
        writable=(request.output.parent, request.device_cache),
        project=request.project,
        jobs=max(1, workshop.engine.processors // workshop.side_by_side),
        timeout=workshop.timeout,
        log=_line_writer(log),
        on_step=on_step,
        on_damage=on_damage,
        on_kept=on_kept,
        places=request.places,
        room=request.room,
    )
    steps = toolchain.steps(request)
    workshop.announcements.make(steps, workshop.emit)
    run_graph(steps, run)
    if not request.output.is_file():
        raise BuildError(f"all steps passed, but there is no {request.output.name}")


def _tried(toolchain: Toolchain, request: BuildRequest, log: TextIO) -> tuple[Gate, ...]:
    gates = toolchain.gates(request)
    for gate in gates:
        print(f"gate {gate.name}: {'passed' if gate.passed else 'FAILED'}: {gate.detail}", file=log, flush=True)
    return gates


def _line_writer(log: TextIO) -> Callable[[str], None]:
    def write(line: str) -> None:
        log.write(f"{line}\n")
        log.flush()

    return write
