"""The compiler inside the ziglang wheel: where it is, whether it runs, and which versions it has."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rocmatrix.engine.interface import Command, Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.toolchain.llvm.facts import zig_facts

INSTALL = "Install it with: pip install 'rocmatrix[embedded]'"
_ANSWER_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """An installed ziglang.

    Attributes:
        program: the executable ``zig``, which is clang, ld.lld and zig's own drivers by first argument.
        lib: the wheel's folder ``lib``.
        ziglang: version of the wheel.
        clang: version that clang says it has.
        archs: AMD GPU targets that clang knows, e.g. ``gfx942``.
    """

    program: Path
    lib: Path
    ziglang: str
    clang: str
    archs: frozenset[str]


def find_compiler(engine: Engine) -> Compiler:
    """Find the installed ziglang and ask it for its versions.

    Raises:
        MissingRequirementError: there is none, it does not run, or it is not the release that this recipe is made for.
    """
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise MissingRequirementError(
            "the toolchain llvm needs the package ziglang, which is not installed", fix=INSTALL
        )
    folder = Path(spec.origin).parent
    installed = metadata.version("ziglang")
    if installed != zig_facts().ziglang:
        raise MissingRequirementError(
            f"the toolchain llvm is made for ziglang {zig_facts().ziglang}, but {installed} is installed", fix=INSTALL
        )
    program = folder / "zig"
    version = re.search(r"clang version (\S+)", _ask(engine, program, "clang", "--version"))
    if version is None:
        raise MissingRequirementError("zig does not say which clang it contains", where=str(program), fix=INSTALL)
    answer = _ask(engine, program, "clang", "-target", "amdgcn-amd-amdhsa", "--print-supported-cpus")
    return Compiler(
        program=program,
        lib=folder / "lib",
        ziglang=installed,
        clang=version[1],
        archs=frozenset(re.findall(r"^\s+(gfx[0-9a-f]+)$", answer, re.MULTILINE)),
    )


def _ask(engine: Engine, program: Path, *arguments: str) -> str:
    done = engine.run(Command(argv=(str(program), *arguments), cwd=program.parent, timeout=_ANSWER_SECONDS))
    if done.returncode != 0:
        raise MissingRequirementError(
            f"the compiler does not run: `{program.name} {' '.join(arguments)}` ended with {done.returncode}: "
            f"{done.output.strip()[:500]}",
            where=str(program),
            fix="rocmatrix's toolchain llvm runs on Linux x86-64; see whether the file is complete and executable.",
        )
    return done.output
