"""The part of the facts that goes into records."""

from __future__ import annotations

from rocmatrix.audit.facts import Binary
from rocmatrix.audit.rules.abi3 import exports
from rocmatrix.audit.rules.archs import common_archs
from rocmatrix.audit.rules.ceilings import highest_versions
from rocmatrix.records import BinaryFacts


def binary_facts(binary: Binary) -> BinaryFacts:
    """Return what records keep of a shared object; the archs are those that every offload bundle in it has code for."""
    return BinaryFacts(
        path=binary.path,
        archs=common_archs([bundle for bundle in binary.bundles if bundle.problem is None]),
        needed=binary.elf.needed,
        highest=highest_versions(binary.elf),
        exports=exports(binary),
    )
