"""Where LLVM's tools with the AMDGPU target are, on machines that have them (Debian: the package llvm-19 or later)."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

_OLDEST = 19
"""The first LLVM whose gfx942 is what the compiler emits for."""
_SUFFIXES = (*(f"-{number}" for number in range(_OLDEST + 6, _OLDEST - 1, -1)), "")
_SECONDS = 30


@cache
def find_tool(name: str) -> str:
    """Return a tool that knows the target amdgcn.

    Raises:
        LookupError: there is none.
    """
    for suffix in _SUFFIXES:
        path = shutil.which(f"{name}{suffix}")
        if path and _is_suitable(path):
            return path
    raise LookupError(f"no {name} of LLVM {_OLDEST} or later with the target amdgcn is installed")


def missing_objdump() -> str | None:
    """Return why instructions cannot be compared with LLVM's disassembler, or ``None``."""
    try:
        find_tool("llvm-objdump")
        find_tool("llvm-mc")
    except LookupError as err:
        return f"{err} (Debian: apt-get install --no-install-recommends llvm-19)"
    return None


def _is_suitable(path: str) -> bool:
    run = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=_SECONDS)
    version = re.search(r"LLVM version (\d+)", run.stdout)
    return version is not None and int(version[1]) >= _OLDEST and "amdgcn" in run.stdout
