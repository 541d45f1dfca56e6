"""Which toolchain builds for which ROCm: matrix.yaml says it, ``--toolchain`` overrides it, nothing falls back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocmatrix.errors import InputError
from rocmatrix.plan.matrix_fields import relative_path
from rocmatrix.plan.matrix_model import RECIPES, Matrix
from rocmatrix.plan.model import ToolchainId, ToolchainSpec
from rocmatrix.plan.text import allowed, in_words, place, quote
from rocmatrix.plan.version import in_order

OVERRIDE = "--toolchain"
"""What chose a toolchain, where the command line did and not matrix.yaml."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def toolchain_specs(matrix: Matrix, wanted: Iterable[str], override: str | None) -> dict[str, ToolchainSpec]:
    """Return the toolchain for each ROCm minor that something is built for, lowest first.

    Args:
        matrix: what the author chose.
        wanted: ROCm minors with at least one unit.
        override: recipe or ``./path`` from the command line, for all of them; keeps the arguments that matrix.yaml
            gives for the same recipe.

    Raises:
        InputError: there is none for a ROCm minor, or the override is not known.
    """
    chosen = None if override is None else _override(override)
    return {rocm: _spec(matrix, rocm, chosen) for rocm in in_order(wanted)}


def require_used(matrix: Matrix, promised: Iterable[str]) -> None:
    """Refuse a toolchain for a ROCm minor that the matrix does not promise.

    Raises:
        InputError: at the entry.
    """
    known = set(promised)
    for choice in matrix.toolchains:
        if choice.rocm not in known:
            what = f"a toolchain for ROCm {choice.rocm}, which no cell has"
            fix = f"Remove it, or add {choice.rocm} to rocm. Cells have ROCm {in_words(in_order(known))}."
            raise InputError(what, where=choice.where, fix=fix)


def _override(text: str) -> str:
    """Return the recipe of the command line as matrix.yaml would have it, so that both spellings are one recipe."""
    if text in RECIPES:
        return text
    path = relative_path(text) if text.startswith("./") else None
    if path is None or path == ".":
        fix = f"{allowed(text, RECIPES)} Or a folder of your own, ./toolchains/mine."
        raise InputError(f"the toolchain {quote(text)} is not known", where=OVERRIDE, fix=fix)
    return f"./{path}"


def _spec(matrix: Matrix, rocm: str, override: str | None) -> ToolchainSpec:
    choice = next((choice for choice in matrix.toolchains if choice.rocm == rocm), None)
    if override is not None:
        args = choice.args if choice is not None and choice.recipe == override else {}
        return _made(override, rocm, args, OVERRIDE)
    if choice is None:
        raise InputError(
            f"no toolchain for ROCm {rocm}",
            where=matrix.where,
            fix=f'Add "{rocm}": llvm (or another of {", ".join(RECIPES)}) to toolchains, or give --toolchain.',
        )
    return _made(choice.recipe, rocm, choice.args, place(choice.where))


def _made(recipe: str, rocm: str, args: dict[str, str], chosen_by: str) -> ToolchainSpec:
    name = _UNSAFE.sub("-", recipe.rstrip("/").rsplit("/", 1)[-1]).strip("-.") or "local"
    return ToolchainSpec(
        id=ToolchainId(f"{name}-rocm{rocm}"), recipe=recipe, rocm=rocm, args=dict(args), chosen_by=chosen_by
    )
