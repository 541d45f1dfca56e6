"""Audit of any path: a variant directory or a shared object, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rocmatrix.audit.content_facts import SignatureFacts
from rocmatrix.audit.facts import Expectation, VariantFacts, outcome
from rocmatrix.audit.policy import Policy, load_policy
from rocmatrix.audit.reading import read_everything
from rocmatrix.audit.rules import ROCM, RULES, judge
from rocmatrix.audit.signature import SignatureCheck, verify_signature
from rocmatrix.audit.summary import binary_facts, device_file_facts
from rocmatrix.audit.torch_reader import NoTorch, TorchReader
from rocmatrix.document import encodable
from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.variants import backend_of, parse_variant
from rocmatrix.records import BinaryFacts, DeviceFileFacts, Finding, Outcome, WaivedFinding


@dataclass(frozen=True, kw_only=True)
class PathAudit:
    """What an audit of a path found; the counterpart of ``AuditRecord`` for things that no plan speaks of.

    Attributes:
        path: as it was given.
        outcome: ``failed`` if any finding is an error.
        rules: ids of the rules that were applied.
        waived: findings that the kernel's author waived; none where no matrix.yaml speaks of it.
        signature: state of the signature bundle; ``None`` for a lone file.
        prefix: what the places in findings are relative to; the folder of the variant or of the file.
        backend: what it runs on, as its name says; ``rocm`` where no name says anything.
    """

    path: str
    outcome: Outcome
    rules: tuple[str, ...]
    binaries: tuple[BinaryFacts, ...]
    findings: tuple[Finding, ...]
    device_files: tuple[DeviceFileFacts, ...] = ()
    waived: tuple[WaivedFinding, ...] = ()
    backend: str = "rocm"
    prefix: str = ""
    signature: SignatureFacts | None = None


def audit_path(
    path: Path,
    *,
    torch: TorchReader | None = None,
    published: bool = False,
    signatures: SignatureCheck | None = None,
) -> PathAudit:
    """Audit a variant directory or a shared object.

    What nobody promised is not held against it: without a matrix there are no promised archs, and the HIP runtime's
    SONAME is known only if the directory is named as a variant.

    Args:
        path: the directory or the file.
        torch: asks the torch that it is meant for; ``None`` if none can be asked.
        published: whether this was downloaded as a published kernel.
        signatures: verifies the signature bundle; ``None`` if nobody can.

    Raises:
        InputError: there is no such path, it is neither a directory with files nor a file, or the directory is named
            after a ROCm that compat.toml does not know.
    """
    policy = load_policy()
    facts = _read(path, policy)
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    expected = _expected(folder.name, facts)
    if published:
        expected = replace(expected, published=True, variant=expected.variant or _directory(path))
    facts = _verified(facts, folder, signatures)
    facts = replace(facts, torch=(torch or NoTorch()).answer(facts, expected))
    findings = judge(facts, expected, policy)
    return PathAudit(
        path=encodable(str(path)),
        outcome=outcome(findings),
        rules=tuple(rule.id for rule in RULES if rule.any_backend or expected.backend == ROCM),
        binaries=tuple(binary_facts(binary) for binary in facts.binaries),
        findings=findings,
        device_files=tuple(device_file_facts(file) for file in facts.device_files),
        backend=expected.backend,
        signature=facts.contents.signature,
        prefix=encodable(str(path if path.is_dir() else path.parent)),
    )


def _directory(path: Path) -> str | None:
    """Return the name of a published directory that the client must know; it knows more kinds than are built here."""
    name = path.resolve().name
    return None if name.startswith("tvm-ffi") or backend_of(name) != ROCM else name


_FIX = "Name a variant directory (build/<variant>) or a shared object (.so)."


def _read(path: Path, policy: Policy) -> VariantFacts:
    """Return what a directory or a file holds.

    Raises:
        InputError: there is no such path, or it is neither a directory with files nor a file.
    """
    if not (path.is_dir() or path.is_file()):
        what = "this is neither a file nor a directory" if path.exists() else "there is no such file or directory"
        raise InputError(what, where=str(path), fix=_FIX)
    facts = read_everything(path, policy)
    if path.is_dir() and not (facts.files or facts.binaries or facts.unreadable or facts.strays or facts.refused):
        raise InputError("there is nothing in this directory", where=str(path), fix=_FIX)
    return facts


def _verified(facts: VariantFacts, folder: Path, signatures: SignatureCheck | None) -> VariantFacts:
    """Return the facts with what was found of the signature bundle, where there is one and somebody can verify it."""
    read = facts.contents.signature
    if signatures is None or read is None:
        return facts
    return replace(facts, contents=replace(facts.contents, signature=verify_signature(folder, read, signatures)))


def _expected(directory: str, facts: VariantFacts) -> Expectation:
    """Return what a directory's name and its own metadata promise.

    Raises:
        InputError: the directory is named after a ROCm that compat.toml does not know.
    """
    try:
        variant = parse_variant(directory)
    except ValueError:
        variant = None
    return Expectation(
        name=facts.metadata.name if facts.metadata else None,
        variant=directory if variant else None,
        abi=variant.abi if variant else None,
        torch=variant.torch if variant else None,
        rocm=variant.rocm if variant else None,
        backend=backend_of(directory),
        hip_soname=load_compat().hip_soname(variant.rocm) if variant and variant.rocm else None,
        extension=facts.metadata.id if facts.metadata else None,
    )
