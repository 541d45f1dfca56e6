"""Gates: what is tried on a shared object before it is accepted."""

from __future__ import annotations

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from rocmatrix.engine.interface import Command, Engine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.records import Gate
from rocmatrix.toolchain.llvm.kit import task
from rocmatrix.toolchain.llvm.tasks.load import NO_CXX_RUNTIME

_LOAD_SECONDS = 60.0

# Any of these inside an extension means that exceptions are handled by zig's runtime there: the first one that leaves
# the extension, or comes in, aborts the process.
_FORBIDDEN = frozenset(
    {
        "__cxa_allocate_exception",
        "__cxa_begin_catch",
        "__cxa_end_catch",
        "__cxa_get_globals",
        "__cxa_rethrow",
        "__cxa_throw",
        "__gxx_personality_v0",
    }
)
_FORBIDDEN_PREFIX = "_Unwind_"


def runtime_gate(unstripped: Path) -> Gate:
    """Try whether a link that still has its symbol table contains no exception handling of its own."""
    name = "no-cxx-runtime-inside"
    try:
        defined = _defined_symbols(unstripped)
    except (OSError, ELFError) as err:
        return Gate(name=name, passed=False, detail=f"cannot be read: {err}")
    if not defined:
        return Gate(name=name, passed=False, detail="there is no symbol table to look into")
    inside = sorted(symbol for symbol in defined if symbol in _FORBIDDEN or symbol.startswith(_FORBIDDEN_PREFIX))
    if inside:
        detail = f"defines {', '.join(inside)}: the first exception would abort Python"
        return Gate(name=name, passed=False, detail=detail)
    return Gate(name=name, passed=True, detail=f"none of {len(defined)} defined symbols handles exceptions")


def load_gate(engine: Engine, library: Path, extension: str, stubs: Path) -> Gate:
    """Try whether the loader takes an extension, with stubs for HIP and torch and this machine's C++ runtime.

    Raises:
        MissingRequirementError: this machine has no libstdc++.so.6.
    """
    done = engine.run(
        Command(
            argv=task("load", str(library), f"PyInit_{extension}"),
            cwd=library.parent,
            timeout=_LOAD_SECONDS,
            environment={"LD_LIBRARY_PATH": str(stubs)},
        )
    )
    said = done.output.strip()
    if done.returncode == NO_CXX_RUNTIME:
        raise MissingRequirementError(
            f"a built extension cannot be loaded on trial, because this machine has no libstdc++.so.6: {said}",
            fix="Install libstdc++6 (Debian, Ubuntu) or libstdc++ (Fedora, RHEL); NumPy and torch need it too.",
        )
    if done.returncode != 0:
        said = said or "nothing"
        ended = "did not end in time" if done.returncode is None else f"ended with {done.returncode}"
        return Gate(name="loads", passed=False, detail=f"loading it {ended} and said: {said}")
    return Gate(name="loads", passed=True, detail=said)


def _defined_symbols(path: Path) -> set[str]:
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            return set()
        return {symbol.name for symbol in table.iter_symbols() if symbol.name and symbol["st_shndx"] != "SHN_UNDEF"}
