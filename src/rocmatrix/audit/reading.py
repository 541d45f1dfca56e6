"""Everything that is read of a variant or of a file: by the readers of binaries and by those of bytes and sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rocmatrix.audit.contents import read_contents
from rocmatrix.audit.facts import VariantFacts
from rocmatrix.audit.policy import Policy
from rocmatrix.audit.variant import read_file, read_folder


def read_everything(path: Path, policy: Policy) -> VariantFacts:
    """Return what a variant directory or a single file holds; nothing of it is executed."""
    facts = read_folder(path, policy.machines) if path.is_dir() else read_file(path, policy.machines)
    return replace(facts, contents=read_contents(path, facts, policy.bytes, python=policy.python))
