"""Audit of anything that lies on a disk: a kernel with all its variants, one variant, or one shared object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocmatrix.audit.path import PathAudit, audit_path
from rocmatrix.audit.torch_reader import TorchReader
from rocmatrix.document import encodable
from rocmatrix.records import Finding, Outcome, WaivedFinding

AUDIT_SCHEMA = 1
BUILD_FOLDER = "build"
"""Folder of a kernel, on the Hub and in an output folder, that holds its variants."""
_OF_A_VARIANT = ("metadata.json", "__init__.py")


@dataclass(frozen=True, kw_only=True)
class AuditSet:
    """What ``rocmatrix audit PATH`` prints with ``--json``.

    Attributes:
        path: as it was given.
        outcome: ``failed`` if any of the audits failed.
        audits: one for each variant, in the order of their names; one alone for a file or a variant.
    """

    schema: int = AUDIT_SCHEMA
    path: str
    outcome: Outcome
    audits: tuple[PathAudit, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of all audits."""
        return tuple(finding for audited in self.audits for finding in audited.findings)

    @property
    def waived(self) -> tuple[WaivedFinding, ...]:
        """Return the waived findings of all audits."""
        return tuple(waived for audited in self.audits for waived in audited.waived)


def audit_anything(path: Path, *, torch: TorchReader | None = None, published: bool = False) -> AuditSet:
    """Audit what lies at a path: every variant of a kernel, or the one thing that it is.

    Args:
        path: the folder of a kernel (with ``build/<variant>``), of a variant, or a file.
        torch: asks the torches that per-torch binaries are meant for.
        published: whether it was downloaded as a published kernel.

    Raises:
        InputError: there is no such path, or nothing in it.
    """
    paths = variants_in(path) or [path]
    audits = tuple(audit_path(variant, torch=torch, published=published) for variant in paths)
    failed = any(audited.outcome is Outcome.FAILED for audited in audits)
    return AuditSet(path=encodable(str(path)), outcome=Outcome.FAILED if failed else Outcome.PASSED, audits=audits)


def variants_in(path: Path) -> list[Path]:
    """Return the variants of a kernel's folder in the order of their names; none if it is not one."""
    if not path.is_dir() or any((path / name).exists() for name in _OF_A_VARIANT):
        return []
    folder = path if path.resolve().name == BUILD_FOLDER else path / BUILD_FOLDER
    if not folder.is_dir():
        return []
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
