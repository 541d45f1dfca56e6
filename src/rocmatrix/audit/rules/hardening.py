"""Rule ``hardening``: loading it makes no memory both writable and executable, and its tables cannot be overwritten."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.binary.facts import Relro
from rocmatrix.records import Finding, Severity

RULE = "hardening"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for an executable stack, for relocations of code, and for tables that stay writable."""
    del expected, policy
    for binary in facts.binaries:
        if binary.elf.executable_stack:
            yield _finding(
                Severity.ERROR,
                "it makes the stacks of the whole process executable; glibc 2.41 and later refuse to load it",
                f"{binary.path}: PT_GNU_STACK",
                'Link with -z noexecstack; assembly needs .section .note.GNU-stack,"",@progbits.',
                "gABI supplement of Linux, PT_GNU_STACK; glibc 2.41: dlopen no longer makes the stack executable",
            )
        if binary.elf.text_relocations:
            yield _finding(
                Severity.ERROR,
                "the loader has to write into its code, which several systems forbid",
                f"{binary.path}: DT_TEXTREL",
                "Compile everything in it with -fPIC, and link with -z text.",
                "System V ABI, dynamic section: DT_TEXTREL; SELinux execmod",
            )
        if binary.elf.relro is Relro.NONE:
            yield _finding(
                Severity.WARNING,
                "the tables that the loader fills in stay writable (no RELRO)",
                f"{binary.path}: PT_GNU_RELRO",
                "Link with -z relro -z now.",
                "Linux Standard Base 5.0, PT_GNU_RELRO",
            )


def _finding(severity: Severity, what: str, where: str, fix: str, source: str) -> Finding:
    return Finding(rule=RULE, severity=severity, what=what, where=where, fix=fix, source=source)
