"""What a variant needs of its process, and what of that nobody here has: said before anything of it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.binary.elf import read_shared_object
from rocmatrix.binary.facts import ElfFacts, UnreadableError
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.errors import InputError

HIP_LIBRARY = re.compile(r"libamdhip64\.so\.\d+")
TORCH_LIBRARIES = ("libtorch.so", "libtorch_hip.so", "libc10.so", "libc10_hip.so")
"""Libraries of a ROCm torch besides libtorch_cpu.so; a stand-in is empty but for what refuses."""

_SYSTEM = re.compile(r"(libstdc\+\+|libgcc_s|libc|libm|libdl|librt|libpthread|ld-linux-x86-64)\.so\.\d+")
_TORCH_CPU = "libtorch_cpu.so"
_TORCH_PREFIXES = ("aoti_", "torch_")
_HIP_PREFIXES = ("hip", "__hip")
_REGISTERS = "__hipRegisterFatBinary"
"""What clang's constructors call for a translation unit with kernels (clang, ``CGCUDANV.cpp``)."""
_UNSTABLE = re.compile(r"_Z(?:N|NK|T[VIST]N|StlsR?)?(?:2at|3c10|5torch)")


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What one shared object asks of the loader.

    Attributes:
        hip: SONAME of the HIP runtime; ``None`` if it needs none.
        torch: further libraries of torch.
        symbols: undefined symbols without a version, in the file's order.
        registers_code: whether it gives device code to the HIP runtime when it is loaded.
    """

    hip: str | None
    torch: tuple[str, ...]
    symbols: tuple[str, ...]
    registers_code: bool = False


def read_needs(path: Path) -> Needs:
    """Return what a variant's shared object needs.

    Raises:
        InputError: it is no shared object for x86-64 Linux.
        UnsupportedError: it needs a library for which there is no stand-in.
    """
    try:
        elf = read_shared_object(path.read_bytes())[1]
    except UnreadableError as err:
        raise InputError(str(err), where=str(path), fix="Give the .so of a variant.") from err
    hip = [name for name in elf.needed if HIP_LIBRARY.fullmatch(name)]
    torch = [name for name in elf.needed if name in TORCH_LIBRARIES]
    known = {*hip, *torch, _TORCH_CPU}
    strange = [name for name in elf.needed if name not in known and not _SYSTEM.fullmatch(name)]
    if strange:
        raise UnsupportedError(f"an extension that needs {', '.join(strange)}")
    undefined = [symbol for symbol in elf.symbols if not symbol.defined]
    return Needs(
        hip=hip[0] if hip else None,
        torch=tuple(torch),
        symbols=tuple(symbol.name for symbol in undefined if symbol.version is None),
        registers_code=any(symbol.name == _REGISTERS for symbol in undefined),
    )


def exports(path: Path) -> frozenset[str]:
    """Return the symbols that a library of ours defines."""
    elf: ElfFacts = read_shared_object(path.read_bytes())[1]
    return frozenset(symbol.name for symbol in elf.symbols if symbol.defined)


def refused_calls(needs: Needs, provided: frozenset[str]) -> tuple[str, ...]:
    """Return the functions of torch's stable ABI that the variant may call and that only refuse.

    Raises:
        UnsupportedError: it needs calls of HIP that are not emulated, or parts of torch that are not its stable ABI.
    """
    missing = [name for name in needs.symbols if name not in provided]
    hip = [name for name in missing if name.startswith(_HIP_PREFIXES)]
    if hip:
        raise UnsupportedError(f"these calls of the HIP runtime: {', '.join(sorted(hip))}")
    unstable = [name for name in missing if _UNSTABLE.match(name)]
    if unstable:
        what = f"extensions that use torch beyond its stable ABI ({len(unstable)} symbols, the first: {unstable[0]})"
        raise UnsupportedError(what)
    return tuple(sorted(name for name in missing if name.startswith(_TORCH_PREFIXES)))
