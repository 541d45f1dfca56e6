"""The ``audit`` of a kernel's entry in matrix.yaml, as the parser reads it and as the schema describes it."""

from __future__ import annotations

import re

from rocmatrix.plan.audit_choice import AUDIT_RULES, AuditChoice, Waiver
from rocmatrix.plan.matrix_fields import LONGEST_REASON, reason, require_no_command
from rocmatrix.plan.node import Node
from rocmatrix.plan.text import place, quote

MEGABYTE = 1_000_000
_VARIANT_PATTERN = r"[A-Za-z0-9._*?\[\]!-]{1,100}"
_VARIANT = re.compile(_VARIANT_PATTERN)


def audit_choice(node: Node) -> AuditChoice:
    """Return what an author asks of the audit; raises ``InputError`` for anything else."""
    keys = node.mapping(("waive", "max-file-mb", "max-variant-mb"))
    waivers = tuple(_waiver(item) for item in keys["waive"].elements()) if "waive" in keys else ()
    seen: dict[tuple[str, str | None, tuple[str, ...]], str] = {}
    for waiver, item in zip(waivers, keys["waive"].items if waivers else (), strict=True):
        identity = (waiver.rule, waiver.match, waiver.variants)
        if identity in seen:
            raise item.error(f"waives {waiver.rule} a second time", f"Remove one; the first is at {seen[identity]}.")
        seen[identity] = waiver.where
    return AuditChoice(
        waive=waivers,
        max_file_size=_megabytes(keys["max-file-mb"]) if "max-file-mb" in keys else None,
        max_variant_size=_megabytes(keys["max-variant-mb"]) if "max-variant-mb" in keys else None,
    )


def audit_schema() -> dict[str, object]:
    """Return the JSON Schema of it."""
    text = {"type": "string", "minLength": 1}
    patterns = {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": f"^{_VARIANT_PATTERN}$"}}
    waiver = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "rule": {"enum": list(AUDIT_RULES), "description": "Id of the rule."},
            "reason": {**text, "maxLength": LONGEST_REASON, "description": "Why; every report shows it."},
            "match": {**text, "description": "Text in the findings that are meant; without it all of the rule."},
            "variants": {**patterns, "description": "Shell patterns over variants; without them every variant."},
        },
        "required": ["rule", "reason"],
    }
    size = {"type": "integer", "minimum": 1, "description": "Megabytes, of 1,000,000 bytes each."}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "waive": {"type": "array", "items": waiver, "description": "Rules that are not held against it."},
            "max-file-mb": size,
            "max-variant-mb": size,
        },
    }


def _waiver(node: Node) -> Waiver:
    keys = node.mapping(("rule", "reason", "match", "variants"), ("rule", "reason"))
    return Waiver(
        rule=keys["rule"].choice(AUDIT_RULES),
        reason=reason(keys["reason"]),
        match=_match(keys["match"]) if "match" in keys else None,
        variants=_patterns(keys["variants"]) if "variants" in keys else (),
        where=place(node.where),
    )


def _match(node: Node) -> str:
    text = node.string()
    if not text.isprintable():
        raise node.error(f"{quote(text)} has characters that do not print", "Remove them.")
    require_no_command(node, text)
    return text


def _patterns(node: Node) -> tuple[str, ...]:
    if not node.elements():
        raise node.error("is an empty list", "Name a variant or a pattern of it, or leave the key out.")
    for item in node.items:
        if not _VARIANT.fullmatch(item.string()):
            fix = 'Write the name of a variant or a shell pattern, e.g. "*-rocm72-*".'
            raise item.error(f"{quote(item.text)} is not a pattern over names of variants", fix)
    return node.strings()


def _megabytes(node: Node) -> int:
    return node.integer(lowest=1) * MEGABYTE
