"""Which edition a build.toml is written in, and what to change in one that is too old.

Edition 5 says so in ``general.edition``. Edition 4 has no such key and is read as the official parser does. Edition 3
is read as ``kernel-builder update-build`` rewrites it (kernels-data, ``config/v3.rs``): version 1 and
``[torch-noarch]`` are its defaults, and a licence it must name. What is older is told apart by its shape, as
kernel-builder's history shows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from rocmatrix.plan.node import Kind, Node

CURRENT = 5
PREVIOUS = 4
OLDEST = 3
DEFAULT_VERSION = 1
"""``general.version`` of an edition 3 that does not name one."""

FRAMEWORKS = ("torch", "torch-noarch", "tvm-ffi")

_SHOWN_CHANGES = 12
_NO_ENTRIES: Mapping[str, Node] = {}


def edition_of(root: Node) -> int:
    """Return ``CURRENT``, ``PREVIOUS`` or ``OLDEST``.

    Raises:
        InputError: the edition is newer than what is known, or older; then what to change is said.
    """
    general = root.entries.get("general")
    if general is not None and "edition" in general.table():
        node = general.entries["edition"]
        if node.integer(lowest=0) != CURRENT:
            raise node.error(f"edition {node.text} is not known", f"Write edition = {CURRENT}, the only one there is.")
        return CURRENT
    if not _changes(root):
        return PREVIOUS
    edition = _old_edition(root)
    if edition == OLDEST and "license" in _entries(root, "general"):
        return OLDEST
    if edition == OLDEST:
        what = "this is a build.toml of edition 3, which is read only if it names a licence: metadata.json needs one"
        raise root.error(what, upgrade(root))
    raise root.error(f"this is a build.toml of edition {edition}, which is no longer read", upgrade(root))


def upgrade(root: Node) -> str:
    """Return the advice that makes an older file one of the current edition, change by change."""
    changes = _changes(root)
    more = [f"and {len(changes) - _SHOWN_CHANGES} more"] if len(changes) > _SHOWN_CHANGES else []
    listed = "; ".join((*changes[:_SHOWN_CHANGES], *more, f"add general.edition = {CURRENT}"))
    return f"To make it edition {CURRENT}: {listed}."


def _old_edition(root: Node) -> int:
    general, kernels = _entries(root, "general"), _entries(root, "kernel")
    torch = _entries(root, "torch")
    sections = [kernel.entries for kernel in kernels.values()]
    if "universal" in torch or any("language" in section or "backend" not in section for section in sections):
        return 1
    return OLDEST if "backends" in general else 2


def _changes(root: Node) -> list[str]:
    general, changes = _entries(root, "general"), []
    if "backends" not in general:
        changes.append('list the backends in general.backends, e.g. ["rocm"]')
    if "version" not in general:
        changes.append("add general.version = 1")
    if "license" not in general:
        changes.append('add general.license, e.g. "Apache-2.0"')
    if "universal" in _entries(root, "torch") or "universal" in general:
        changes.append("replace universal = true by the table [torch-noarch]")
    elif not any(name in root.entries for name in FRAMEWORKS):
        changes.append("add the table [torch], or [torch-noarch] for a kernel without compiled code")
    for name, kernel in _entries(root, "kernel").items():
        if "language" in kernel.entries or (kernel.kind is Kind.MAPPING and "backend" not in kernel.entries):
            changes.append(f"give [kernel.{ascii(name)[1:-1][:40]}] a backend instead of a language")
    return changes


def _entries(node: Node, name: str) -> Mapping[str, Node]:
    return node.entries[name].entries if name in node.entries else _NO_ENTRIES
