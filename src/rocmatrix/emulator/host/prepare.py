"""What must be there before a variant is loaded: its stand-ins, compiled in a process that it cannot disturb."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.emulator.code_file import check_bundles
from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.needs import exports, read_needs, refused_calls


def prepare(variant: Path, compiler: RuntimeCompiler) -> tuple[Path, ...]:
    """Return the stand-ins for a variant, in the order of loading: libtorch_cpu.so first.

    Raises:
        InputError: it is no shared object, or was built for GPUs and holds no sound code for the emulated one.
        UnsupportedError: it needs what no stand-in has.
        MissingRequirementError: the stand-ins do not compile.
    """
    needs = read_needs(variant)
    check_bundles(variant.read_bytes(), variant.name, wanted=needs.registers_code)
    torch = compiler.torch()
    hip = [compiler.hip(needs.hip)] if needs.hip else []
    provided = frozenset[str]().union(*(exports(path) for path in (torch, *hip)))
    refused = refused_calls(needs, provided)
    others = [compiler.refusals(name, refused if name == needs.torch[0] else ()) for name in needs.torch]
    if refused and not needs.torch:
        others.append(compiler.refusals("libtorch.so", refused))
    return (torch, *hip, *others)
