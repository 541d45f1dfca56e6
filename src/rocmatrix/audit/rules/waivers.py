"""Waivers: findings that an author does not want to be held against a kernel, each with a reason that reports show.

A waiver must change something in every variant that it is for. One that does not is an error: it would hide the next
finding of its rule, which nobody has seen yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rocmatrix.plan.audit_choice import AuditChoice, Waiver
from rocmatrix.records import Finding, Severity, WaivedFinding

RULE = "waivers"
"""Id of findings about waivers; it cannot be waived itself."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What rules say of a variant once its author was heard.

    Attributes:
        findings: that are held against it, those about stale waivers included.
        waived: that are not.
    """

    findings: tuple[Finding, ...]
    waived: tuple[WaivedFinding, ...]


def apply_waivers(findings: Iterable[Finding], choice: AuditChoice, *, variant: str | None) -> Judgement:
    """Return what is held against a variant.

    Args:
        findings: of all rules.
        choice: what the author asks.
        variant: name of the variant; ``None`` if it has none, and then no waiver is for it.
    """
    meant = [waiver for waiver in choice.waive if variant is not None and _is_for(waiver, variant)]
    used: set[Waiver] = set()
    kept, waived = [], []
    for finding in findings:
        waiver = next((waiver for waiver in meant if _matches(waiver, finding)), None)
        if waiver is None:
            kept.append(finding)
        else:
            used.add(waiver)
            waived.append(WaivedFinding(finding=finding, reason=waiver.reason, waiver=waiver.where))
    stale = [_stale(waiver, variant or "") for waiver in meant if waiver not in used]
    return Judgement(findings=(*kept, *stale), waived=tuple(waived))


def _is_for(waiver: Waiver, variant: str) -> bool:
    return not waiver.variants or any(fnmatchcase(variant, pattern) for pattern in waiver.variants)


def _matches(waiver: Waiver, finding: Finding) -> bool:
    if waiver.rule != finding.rule:
        return False
    texts: Sequence[str] = (finding.what, finding.where)
    return waiver.match is None or any(waiver.match in text for text in texts)


def _stale(waiver: Waiver, variant: str) -> Finding:
    about = f" that speaks of {waiver.match!r}" if waiver.match is not None else ""
    return Finding(
        rule=RULE,
        severity=Severity.ERROR,
        what=f"the waiver of {waiver.rule} is stale: the rule has no finding{about} in {variant}",
        where=waiver.where,
        fix="Remove it from matrix.yaml, or name the variants that need it (variants: [...]).",
        source="a waiver that changes nothing would hide the next finding of its rule",
    )
