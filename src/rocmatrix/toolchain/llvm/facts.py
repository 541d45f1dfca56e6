"""Facts from outside that the toolchain relies on: the compiler's set-up, SONAMEs, and what stub libraries export.

They live in ``data/*.toml``, each with its source, the date it was read, and whether it was seen or taken on trust.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from rocmatrix import digest
from rocmatrix.digest import Digest

FOLDER = Path(__file__).parent
DATA = FOLDER / "data"
TASKS = FOLDER / "tasks"
BUNDLER = FOLDER.parent / "bundle.py"
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
class Soname:
    """Name that the HIP runtime of one ROCm major is loaded by."""

    soname: str
    source: str
    date: str
    verified: bool


@cache
def zig_facts() -> ZigFacts:
    """Return how the compiler is set up."""
    return msgspec.convert(_load("zig.toml"), ZigFacts)


@cache
def sonames() -> dict[str, Soname]:
    """Return the HIP runtime's SONAME by ROCm major, e.g. ``"7"``."""
    return msgspec.convert(_load("hip.toml")["sonames"], dict[str, Soname])


def hip_soname(rocm: str) -> str | None:
    """Return the HIP runtime's SONAME for a ROCm minor such as ``7.2``, or ``None`` if it is not known."""
    found = sonames().get(rocm.partition(".")[0])
    return found.soname if found else None


@cache
def recipe_digest() -> Digest:
    """Return the digest of the recipe's own files: code, stub data, shim, probe, HIP declarations."""
    files = [*FOLDER.rglob("*"), *HIP_INCLUDE.rglob("*"), BUNDLER]
    return digest.of_named_files(
        {
            path.relative_to(FOLDER.parent).as_posix(): path
            for path in files
            if path.is_file() and "__pycache__" not in path.parts
        }
    )


def _load(name: str) -> dict[str, object]:
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))
