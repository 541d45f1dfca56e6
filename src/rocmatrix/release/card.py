"""The card: CARD.md of the kernel, filled in as kernel-builder fills it, and what a release knows beyond."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rocmatrix.errors import InputError
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import CellState, Plan
from rocmatrix.plan.version import minor_key
from rocmatrix.records import Coverage, Isolation, Tested
from rocmatrix.release.content import Content
from rocmatrix.release.source_tag import Release
from rocmatrix.release.trees import in_variant

_TEMPLATE = "CARD.md"
_PLAIN = """---
library_name: kernels
license: {{ license }}
---

# {{ name }}

```python
from kernels import get_kernel

kernel = get_kernel("{{ repo_id }}", version={{ version }}, trust_remote_code=["{{ repo_id }}"])
```
"""
_MIB = 1 << 20
_TESTED = {Tested.UNTESTED: "not executed by anything", Tested.EMULATED: "emulated"}


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """What a card is made from."""

    manifest: Manifest
    plan: Plan
    coverage: Coverage
    content: Content
    release: Release
    commit: str


def make_card(facts: CardFacts, project: Path) -> bytes:
    """Return README.md of the repository.

    Raises:
        InputError: CARD.md is no template that can be filled in.
    """
    path = project / _TEMPLATE
    template = path.read_text(encoding="utf-8") if path.is_file() else _PLAIN
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    try:
        text = environment.from_string(template).render(_variables(facts, project))
    except TemplateError as err:
        line = getattr(err, "lineno", None)
        where = f"{path}:{line}" if line else str(path)
        fix = "docs/release.md lists what a card may use."
        raise InputError(f"the card cannot be filled in: {err}", where=where, fix=fix) from err
    return f"{text.rstrip()}\n\n{_release_part(facts)}".encode()


def _variables(facts: CardFacts, project: Path) -> Mapping[str, object]:
    """The names that kernel-builder's ``fill-card`` gives to a template."""
    manifest = facts.manifest
    return {
        "name": manifest.name,
        "repo_id": facts.content.kernel.repo_id,
        "version": manifest.version,
        "license": manifest.license.lower(),
        "upstream": manifest.upstream,
        "source": manifest.source,
        "functions": _exported(project / "torch-ext" / manifest.name.replace("-", "_") / "__init__.py"),
        "layers": [],
        "has_benchmark": any(path.startswith("benchmarks/") for path in facts.content.files),
    }


def _exported(path: Path) -> list[str]:
    """Return ``__all__`` of a module, read and not executed."""
    try:
        module = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    for node in module.body:
        names = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
        if isinstance(node, ast.Assign) and "__all__" in names and isinstance(node.value, ast.List | ast.Tuple):
            return [str(item.value) for item in node.value.elts if isinstance(item, ast.Constant)]
    return []


# -- what the release adds -----------------------------------------------------------------------------------------


def _release_part(facts: CardFacts) -> str:
    release = facts.release
    parts = [
        f"## Release {release.tag}",
        f"Tag `{release.tag}`, made from `{release.source}` at commit `{facts.commit}`.",
        "### Who is served",
        _grid(facts),
        "### Variants",
        _variants(facts),
    ]
    return "\n\n".join(parts) + "\n"


def _grid(facts: CardFacts) -> str:
    """Return the coverage as a table torch x ROCm; a letter says how the variant of a cell was tested."""
    cells = {(cell.torch, cell.rocm): cell for cell in facts.plan.cells if cell.kernel == facts.coverage.kernel}
    tested = {cell.cell: cell for cell in facts.coverage.cells}
    torches = sorted({torch for torch, _ in cells}, key=minor_key)
    rocms = sorted({rocm for _, rocm in cells}, key=minor_key)
    lines = ["| torch | " + " | ".join(f"ROCm {rocm}" for rocm in rocms) + " |", "|---" * (len(rocms) + 1) + "|"]
    for torch in torches:
        row = []
        for rocm in rocms:
            cell = cells.get((torch, rocm))
            served = cell is not None and cell.state is CellState.SERVED and tested[cell.id].variant
            row.append(_how(tested[cell.id].tested) if cell is not None and served else "no")
        lines.append(f"| {torch} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _how(tested: Tested) -> str:
    return _TESTED.get(tested, f"ran on {tested.value}")


def _variants(facts: CardFacts) -> str:
    lines = ["| variant | gfx | compiler | tested | MiB |", "|---|---|---|---|---|"]
    for name, metadata in facts.content.metadata.items():
        block = metadata.rocmatrix
        size = sum(file.size for path, file in facts.content.files.items() if in_variant(path, name)) / _MIB
        archs = ", ".join(metadata.backend.archs or ()) or "any"
        where = "in a container" if block.isolation is Isolation.CONTAINER else "on the host, in no container"
        compiler = f"{block.toolchain.description}, {where}" if block.toolchain else "none: Python only"
        checked = f"{_how(block.checked.tested)}: {block.checked.reason}"
        lines.append(f"| `{name}` | {archs} | {compiler} | {checked} | {size:.2f} |")
    return "\n".join(lines)
