"""What a toolchain is: it knows its own identity, says what it cannot build, and turns a unit into build steps.

A toolchain runs nothing of a unit itself. The build stage writes its steps into a ninja graph, runs the graph through
an engine, and then asks the toolchain to try the result (the gates).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rocmatrix.engine.paths import Place
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Unit
from rocmatrix.records import Gate, ToolchainIdentity

DAMAGED_CACHE = "rocmatrix: damaged cache: "
"""Begins a line that a step prints when it finds that a shared file is not what was made, and makes it again."""


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """One unit, laid out on disk for compiling.

    Attributes:
        project: private copy of the kernel project; every path in the manifest is relative to it.
        generated: folder with the generated ``registration.h``.
        torch_include: folder that holds ``torch/``; ``None`` if the unit needs no torch headers.
        work: folder for objects of this unit.
        device_cache: folder for code objects, shared by all units; a file in it is named by the digest of all that
            decides its bytes, so that one arch is compiled once per toolchain.
        extension: name of the extension module without suffix, e.g. ``_gemm_rocm_1a2b3c4d``: file stem, torch.ops
            namespace and ``PyInit_`` suffix.
        output: path of the shared object to make.
        cxx_standard: C++ standard of the binding, e.g. ``c++20``.
        places: the folders above as an engine with a file system of its own has them. Of the writable ones only that of
            ``output`` is brought back; a gate that reads ``work`` does so by a command in ``room``.
        room: what commands of this unit, gates among them, belong to (``Command.room``).
    """

    unit: Unit
    manifest: Manifest
    project: Path
    generated: Path
    torch_include: Path | None
    work: Path
    device_cache: Path
    extension: str
    output: Path
    cxx_standard: str
    places: tuple[Place, ...] = ()
    room: str = ""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One edge of the build graph.

    Attributes:
        label: for people, e.g. ``device gemm.hip for gfx942``.
        argv: program and arguments.
        inputs: files that must be there before; also the order of the graph.
        outputs: files that the command makes.
        depfile: Make-style dependency file that the command writes, if it does.
        environment: variables that the command needs on top of the engine's.
        takes_long: a minute or more, so that people should be told before.
        places: files of this machine that the command uses beside those of the request, such as a program of ours.
    """

    label: str
    argv: tuple[str, ...]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    depfile: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    takes_long: bool = False
    places: tuple[Place, ...] = ()


class Toolchain(Protocol):
    """Compiles units for one ROCm."""

    def identity(self) -> ToolchainIdentity:
        """Return what this toolchain is; resolved once, then remembered.

        Raises:
            MissingRequirementError: the compiler is not there or does not run.
        """

    def objection(self, unit: Unit, manifest: Manifest) -> str | None:
        """Return why this toolchain cannot build a unit, one sentence, or ``None`` if it can."""

    def steps(self, request: BuildRequest) -> tuple[Step, ...]:
        """Return the steps that make ``request.output``; nothing is written, and nothing of the unit is run.

        Raises:
            InputError: the sources are not what build.toml says.
            MissingRequirementError: the sources need what this toolchain does not have.
        """

    def gates(self, request: BuildRequest) -> tuple[Gate, ...]:
        """Try the shared object that was built; every gate is tried and reported, whether it held or not.

        Raises:
            MissingRequirementError: this machine lacks what it takes to try.
        """
