"""The rules of the audit: pure functions from what was read, promised and allowed to findings.

A rule never opens a file. Each has an id, which its findings carry; ``RULES`` is the order in which they speak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.audit.rules import (
    abi3,
    archs,
    ceilings,
    cxx_runtime,
    digests,
    fp8,
    hardening,
    in_bytes,
    names,
    needed,
    python_files,
    runpath,
    signature,
    torch_abi,
    waivers,
)
from rocmatrix.audit.rules.waivers import Judgement, apply_waivers
from rocmatrix.records import Finding, Severity

RULES_VERSION = 4
"""Counted up whenever a rule would say something else about the same facts; earlier audits are then done again."""

Check = Callable[[VariantFacts, Expectation, Policy], Iterator[Finding]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule.

    Attributes:
        id: as findings, waivers and the documentation write it.
        summary: what holds where it has nothing to say, one sentence.
        check: gives its findings.
        any_backend: whether it also holds for variants of other backends than ROCm.
    """

    id: str
    summary: str
    check: Check
    any_backend: bool = False


RULES: tuple[Rule, ...] = (
    Rule(id=archs.RULE, summary="GPUs promised, compiled for and listed are the same.", check=archs.check),
    Rule(id=fp8.RULE, summary="FP8 is of the flavour that the processor's instructions read.", check=fp8.check),
    Rule(id=ceilings.RULE, summary="No symbol version is newer than manylinux_2_28 has.", check=ceilings.check),
    Rule(
        id=needed.RULE,
        summary="Only libraries that come with torch are needed.",
        check=needed.check,
    ),
    Rule(id=runpath.RULE, summary="The loader is not told where to look for libraries.", check=runpath.check),
    Rule(id=abi3.RULE, summary="One extension module serves every CPython from the lowest on.", check=abi3.check),
    Rule(
        id=torch_abi.RULE,
        summary="A stable-ABI binary asks torch only for what the torch of its level has.",
        check=torch_abi.check,
    ),
    Rule(
        id=torch_abi.SYMBOLS_RULE,
        summary="A binary for one torch asks only for what that torch exports.",
        check=torch_abi.check_symbols,
    ),
    Rule(
        id=cxx_runtime.RULE,
        summary="There is no second C++ runtime that exceptions could not cross.",
        check=cxx_runtime.check,
    ),
    Rule(
        id=hardening.RULE,
        summary="No executable stack, no relocated code, and tables that become read-only.",
        check=hardening.check,
    ),
    Rule(
        id=in_bytes.SECRETS_RULE, summary="No file holds a credential.", check=in_bytes.check_secrets, any_backend=True
    ),
    Rule(
        id=in_bytes.PATHS_RULE,
        summary="No file holds paths of a build machine.",
        check=in_bytes.check_paths,
        any_backend=True,
    ),
    Rule(
        id=in_bytes.SIZE_RULE,
        summary="No file and no variant is larger than it may be.",
        check=in_bytes.check_size,
        any_backend=True,
    ),
    Rule(
        id=python_files.RULE,
        summary="The Python sources load on the lowest Python, and import themselves relatively.",
        check=python_files.check,
        any_backend=True,
    ),
    Rule(
        id=python_files.OPS_RULE,
        summary="Only _ops.py knows the namespace of the ops.",
        check=python_files.check_ops,
        any_backend=True,
    ),
    Rule(id=names.RULE, summary="Everything is called and laid out as the client wants it.", check=names.check),
    Rule(id=digests.RULE, summary="Files are as build record and metadata say.", check=digests.check, any_backend=True),
    Rule(
        id=signature.RULE, summary="A signature is of the metadata beside it.", check=signature.check, any_backend=True
    ),
)
"""In the order in which they speak."""

RULE_IDS: tuple[str, ...] = tuple(rule.id for rule in RULES)

ROCM = "rocm"
"""The backend that all rules are for."""

UNREADABLE = "readable"
"""Id of findings about files that no rule could look at; it cannot be waived."""

OTHER_RULES: dict[str, str] = {
    UNREADABLE: "Every file can be read as what it should be.",
    waivers.RULE: "Every waiver in matrix.yaml changes something in each variant that it is for.",
}
"""Ids and summaries of findings that come from no rule and that no waiver may name."""


def judge(facts: VariantFacts, expected: Expectation, policy: Policy) -> tuple[Finding, ...]:
    """Return what all rules say about a variant; a file that cannot be read is a finding of its own.

    Of a variant for another backend only the rules for every backend speak: its binaries may be for other machines.
    """
    if expected.backend != ROCM:
        return tuple(found for rule in RULES if rule.any_backend for found in rule.check(facts, expected, policy))
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
    return (*unreadable, *(finding for rule in RULES for finding in rule.check(facts, expected, policy)))


def judge_with_waivers(facts: VariantFacts, expected: Expectation, policy: Policy) -> Judgement:
    """Return what is held against a variant, and what its author waived."""
    return apply_waivers(judge(facts, expected, policy), expected.choice, variant=expected.variant)
