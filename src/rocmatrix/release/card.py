"""The card: CARD.md of the kernel, filled in as kernel-builder fills it, and what a release knows beyond."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from rocmatrix.errors import InputError
from rocmatrix.input_file import read_input
from rocmatrix.release.card_facts import CardFacts
from rocmatrix.release.card_sections import has_benchmarks, release_part

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


def make_card(facts: CardFacts, project: Path) -> bytes:
    """Return README.md of the repository.

    Raises:
        InputError: CARD.md cannot be read, or is no template that can be filled in.
    """
    path = project / _TEMPLATE
    try:
        template = read_input(path).decode("utf-8") if path.exists() else _PLAIN
    except UnicodeDecodeError as err:
        raise InputError("the card is not UTF-8", where=str(path), fix="Save it as UTF-8.") from err
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    try:
        text = environment.from_string(template).render(_variables(facts, project))
    except TemplateError as err:
        line = getattr(err, "lineno", None)
        where = f"{path}:{line}" if line else str(path)
        fix = "docs/release.md lists what a card may use."
        raise InputError(f"the card cannot be filled in: {err}", where=where, fix=fix) from err
    return f"{text.rstrip()}\n\n{release_part(facts)}".encode()


def _variables(facts: CardFacts, project: Path) -> Mapping[str, object]:
    """The names that kernel-builder's ``fill-card`` gives to a template."""
    manifest = facts.manifest
    module = manifest.name.replace("-", "_")
    return {
        "name": manifest.name,
        "repo_id": facts.content.kernel.repo_id,
        "version": manifest.version,
        "license": manifest.license.lower(),
        "upstream": manifest.upstream,
        "source": manifest.source,
        "functions": _exported(project / "torch-ext" / module / "__init__.py"),
        "layers": _layers(project / "torch-ext" / module),
        "has_benchmark": has_benchmarks(facts.content),
    }


def _layers(module: Path) -> list[str]:
    """Return what ``layers`` exports, a module or a package: the classes that ``kernels`` puts into models."""
    return _exported(module / "layers.py") or _exported(module / "layers" / "__init__.py")


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
