"""Make a stub library: ``stub.py OUTPUT DATA LIBRARY ASSEMBLER... -- LINKER...``.

A stub has the names, and where the data has them the symbol versions, of a real shared library. Its functions return 0
and its objects are zero. The linker reads names and versions from it; nothing of it gets into what is linked. A stub
of libamdhip64 or torch is also good enough to load an extension on trial: registration is all that happens then, and 0
means success there.

DATA is a TOML file with ``libraries.<LIBRARY>``: either a list ``symbols``, or tables ``functions`` and ``objects``
that map a version to names. The assembler is handed ``-c SOURCE -o OBJECT`` for x86-64, the linker
``--soname --version-script OBJECT -o OUTPUT``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SEPARATOR = "--"
OBJECT_BYTES = 64


@dataclass(frozen=True, kw_only=True)
class StubSymbols:
    """What a stub exports.

    Attributes:
        functions: names by symbol version; the version ``""`` stands for none. Likewise ``objects``.
    """

    functions: Mapping[str, tuple[str, ...]]
    objects: Mapping[str, tuple[str, ...]]


def read_symbols(data: bytes, library: str) -> StubSymbols:
    """Return the symbols of one library in a data file.

    Raises:
        KeyError: the file does not describe the library.
    """
    table = tomllib.loads(data.decode())["libraries"][library]
    functions = {"": table["symbols"]} if "symbols" in table else table.get("functions", {})
    return StubSymbols(
        functions={version: tuple(names) for version, names in functions.items()},
        objects={version: tuple(names) for version, names in table.get("objects", {}).items()},
    )


def assembly(symbols: StubSymbols) -> str:
    """Return assembly that defines every symbol."""
    lines = ["\t.text"]
    for name in sorted(_names(symbols.functions)):
        lines += [f"\t.globl {name}", f"\t.type {name},@function", f"{name}:"]
    lines += ["\txorl %eax, %eax", "\tret", "\t.data"]
    for name in sorted(_names(symbols.objects)):
        lines += [f"\t.globl {name}", f"\t.type {name},@object", f"\t.size {name}, {OBJECT_BYTES}", f"{name}:"]
    lines += [f"\t.zero {OBJECT_BYTES}", '\t.section .note.GNU-stack,"",@progbits', ""]
    return "\n".join(lines)


def version_script(symbols: StubSymbols) -> str:
    """Return the version script that gives every symbol its version."""
    blocks = []
    for version in sorted({*symbols.functions, *symbols.objects}):
        names = sorted((*symbols.functions.get(version, ()), *symbols.objects.get(version, ())))
        body = "".join(f"  {name};\n" for name in names)
        blocks.append(f"{version}{' ' if version else ''}{{\nglobal:\n{body}}};\n")
    return "".join(blocks)


def main(argv: Sequence[str]) -> int:
    """Make the library; return the exit status of what failed, or 0."""
    output, data, library, *tools = argv
    symbols = read_symbols(Path(data).read_bytes(), library)
    split = tools.index(SEPARATOR)
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source, versions, made = (str(Path(scratch, name)) for name in ("stub.s", "versions.map", "stub.o"))
        Path(source).write_text(assembly(symbols))
        Path(versions).write_text(version_script(symbols))
        names = (f"--soname={Path(output).name}", f"--version-script={versions}")
        for command in (
            [*tools[:split], "-c", source, "-o", made],
            [*tools[split + 1 :], *names, made, "-o", output],
        ):
            status = subprocess.run(command, check=False).returncode
            if status:
                return status if status > 0 else 128 - status
    return 0


def _names(by_version: Mapping[str, Iterable[str]]) -> set[str]:
    return {name for names in by_version.values() for name in names}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
