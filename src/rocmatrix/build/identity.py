"""What decides the bytes of a payload, and the short name that the binary carries of it.

``uid`` names the extension module and the namespace of its ops. It depends on the sources and the recipe version only,
so that all variants of a kernel share it and two of them can be byte-identical (docs/decisions/0002-build-identity.md).
``inputs_digest`` covers everything; two builds with the same one have the same bytes.
"""

from __future__ import annotations

from rocmatrix import digest, document
from rocmatrix.build import ops_module, registration
from rocmatrix.build.sources import Project
from rocmatrix.digest import Digest
from rocmatrix.plan import extension as names
from rocmatrix.plan.model import Unit
from rocmatrix.records import InputDigests, ToolchainIdentity

RECIPE_VERSION = 1
"""One number per rocmatrix release: raised whenever a release builds other bytes from the same sources."""

_UID_DIGITS = 8


def uid(project: Project) -> str:
    """Return the 8 hexadecimal digits that name the extension in all variants of a kernel."""
    parts = [("sources", project.digest.encode()), ("recipe", str(RECIPE_VERSION).encode())]
    return digest.of_parts(parts).removeprefix("sha256:")[:_UID_DIGITS]


def extension_name(project: Project) -> str:
    """Return the name of the extension in all variants of a kernel."""
    return names.extension_name(project.manifest.name, uid(project))


def input_digests(
    project: Project,
    unit: Unit,
    *,
    toolchain: ToolchainIdentity | None,
    headers: Digest | None,
    cxx_standard: str | None,
) -> InputDigests:
    """Return the digests of all that decides the bytes of a unit's payload.

    Args:
        project: the kernel project.
        unit: the unit.
        toolchain: what compiles it; ``None`` for noarch.
        headers: of the torch headers; ``None`` if the unit needs none.
        cxx_standard: of the binding, e.g. ``c++20``; ``None`` for noarch.
    """
    asked = [unit.kernel, unit.variant, unit.abi, unit.torch, unit.rocm, sorted(unit.archs)]
    return InputDigests(
        sources=project.digest,
        unit=digest.of_bytes(digest.canonical_json(asked)),
        toolchain=digest.of_bytes(document.to_json(toolchain)) if toolchain else None,
        headers=headers,
        recipe=_recipe_digest(cxx_standard),
    )


def inputs_digest(parts: InputDigests) -> Digest:
    """Return the one digest over all parts."""
    return digest.of_bytes(document.to_json(parts))


def _recipe_digest(cxx_standard: str | None) -> Digest:
    """Return the digest of the recipe version, the C++ standard and the texts that rocmatrix generates for any name."""
    return digest.of_parts(
        [
            ("version", str(RECIPE_VERSION).encode()),
            ("C++ standard", (cxx_standard or "").encode()),
            ("registration.h", registration.text("_name").encode()),
            (names.OPS_NAME, ops_module.text("_name", compiled=True).encode()),
        ]
    )
