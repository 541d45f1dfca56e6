"""What an audit leaves: ``audit.json``, and findings about a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rocmatrix.binary.summary import BinaryFacts, DeviceFileFacts
from rocmatrix.digest import Digest
from rocmatrix.plan.model import UnitId
from rocmatrix.records.common import RECORD_SCHEMA, Outcome


class Severity(StrEnum):
    """How bad a finding is: errors fail the unit, warnings do not; a note only states something."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    """What could not be verified, or is neither good nor bad, such as a missing signature."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that an audit rule says about a unit.

    Attributes:
        rule: id of the rule, e.g. ``archs``, ``version-ceilings``.
        severity: whether it fails the unit.
        what: one sentence.
        where: path within the variant, with the symbol or section where there is one.
        fix: what to do.
        source: where the limit comes from.
    """

    rule: str
    severity: Severity
    what: str
    where: str
    fix: str
    source: str


@dataclass(frozen=True, kw_only=True)
class WaivedFinding:
    """A finding that is not held against the unit because its author waived it.

    Attributes:
        reason: the author's words.
        waiver: where in matrix.yaml the waiver stands.
    """

    finding: Finding
    reason: str
    waiver: str


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """``audit.json``: what the binary really is."""

    schema: int = RECORD_SCHEMA
    unit: UnitId
    inputs_digest: Digest
    artifact_digest: Digest
    outcome: Outcome
    rocmatrix: str
    started: str
    seconds: float
    rules: tuple[str, ...]
    binaries: tuple[BinaryFacts, ...]
    findings: tuple[Finding, ...]
    device_files: tuple[DeviceFileFacts, ...] = ()
    waived: tuple[WaivedFinding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KernelFinding:
    """One thing that a kernel did wrong while a case ran, whatever its numbers were.

    Attributes:
        kind: what kind of wrong, e.g. ``missing wait``, ``hazard``, ``race``, ``never written``.
        kernel: its name in the code object.
        text: the whole sentence, with instruction, wave, lane and address where there are any.
        instruction: the instruction with its address; ``None`` if it is no single one.
    """

    kind: str
    kernel: str
    text: str
    instruction: str | None = None
