"""Rule ``fp8-flavour``: the FP8 that an op takes is the one that the processor's instructions read.

The instructions have the same opcodes on every processor, so the code alone never shows a mistake: what is compared is
the name of a flavour, in a kernel's mangled arguments, in the dtypes that the binding and its messages name and in the
Python sources, with what the processor makes of the bytes. Code that names both flavours may convert between them, and
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.content_facts import Fp8Flavour
from rocmatrix.audit.device_code import arch_of, code_objects, reads_fp8
from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.binary.facts import CodeObject
from rocmatrix.binary.kernel_facts import Kernel
from rocmatrix.records import Finding, Severity

RULE = "fp8-flavour"
_SYMBOL = "aoti_torch_dtype_float8_"
_SHOWN = 100
"""Characters of a kernel's name that a finding shows."""


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each kernel and each op whose flavour is not the one of a processor that it is built for."""
    del expected
    codes = [(path, code) for path, code in code_objects(facts) if arch_of(code) in policy.fp8.archs]
    for path, code in codes:
        for kernel in code.kernels:
            yield from _kernel(path, code, kernel, policy)
    named, where = _named_by_host(facts)
    if named is not None:
        yield from _host(named, where, [code for _, code in codes], policy)


def flavours_in(name: str, policy: Policy) -> frozenset[Fp8Flavour]:
    """Return the flavours of the FP8 types in a mangled name; a type's name inside a longer one does not count."""
    found = set()
    for type_name, flavour in policy.fp8.types.items():  # longest first
        if type_name in name:
            found.add(flavour)
            name = name.replace(type_name, " ")
    return frozenset(found)


def _kernel(path: str, code: CodeObject, kernel: Kernel, policy: Policy) -> Iterator[Finding]:
    own = policy.fp8.archs[arch_of(code)]
    named = flavours_in(kernel.name, policy)
    reads = reads_fp8(kernel)
    if not named or own in named or reads is False:
        return
    (other,) = named
    what = f"{_cut(kernel.name)} takes {other} FP8, but matrix instructions of {arch_of(code)} read {own} FP8"
    if reads is None:
        what += "; whether it uses any could not be read"
    yield Finding(
        rule=RULE,
        severity=Severity.WARNING if reads is None else Severity.ERROR,
        what=what,
        where=f"{path}: code object for {arch_of(code)}",
        fix=f"Compile that kernel for {arch_of(code)} with {own} types, or convert before the matrix instructions.",
        source=policy.fp8.source,
    )


def _host(named: Fp8Flavour, where: str, codes: list[CodeObject], policy: Policy) -> Iterator[Finding]:
    """Give a finding for each processor whose matrix instructions read another flavour than the only one named."""
    others = {arch_of(code): code for code in codes if policy.fp8.archs[arch_of(code)] is not named}
    for arch in sorted(others):
        read = [reads_fp8(kernel) for code in codes if arch_of(code) == arch for kernel in code.kernels]
        if not any(read):
            continue
        own = policy.fp8.archs[arch]
        yield Finding(
            rule=RULE,
            severity=Severity.ERROR,
            what=f"only dtypes of {named} FP8 are named, but the matrix instructions for {arch} read {own} FP8",
            where=where,
            fix=f"Take {_DTYPES[own]} on {arch}, or convert the operands and say so with a waiver.",
            source=policy.fp8.source,
        )


_DTYPES = {
    Fp8Flavour.FNUZ: "torch.float8_e4m3fnuz and torch.float8_e5m2fnuz",
    Fp8Flavour.OCP: "torch.float8_e4m3fn and torch.float8_e5m2",
}


def _named_by_host(facts: VariantFacts) -> tuple[Fp8Flavour | None, str]:
    """Return the only flavour that binding, messages and Python sources name, and a place where; else ``None``."""
    named: set[Fp8Flavour] = set()
    where = ""
    for path, flavours in facts.contents.host_fp8:
        named |= flavours
        where = where or (path if flavours else "")
    for source in facts.contents.python:
        named |= source.fp8
        where = where or (source.path if source.fp8 else "")
    for binary in facts.binaries:
        symbols = {symbol.name for symbol in binary.elf.symbols if symbol.name.startswith(_SYMBOL)}
        asked = {Fp8Flavour.FNUZ if name.endswith("fnuz") else Fp8Flavour.OCP for name in symbols}
        if len(asked) == 1:  # torch's own conversions between its dtypes and numbers ask for all of them
            named |= asked
            where = where or binary.path
    return (named.pop(), where) if len(named) == 1 else (None, where)


def _cut(name: str) -> str:
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
