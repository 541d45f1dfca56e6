"""Facts from outside that the toolchain relies on: the compiler's set-up, and what stub libraries export.

They live in ``data/*.toml``, SONAMEs in ``plan/compat.toml``, each with its source, the date it was read, and whether
it was seen or taken on trust.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from rocmatrix import digest
from rocmatrix.digest import Digest
from rocmatrix.plan.compat import HipSoname, load_compat
from rocmatrix.plan.version import minor_key

FOLDER = Path(__file__).parent
DATA = FOLDER / "data"
TASKS = FOLDER / "tasks"
BUNDLER = FOLDER.parent / "bundle.py"
SHARED = tuple(FOLDER.parent / name for name in ("bundle.py", "includes.py", "project_sources.py"))
HIP_INCLUDE = FOLDER.parent / "include"
EXPORTS = DATA / "exports.map"

CPU_TRIPLE = "x86_64-linux-gnu"


@dataclass(frozen=True, kw_only=True)
class ZigFacts:
    """How ziglang's own C++ driver sets up a compilation; ``data/zig.toml``.

    Attributes:
        ziglang: version of the wheel for which this holds.
        clang: version of the clang inside.
        target: triple with the lowest glibc that a result needs.
        include: folders relative to the wheel's ``lib``, in order of search.
        define: macros.
        libraries: files of a link that zig makes, in the linker's order.
    """

    ziglang: str
    clang: str
    source: str
    date: str
    verified: bool
    target: str
    include: tuple[str, ...]
    define: tuple[str, ...]
    libraries: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class HipDeclarations:
    """The first ROCm minor that our declarations of HIP hold for; ``declarations.hip`` in ``data/hip.toml``."""

    first: str
    source: str
    date: str
    verified: bool


@cache
def zig_facts() -> ZigFacts:
    """Return how the compiler is set up."""
    return msgspec.convert(_load("zig.toml"), ZigFacts)


@cache
def hip_runtimes() -> tuple[HipSoname, ...]:
    """Return the HIP runtimes of compat.toml that our declarations hold for."""
    declared = msgspec.convert(_load("hip.toml")["declarations"], dict[str, HipDeclarations])["hip"]
    return tuple(row for row in load_compat().hip_sonames if minor_key(row.first) >= minor_key(declared.first))


def hip_soname(rocm: str) -> str | None:
    """Return the HIP runtime's SONAME for a ROCm minor such as ``7.2``, or ``None`` if it cannot be linked against."""
    return next((row.soname for row in hip_runtimes() if row.covers(rocm)), None)


@cache
def recipe_digest() -> Digest:
    """Return the digest of the recipe: its own code, stub data, shim, probe, HIP declarations, and the SONAMEs."""
    files = [*FOLDER.rglob("*"), *HIP_INCLUDE.rglob("*"), *SHARED]
    own = {
        path.relative_to(FOLDER.parent).as_posix(): path
        for path in files
        if path.is_file() and "__pycache__" not in path.parts
    }
    sonames = [[row.first, row.last, row.soname] for row in hip_runtimes()]
    parts = [("files", digest.of_named_files(own).encode()), ("sonames", digest.canonical_json(sonames))]
    return digest.of_parts(parts)


def _load(name: str) -> dict[str, object]:
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))
