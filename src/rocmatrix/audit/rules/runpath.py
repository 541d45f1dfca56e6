"""Rule ``runpath``: a binary does not tell the loader where to look."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.records import Finding, Severity

RULE = "runpath"


def check(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each RPATH or RUNPATH, even an empty one: an empty path is the current directory."""
    del expected, policy
    for binary in facts.binaries:
        for tag, value in (("RPATH", binary.elf.rpath), ("RUNPATH", binary.elf.runpath)):
            if value is not None:
                yield Finding(
                    rule=RULE,
                    severity=Severity.ERROR,
                    what=f"the loader would look for libraries in {value!r}",
                    where=f"{binary.path}: {tag}",
                    fix="Link without -rpath, or remove it with `patchelf --remove-rpath`.",
                    source="kernel-builder strips RPATH; a path of the build machine must not decide what users load",
                )
