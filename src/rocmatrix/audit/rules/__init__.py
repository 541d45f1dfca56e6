"""The rules of the audit: pure functions from what was read, promised and allowed to findings.

A rule never opens a file. Each has an id, which its findings carry; ``AUDITED`` is the order in which they speak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.audit.rules import abi3, archs, ceilings, digests, names, needed, runpath
from rocmatrix.records import Finding, Severity

RULES_VERSION = 1
"""Counted up whenever a rule would say something else about the same facts; earlier audits are then done again."""

Rule = Callable[[VariantFacts, Expectation, Policy], Iterator[Finding]]

RULES: tuple[tuple[str, Rule], ...] = (
    (archs.RULE, archs.check),
    (ceilings.RULE, ceilings.check),
    (needed.RULE, needed.check),
    (runpath.RULE, runpath.check),
    (abi3.RULE, abi3.check),
    (names.RULE, names.check),
    (digests.RULE, digests.check),
)
"""Id and function; names and digests are two halves of one rule."""

RULE_IDS: tuple[str, ...] = tuple(dict.fromkeys(rule for rule, _ in RULES))

UNREADABLE = "readable"
"""Id of findings about files that no rule could look at."""


def judge(facts: VariantFacts, expected: Expectation, policy: Policy) -> tuple[Finding, ...]:
    """Return what all rules say about a variant; a file that cannot be read is a finding of its own."""
    unreadable = (
        Finding(
            rule=UNREADABLE,
            severity=Severity.ERROR,
            what=f"{file.path} cannot be audited: {file.what}",
            where=file.path,
            fix="Build it anew; if it was downloaded, download it again.",
            source="what cannot be read cannot be vouched for",
        )
        for file in facts.unreadable
    )
    return (*unreadable, *(finding for _, rule in RULES for finding in rule(facts, expected, policy)))
