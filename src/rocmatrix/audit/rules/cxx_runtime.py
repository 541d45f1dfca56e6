"""Rule ``cxx-runtime``: exceptions cross between torch, Python and the kernel because there is one C++ runtime."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.facts import Binary, Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.binary.facts import CxxRuntime
from rocmatrix.records import Finding, Severity

RULE = "cxx-runtime"
_UNWINDING = frozenset({CxxRuntime.LIBCXXABI, CxxRuntime.LIBUNWIND, CxxRuntime.LIBGCC})
"""Runtimes that throw, catch or unwind; the headers and containers of libc++ alone do no harm inside."""
_THROWS = ("__cxa_throw", "__cxa_begin_catch", "__cxa_rethrow", "_Unwind_RaiseException", "_Unwind_Resume")
_SHOWN = 4
"""Functions that a finding names at most."""
_FIX = "Link with the libstdc++.so.6 and libgcc_s.so.1 of the system, without -static-libstdc++ and -static-libgcc."


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each binary that brings its own functions for throwing, catching or unwinding."""
    del expected, policy
    for binary in facts.binaries:
        yield from _own_runtime(binary)


def _own_runtime(binary: Binary) -> Iterator[Finding]:
    signs = binary.elf.cxx
    if signs.defined:
        shown = ", ".join(signs.defined[:_SHOWN]) + (" and more" if len(signs.defined) > _SHOWN else "")
        yield _finding(
            Severity.ERROR,
            f"it has a C++ runtime of its own ({shown}): an exception that leaves it ends the process",
            binary.path,
        )
        return
    inside = sorted(set(signs.inside) & _UNWINDING)
    if inside and not any(name in signs.undefined for name in _THROWS):
        found = " and ".join(inside)
        yield _finding(
            Severity.ERROR,
            f"{found} is linked into it and it asks no library for exceptions: one that leaves it ends the process",
            binary.path,
        )


def _finding(severity: Severity, what: str, where: str) -> Finding:
    return Finding(
        rule=RULE,
        severity=severity,
        what=what,
        where=where,
        fix=_FIX,
        source="Itanium C++ ABI, exception handling: thrower and catcher share one runtime",
    )
