"""Records: the JSON files in which stages say what they did.

A record names the digest of its inputs and the digest of the artifact that it speaks of. The store hands a record out
only if it parses and its artifact is the one that lies beside it; all else counts as absent.
"""

from rocmatrix.binary.summary import BinaryFacts, DeviceFileFacts
from rocmatrix.records.audit import AuditRecord, Finding, KernelFinding, Severity, WaivedFinding
from rocmatrix.records.build import (
    BuildRecord,
    Gate,
    HeadersOrigin,
    InputDigests,
    Isolation,
    PayloadFile,
    ToolchainIdentity,
)
from rocmatrix.records.check import CaseResult, CheckRecord, GpuRun, Tested, contradiction
from rocmatrix.records.common import RECORD_SCHEMA, Outcome
from rocmatrix.records.coverage import CellCoverage, CollectedVariant, Coverage

__all__ = [
    "RECORD_SCHEMA",
    "AuditRecord",
    "BinaryFacts",
    "BuildRecord",
    "CaseResult",
    "CellCoverage",
    "CheckRecord",
    "CollectedVariant",
    "Coverage",
    "DeviceFileFacts",
    "Finding",
    "Gate",
    "GpuRun",
    "HeadersOrigin",
    "InputDigests",
    "Isolation",
    "KernelFinding",
    "Outcome",
    "PayloadFile",
    "Severity",
    "Tested",
    "ToolchainIdentity",
    "WaivedFinding",
    "contradiction",
]
