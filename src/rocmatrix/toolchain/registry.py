"""From a toolchain's spec to the toolchain: which recipes there are."""

from __future__ import annotations

from pathlib import Path

from rocmatrix.engine.interface import Engine
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.plan.model import ToolchainSpec
from rocmatrix.toolchain.interface import Toolchain
from rocmatrix.toolchain.unavailable import UnavailableToolchain

RECIPES = ("llvm",)
"""Recipes that can build now."""


def make_toolchain(spec: ToolchainSpec, *, engine: Engine, cache: Path) -> Toolchain:
    """Return the toolchain that a spec names; nothing is run yet.

    Where there is no such recipe, the toolchain raises ``MissingRequirementError`` when it is used: units of other
    toolchains are built all the same.

    Args:
        spec: as planned.
        engine: where its commands run.
        cache: folder for what several builds and runs share; made when it is needed.

    Raises:
        InputError: the recipe does not take the arguments that it was given.
    """
    if spec.recipe != "llvm":
        return UnavailableToolchain(
            MissingRequirementError(
                f"toolchain {spec.id}: there is no recipe {spec.recipe!r} yet; there is {', '.join(RECIPES)}",
                where=spec.chosen_by,
                fix="Choose one that there is: `toolchains` in matrix.yaml, or --toolchain.",
            )
        )
    if spec.args:
        raise InputError(
            f"toolchain {spec.id}: the recipe llvm takes no arguments, but was given {', '.join(sorted(spec.args))}",
            where=spec.chosen_by,
            fix="Remove `args`.",
        )
    from rocmatrix.toolchain.llvm.toolchain import LlvmToolchain  # noqa: PLC0415 - heavy: only where it is used

    return LlvmToolchain(spec, engine=engine, cache=cache)
