"""Which optional packages which verbs need: checked before a verb does anything, and listed by ``doctor``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass

from rocmatrix.errors import MissingRequirementError
from rocmatrix.machine.probe import Health, Probe


@dataclass(frozen=True, kw_only=True)
class Extra:
    """One of the extras of pyproject.toml that a verb cannot do without.

    Attributes:
        name: as pip takes it in ``rocmatrix[NAME]``.
        modules: what it brings, by the names that are imported.
        needed_by: verbs and options, for people.
    """

    name: str
    modules: tuple[str, ...]
    needed_by: str


RELEASE = Extra(
    name="release",
    modules=("cyclonedx", "jinja2", "kernels", "sigstore"),
    needed_by="rehearse, release, sbom, yank, diff, why, watch, verify --signer",
)
HUB = Extra(name="hub", modules=("dulwich", "jwt", "starlette", "uvicorn"), needed_by="rehearse, hub, --hub embedded")


def require_extras(verb: str, *extras: Extra) -> None:
    """Refuse to begin a verb whose extras are not installed.

    Args:
        verb: as typed, for the message.
        extras: what it needs.

    Raises:
        MissingRequirementError: it names the extras, what is absent of them, and the one command that installs them.
    """
    lacking = {extra.name: absent for extra in extras if (absent := absent_modules(extra))}
    if not lacking:
        return
    names = " and ".join(f"`{name}`" for name in lacking)
    missing = ", ".join(module for modules in lacking.values() for module in modules)
    raise MissingRequirementError(
        f"`rocmatrix {verb}` needs the extra{'s' if len(lacking) > 1 else ''} {names}; not installed: {missing}",
        fix=f"Install with: {_install(lacking)}",
    )


def probe_extra(extra: Extra) -> Probe:
    """Look for all modules of an extra."""
    absent = absent_modules(extra)
    return Probe(
        name=f"extra {extra.name}",
        health=Health.MISSING if absent else Health.OK,
        detail=f"not installed: {', '.join(absent)}" if absent else ", ".join(extra.modules),
        needed_by=extra.needed_by,
        fix=f"Run `{_install([extra.name])}`." if absent else None,
    )


def absent_modules(extra: Extra) -> tuple[str, ...]:
    """Return the modules of an extra that cannot be imported here; none of them is imported to find out."""
    return tuple(module for module in extra.modules if not _is_there(module))


def _is_there(module: str) -> bool:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return False
    return (
        spec is not None and spec.origin is not None
    )  # a mere folder of that name, `kernels/` above all, has no origin


def _install(names: Iterable[str]) -> str:
    return f"pip install 'rocmatrix[{','.join(names)}]'"
