"""Gates: what is tried on a shared object before it is accepted."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from rocmatrix.binary.elf import read_shared_object
from rocmatrix.binary.facts import UnreadableError
from rocmatrix.engine.interface import Command, Engine
from rocmatrix.plan.model import Abi
from rocmatrix.records import Gate
from rocmatrix.toolchain.interface import BuildRequest
from rocmatrix.toolchain.llvm.facts import DATA

_LOAD_SECONDS = 60.0
_LOADER = "/lib64/ld-linux-x86-64.so.2"
"""Where the x86-64 psABI puts the dynamic loader."""

_TORCH_CXX = re.compile(r"^_Z\w*?(?<![0-9])(?:3c10|2at|5torch|6caffe2)")
"""A mangled name (Itanium C++ ABI) with one of torch's namespaces in it."""
_PYTHON = re.compile(r"^_?Py[A-Z_]")
_UNRESOLVED = re.compile(r"^(?:undefined symbol: (?P<symbol>\S+)|symbol (?P<versioned>[^,\s]+), version .*)")
_ABSENT = re.compile(r"^\s*(?P<library>\S+) => not found")
_MOST = 5


def exports_gate(library: Path, request: BuildRequest) -> Gate:
    """Try whether an extension offers its entry point alone, so that two cannot get in each other's way."""
    name = "exports"
    try:
        elf = read_shared_object(library.read_bytes())[1]
    except (OSError, UnreadableError) as err:
        return Gate(name=name, passed=False, detail=f"cannot be read: {err}")
    entry = f"PyInit_{request.extension}"
    exports = {symbol.name for symbol in elf.symbols if symbol.defined}
    if entry not in exports:
        detail = f"does not export {entry}: the binding lacks REGISTER_EXTENSION(TORCH_EXTENSION_NAME)"
        return Gate(name=name, passed=False, detail=detail)
    if more := sorted(exports - {entry}):
        return Gate(name=name, passed=False, detail=f"exports {_few(more)} beside {entry}")
    return Gate(name=name, passed=True, detail=f"{entry} alone")


def load_gate(engine: Engine, request: BuildRequest) -> Gate:
    """Try whether the image's loader finds every library and every symbol, with empty libraries in place of torch's.

    The loader maps and relocates as it would for Python, and stops before it runs anything of the extension
    (``LD_TRACE_LOADED_OBJECTS`` with ``LD_WARN`` and ``LD_BIND_NOW``, ld.so(8)): the registration of ops needs a real
    torch. What stays open must be torch's: for a stable-ABI unit one of the C functions of that ABI, else also a C++
    name in torch's namespaces. Whether a given torch has such a name the audit asks (``--torch``).
    """
    stubs = request.work / "stubs"
    argv = (
        *("/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes", f"LD_LIBRARY_PATH={stubs}"),
        *(_LOADER, str(request.output)),
    )
    command = Command(argv=argv, cwd=request.work, timeout=_LOAD_SECONDS, places=request.places, room=request.room)
    return judge_trace(engine.run(command).output, request)


def judge_trace(said: str, request: BuildRequest) -> Gate:
    """Return the gate ``loads`` by what the loader printed."""
    lines = said.splitlines()
    absent = [match["library"] for line in lines if (match := _ABSENT.match(line))]
    found = [match["symbol"] or match["versioned"] for line in lines if (match := _UNRESOLVED.match(line))]
    missing = [symbol for symbol in found if not _is_torchs(symbol, request.unit.abi)]
    if absent:
        return Gate(name="loads", passed=False, detail=f"the loader does not find {_few(absent)}")
    if missing:
        return Gate(name="loads", passed=False, detail=f"nobody defines {_few(missing)}")
    if not any("libc.so.6 => /" in line for line in lines):
        return Gate(name="loads", passed=False, detail=f"the loader said: {said.strip()[:500] or 'nothing'}")
    detail = f"the image's loader finds every library, and every symbol but {len(set(found))} of torch's"
    return Gate(name="loads", passed=True, detail=detail)


def _is_torchs(name: str, abi: Abi) -> bool:
    """Return whether a symbol is one that torch or Python has when the extension is imported."""
    if name in _stable_functions() or _PYTHON.match(name):
        return True
    return abi is Abi.PER_TORCH and _TORCH_CXX.match(name) is not None


@cache
def _stable_functions() -> frozenset[str]:
    """Return the C functions of torch's stable ABI, of all its libraries."""
    libraries = tomllib.loads((DATA / "torch.toml").read_text(encoding="utf-8"))["libraries"]
    return frozenset(symbol for library in libraries.values() for symbol in library["symbols"])


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return ", ".join(listed[:_MOST]) + more
