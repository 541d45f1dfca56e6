"""Rule ``needed``: only libraries that users have with torch, and the HIP runtime of the variant's ROCm among them."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.facts import Binary, Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.records import Finding, Severity

RULE = "needed"
HIP_STEM = "libamdhip64.so"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each library that users may lack, and for a HIP runtime that is missing or of another ROCm."""
    for binary in facts.binaries:
        runtimes = [name for name in binary.elf.needed if _stem(name) == HIP_STEM]
        yield from _hip(binary, runtimes, expected.hip_soname)
        for name in binary.elf.needed:
            if name not in runtimes:
                yield from _library(binary, name, policy)


def _hip(binary: Binary, runtimes: list[str], soname: str | None) -> Iterator[Finding]:
    source = "compat.toml: the SONAME of libamdhip64 in each ROCm"
    if soname is None:
        if binary.bundles and not runtimes:
            what = "it holds GPU code but needs no HIP runtime to launch it"
            yield _finding(Severity.WARNING, what, binary.path, "Link it with libamdhip64.", source)
        return
    if not runtimes:
        what = f"it does not need {soname}: nothing makes sure that the HIP runtime is there"
        yield _finding(Severity.ERROR, what, binary.path, f"Link it with {soname}.", source)
    for name in runtimes:
        if name != soname:
            what = f"it needs {name}, but the HIP runtime of this ROCm is {soname}: it will not load"
            fix = f"Link it against the ROCm that the variant names ({soname})."
            yield _finding(Severity.ERROR, what, f"{binary.path}: NEEDED {name}", fix, source)


def _library(binary: Binary, name: str, policy: Policy) -> Iterator[Finding]:
    if name in policy.libraries:
        return
    where = f"{binary.path}: NEEDED {name}"
    if _stem(name) in policy.rocm_stems:
        what = f"it needs {name}; torch brings that library, but its number for this ROCm is not known here"
        fix = "Compare it with the library of the ROCm that the variant names."
        yield _finding(Severity.WARNING, what, where, fix, policy.libraries_source)
        return
    what = f"it needs {name}, which users do not get with torch"
    fix = "Link that library statically, or do without it."
    yield _finding(Severity.ERROR, what, where, fix, policy.libraries_source)


def _stem(name: str) -> str:
    """Return a SONAME up to ``.so``, without its number."""
    head, dot, _ = name.partition(".so")
    return head + dot


def _finding(severity: Severity, what: str, where: str, fix: str, source: str) -> Finding:
    return Finding(rule=RULE, severity=severity, what=what, where=where, fix=fix, source=source)
