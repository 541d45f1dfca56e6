"""Rule ``abi3``: one binary for every CPython from the lowest on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocmatrix.audit.facts import Binary, Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.plan.extension import EXTENSION_SUFFIX
from rocmatrix.records import Finding, Severity

RULE = "abi3"
_PYTHON = re.compile(r"_?Py")
_NAMING = "Python's import system: name.abi3.so with PyInit_name"
_SHOWN = 5
"""Exports that a finding names at most."""


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each Python symbol outside of the stable ABI, and for a wrong name or wrong exports."""
    for binary in facts.binaries:
        for symbol in binary.elf.symbols:
            if not symbol.defined and _PYTHON.match(symbol.name) and symbol.name not in policy.stable_abi:
                yield _finding(
                    what=f"{symbol.name} is not in the stable ABI of Python {policy.python}",
                    where=f"{binary.path}: {symbol.name}",
                    fix=f"Compile with Py_LIMITED_API for {policy.python}, or do without the symbol.",
                    source=policy.stable_abi_source,
                )
        yield from _name_and_exports(binary, ours=expected.ours)


def exports(binary: Binary) -> tuple[str, ...]:
    """Return the symbols that a binary offers to others, sorted."""
    return tuple(sorted({symbol.name for symbol in binary.elf.symbols if symbol.defined}))


def _name_and_exports(binary: Binary, *, ours: bool) -> Iterator[Finding]:
    """Give a finding for a name or exports that are not an extension module's.

    Exports beyond the module's entry are an error in what rocmatrix builds and a warning elsewhere: they load, but two
    kernels in one process may then meet in them.
    """
    name = binary.path.rpartition("/")[2]
    if not name.endswith(EXTENSION_SUFFIX):
        yield _finding(
            what=f"the extension is named {name}, not *{EXTENSION_SUFFIX}, which says that any Python may load it",
            where=binary.path,
            fix=f"Name it <module>{EXTENSION_SUFFIX}.",
            source=_NAMING,
        )
    entry = f"PyInit_{name.partition('.')[0]}"
    offered = exports(binary)
    if entry not in offered:
        yield _finding(
            what=f"{entry} is not exported: Python cannot import it",
            where=binary.path,
            fix="Register the extension under the name of its file (REGISTER_EXTENSION).",
            source=_NAMING,
        )
    if others := [symbol for symbol in offered if symbol != entry]:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        yield _finding(
            severity=Severity.ERROR if ours else Severity.WARNING,
            what=f"it exports more than {entry}: {', '.join(others[:_SHOWN])}{more}",
            where=binary.path,
            fix="Link with a version script that keeps PyInit_* alone.",
            source="two kernels in one process must not meet in each other's symbols",
        )


def _finding(*, what: str, where: str, fix: str, source: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(rule=RULE, severity=severity, what=what, where=where, fix=fix, source=source)
