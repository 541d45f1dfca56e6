"""What an author asks of the audit of a kernel: rules that are waived with a reason, and limits of its size."""

from __future__ import annotations

from dataclasses import dataclass

AUDIT_RULES = (
    "archs",
    "fp8-flavour",
    "version-ceilings",
    "needed",
    "runpath",
    "abi3",
    "torch-abi",
    "torch-symbols",
    "cxx-runtime",
    "hardening",
    "secrets",
    "build-paths",
    "size",
    "python",
    "ops-namespace",
    "names",
    "digests",
    "signature",
)
"""Ids of the audit's rules that a waiver may name, in the order in which they speak; a test compares them with it."""


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """A rule that an author does not want to be held against a kernel.

    A waiver that changes nothing in a variant that it is for is an error there, so that none outlives its cause.

    Attributes:
        rule: id of the rule.
        reason: the author's words, which every report shows.
        match: text that a finding's ``what`` or ``where`` must contain; ``None`` waives all of the rule.
        variants: shell patterns over names of variants; empty means every variant.
        where: place in matrix.yaml.
    """

    rule: str
    reason: str
    match: str | None = None
    variants: tuple[str, ...] = ()
    where: str


@dataclass(frozen=True, kw_only=True)
class AuditChoice:
    """The ``audit`` of a kernel's entry in matrix.yaml; sizes in bytes, ``None`` for what rocmatrix allows."""

    waive: tuple[Waiver, ...] = ()
    max_file_size: int | None = None
    max_variant_size: int | None = None
