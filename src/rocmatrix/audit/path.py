"""Audit of any path: a variant directory or a shared object, whoever made it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rocmatrix.audit.facts import Expectation, VariantFacts, outcome
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.rules import RULE_IDS, judge
from rocmatrix.audit.rules.names import VARIANT_NAME
from rocmatrix.audit.summary import binary_facts
from rocmatrix.audit.variant import read_file, read_folder
from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.model import Abi
from rocmatrix.records import BinaryFacts, Finding, Outcome

_ROCM = re.compile(r"-rocm(\d)(\d+)-")


@dataclass(frozen=True, kw_only=True)
class PathAudit:
    """What an audit of a path found; the counterpart of ``AuditRecord`` for things that no plan speaks of.

    Attributes:
        path: as it was given.
        outcome: ``failed`` if any finding is an error.
        rules: ids of the rules that were applied.
    """

    path: str
    outcome: Outcome
    rules: tuple[str, ...]
    binaries: tuple[BinaryFacts, ...]
    findings: tuple[Finding, ...]


def audit_path(path: Path) -> PathAudit:
    """Audit a variant directory or a shared object.

    What nobody promised is not held against it: without a matrix there are no promised archs, and the HIP runtime's
    SONAME is known only if the directory is named as a variant.

    Raises:
        InputError: there is no such path, or it is neither a directory with files nor a file.
    """
    policy = load_policy()
    if path.is_dir():
        facts = read_folder(path, policy.machines)
        if not (facts.files or facts.binaries or facts.unreadable or facts.strays):
            raise InputError("there is nothing in this directory", where=str(path), fix=_FIX)
        expected = _expected(path.resolve().name, facts)
    elif path.is_file():
        facts = read_file(path, policy.machines)
        expected = _expected(path.resolve().parent.name, facts)
    else:
        what = "this is neither a file nor a directory" if path.exists() else "there is no such file or directory"
        raise InputError(what, where=str(path), fix=_FIX)
    findings = judge(facts, expected, policy)
    return PathAudit(
        path=str(path),
        outcome=outcome(findings),
        rules=RULE_IDS,
        binaries=tuple(binary_facts(binary) for binary in facts.binaries),
        findings=findings,
    )


_FIX = "Name a variant directory (build/<variant>) or a shared object (.so)."


def _expected(directory: str, facts: VariantFacts) -> Expectation:
    """Return what a directory's name and its own metadata promise."""
    variant = directory if VARIANT_NAME.fullmatch(directory) else None
    rocm = _ROCM.search(variant) if variant else None
    return Expectation(
        name=facts.metadata.name if facts.metadata else None,
        variant=variant,
        abi=_abi(variant),
        hip_soname=load_compat().hip_soname(f"{rocm[1]}.{rocm[2]}") if rocm else None,
        extension=facts.metadata.id if facts.metadata else None,
    )


def _abi(variant: str | None) -> Abi | None:
    if variant is None:
        return None
    if "-rocm" not in variant.removeprefix("torch-rocm"):
        return Abi.NOARCH
    return Abi.STABLE if variant.startswith("torch-stable-abi") else Abi.PER_TORCH
