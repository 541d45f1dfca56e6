"""What a ROCm says of itself when it is run: HIP's version, whose clang it is, the GPUs it knows, where it lies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rocmatrix.engine.interface import Command, Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.toolchain.hipcc.setup import Described, Setup

_ANSWER_SECONDS = 120.0
_HIP = re.compile(r"^HIP version\s*:\s*((\d+\.\d+)\S*)", re.MULTILINE)
_CLANG = re.compile(r"^(?P<maker>.*?)[ \t]*clang version (?P<version>\S+)", re.MULTILINE)
_ARCH = re.compile(r"^\s+(gfx[0-9a-f]+(?:-[0-9a-z-]+)?)$", re.MULTILINE)
_SYSTEM = "/usr"
_ABSENT = 'for tool; do { [ -f "$tool" ] && [ -x "$tool" ]; } || printf "%s\\n" "$tool"; done'
"""Prints those of its arguments that are no programs."""


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A ROCm that answered.

    Attributes:
        hip: HIP's version as hipcc says it, e.g. ``7.2.53211-e1a6bc5663``.
        rocm: its minor, as ``torch.version.hip`` would say it, e.g. ``7.2``.
        clang: path of the C++ compiler.
        version: of clang.
        maker: who built it, as it says itself: ``AMD``, ``Debian``, or ``""``.
        archs: AMD GPU targets that it knows, e.g. ``gfx942``.
        root: folder with HIP's ``include`` and ``lib``; ``None`` where they are the system's own.
    """

    hip: str
    rocm: str
    clang: str
    version: str
    maker: str
    archs: frozenset[str]
    root: str | None

    @property
    def description(self) -> str:
        """Which compiler it is and whose; only AMD's own build is called AMD's."""
        if self.maker == "AMD":
            return f"AMD's clang {self.version} with HIP {self.hip}"
        whose = f"{self.maker}'s build of clang" if self.maker else "clang"
        return f"{whose} {self.version} with HIP {self.hip}, not AMD's compiler"


def ask_compiler(engine: Engine, setup: Setup) -> Compiler:
    """Run hipcc, hipconfig and clang and read what they say.

    Raises:
        MissingRequirementError: one of them is not there, does not run, or is not understood.
    """
    if setup.described:
        _require_tools(engine, setup.described)
    said = _ask(engine, setup, setup.hipcc, "--version")
    hip, clang = _HIP.search(said), _CLANG.search(said)
    if hip is None or clang is None:
        raise MissingRequirementError(
            f"hipcc does not say which HIP and which clang it is: {said.strip()[:300]!r}",
            where=setup.hipcc,
            fix="Name the hipcc of a ROCm, with its hipconfig and its clang beside it.",
        )
    hipconfig = str(PurePosixPath(setup.hipcc).with_name("hipconfig"))
    root = _ask(engine, setup, hipconfig, "--rocmpath").strip()
    program = setup.clang or _driven_clang(engine, setup, hipconfig, clang["version"])
    targets = _ask(engine, setup, program, "-target", "amdgcn-amd-amdhsa", "--print-supported-cpus")
    return Compiler(
        hip=hip[1],
        rocm=hip[2],
        clang=program,
        version=clang["version"],
        maker=clang["maker"],
        archs=frozenset(_ARCH.findall(targets)),
        root=root if root.startswith("/") and root.rstrip("/") != _SYSTEM else None,
    )


def _require_tools(engine: Engine, described: Described) -> None:
    """Refuse an image without a program that its recipe names, as what it is: a path that is wrong in a recipe."""
    argv = ("/bin/sh", "-c", _ABSENT, "sh", *described.tools.values())
    done = engine.run(Command(argv=argv, cwd=Path("/"), timeout=_ANSWER_SECONDS))
    absent = set(done.output.splitlines())
    keys = [f"{key} = {path!r}" for key, path in described.tools.items() if path in absent]
    if keys:
        raise MissingRequirementError(
            f"the image {described.image} of the recipe {described.label} has no such program: images.tools"
            f" {', '.join(keys)}",
            where=described.place,
            fix="Correct the path there, or let the recipe's Dockerfile install the program. `docker run --rm -it"
            f" {described.image} sh` shows what is in the image.",
        )


def _driven_clang(engine: Engine, setup: Setup, hipconfig: str, version: str) -> str:
    """Return the path of the clang++ that hipcc drives; where several are installed its name has the major version."""
    folder = _ask(engine, setup, hipconfig, "--hipclangpath").strip()
    names = [f"{folder}/clang++-{version.partition('.')[0]}", f"{folder}/clang++"]
    for name in names:
        try:
            if f"clang version {version}" in _ask(engine, setup, name, "--version"):
                return name
        except MissingRequirementError:
            continue
    raise MissingRequirementError(
        f"the clang {version} that hipcc drives is not found: neither {' nor '.join(names)} is it",
        where=setup.hipcc,
        fix="Install all of ROCm's compiler packages.",
    )


def _ask(engine: Engine, setup: Setup, program: str, *arguments: str) -> str:
    command = Command(
        argv=(program, *arguments), cwd=Path("/"), timeout=_ANSWER_SECONDS, environment=dict(setup.environment)
    )
    done = engine.run(command)
    if done.returncode != 0:
        ended = "did not end in time" if done.returncode is None else f"ended with {done.returncode}"
        raise MissingRequirementError(
            f"`{PurePosixPath(program).name} {' '.join(arguments)}` {ended}: {done.output.strip()[:500]}",
            where=program,
            fix="See whether ROCm is installed completely there; rocmatrix builds on Linux x86-64.",
        )
    return done.output
