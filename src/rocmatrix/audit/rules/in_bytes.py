"""Rules ``secrets``, ``build-paths`` and ``size``: what must not be in a published file, and how large it may be."""

from __future__ import annotations

from collections.abc import Iterator

from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.plan.matrix_audit import MEGABYTE
from rocmatrix.records import Finding, Severity

SECRETS_RULE = "secrets"
PATHS_RULE = "build-paths"
SIZE_RULE = "size"
_SHOWN = 20
"""Findings of one kind for one file at most."""


def check_secrets(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each thing that looks like a credential; it is never repeated in full."""
    del expected
    for secret in facts.contents.secrets[: _SHOWN * 10]:
        yield Finding(
            rule=SECRETS_RULE,
            severity=Severity.ERROR,
            what=f"there is what looks like a {secret.kind} ({secret.shown}...)",
            where=f"{secret.path}: byte {secret.offset}",
            fix="Revoke it where it was issued, then build without it: everybody who has this file has it too.",
            source=policy.bytes.secrets_source,
        )
    yield from _unsearched(facts, policy)


def _unsearched(facts: VariantFacts, policy: Policy) -> Iterator[Finding]:
    for path, offset in facts.contents.unsearched:
        yield Finding(
            rule=SECRETS_RULE,
            severity=Severity.WARNING,
            what="there are so many places that begin as a credential or a path does that the search ended here",
            where=f"{path}: byte {offset}",
            fix="Look at the file: no program has them in such numbers.",
            source=policy.bytes.secrets_source,
        )


def check_paths(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for paths of the machine that built a file: an error in what must be the same on every machine."""
    shown: dict[str, int] = {}
    for found in facts.contents.build_paths:
        shown[found.path] = shown.get(found.path, 0) + 1
        if shown[found.path] > _SHOWN:
            continue
        more = f" and {found.count - 1} more below the same folder" if found.count > 1 else ""
        yield Finding(
            rule=PATHS_RULE,
            severity=Severity.ERROR if expected.ours else Severity.WARNING,
            what=f"it has a path of the machine that built it: {found.text}{more}",
            where=f"{found.path}: byte {found.offset}",
            fix="Compile with -ffile-prefix-map=<folder>=., without debugging information, and strip it.",
            source=policy.bytes.roots_source,
        )


def check_size(facts: VariantFacts, expected: Expectation, policy: Policy) -> Iterator[Finding]:
    """Give a finding for each file, and for a variant, that weighs more than it may."""
    size = policy.size
    largest = expected.choice.max_file_size or size.file
    whole = expected.choice.max_variant_size or size.variant
    chosen = "audit of the kernel in matrix.yaml"
    severity = Severity.ERROR if expected.ours else Severity.WARNING
    for path, count in facts.contents.sizes:
        if count > largest:
            yield Finding(
                rule=SIZE_RULE,
                severity=severity,
                what=f"it has {_megabytes(count)}, and a file may have {_megabytes(largest)}",
                where=path,
                fix="Compile for fewer archs, compress the device code (--offload-compress), or raise max-file-mb.",
                source=chosen if expected.choice.max_file_size else size.source,
            )
    total = sum(count for _, count in facts.contents.sizes)
    if facts.folder and total > whole:
        yield Finding(
            rule=SIZE_RULE,
            severity=severity,
            what=f"the variant has {_megabytes(total)}, and may have {_megabytes(whole)}",
            where=".",
            fix="Compile for fewer archs, leave out what is not needed, or raise max-variant-mb.",
            source=chosen if expected.choice.max_variant_size else size.source,
        )


def _megabytes(count: int) -> str:
    return f"{count / MEGABYTE:,.1f} MB"
