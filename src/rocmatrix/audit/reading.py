"""Everything that is read of a variant or of a file: by the readers of binaries and by those of bytes and sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rocmatrix.audit.contents import read_contents
from rocmatrix.audit.facts import VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.audit.variant import read_file, read_folder
from rocmatrix.document import encodable


def read_everything(path: Path, policy: Policy) -> VariantFacts:
    """Return what a variant directory or a single file holds; nothing of it is executed."""
    facts = read_folder(path, policy.machines) if path.is_dir() else _file(path, policy)
    return replace(facts, contents=read_contents(path, facts, policy.bytes, python=policy.python))


def _file(path: Path, policy: Policy) -> VariantFacts:
    """Return what a single file holds, under a name that a document can hold."""
    facts, name = read_file(path, policy.machines), encodable(path.name)
    return replace(
        facts,
        binaries=tuple(replace(binary, path=name) for binary in facts.binaries),
        device_files=tuple(replace(file, path=name) for file in facts.device_files),
        unreadable=tuple(replace(file, path=name) for file in facts.unreadable),
    )
