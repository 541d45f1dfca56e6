"""From a toolchain's spec to the toolchain: which recipes there are."""

from __future__ import annotations

import os
from pathlib import Path

from rocmatrix.engine.docker import DockerEngine
from rocmatrix.engine.interface import Engine
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.images.recipe import Recipe
from rocmatrix.plan.matrix_model import ON_THIS_MACHINE
from rocmatrix.plan.model import ToolchainSpec
from rocmatrix.toolchain.interface import Toolchain
from rocmatrix.toolchain.unavailable import UnavailableToolchain


def make_toolchain(spec: ToolchainSpec, *, engine: Engine, cache: Path, recipe: Recipe | None = None) -> Toolchain:
    """Return the toolchain that a spec names; nothing is run yet.

    Where what it needs is not there, the toolchain raises ``MissingRequirementError`` when it is used: units of other
    toolchains are built all the same.

    Args:
        spec: as planned.
        engine: where its commands run: ``docker`` with the image of ``recipe``, or ``host``.
        cache: folder for what several builds and runs share; made when it is needed.
        recipe: of the image, for a recipe that is not one of ``ON_THIS_MACHINE``.

    Raises:
        InputError: the recipe does not take the arguments that it was given.
    """
    if spec.recipe in ON_THIS_MACHINE:
        if spec.args:
            given = ", ".join(sorted(spec.args))
            raise InputError(
                f"toolchain {spec.id}: the recipe {spec.recipe} takes no arguments, but was given {given}",
                where=spec.chosen_by,
                fix="Remove `args`.",
            )
        return _on_host(spec, engine, cache)
    if recipe is None or not isinstance(engine, DockerEngine):
        return UnavailableToolchain(
            MissingRequirementError(
                f"toolchain {spec.id}: the recipe {spec.recipe} is a container image, and the engine is {engine.name}",
                where=spec.chosen_by,
                fix="Let the engine be docker (--engine auto chooses it); "
                f"or choose {' or '.join(ON_THIS_MACHINE)}, which run on this machine.",
            )
        )
    from rocmatrix.toolchain.hipcc.setup import image_setup  # noqa: PLC0415 - heavy: only where it is used
    from rocmatrix.toolchain.hipcc.toolchain import HipccToolchain  # noqa: PLC0415 - as above

    return HipccToolchain(image_setup(spec.recipe, recipe, engine.image_id), engine=engine)


def _on_host(spec: ToolchainSpec, engine: Engine, cache: Path) -> Toolchain:
    if engine.name != "host":
        return UnavailableToolchain(
            MissingRequirementError(
                f"toolchain {spec.id}: {spec.recipe} runs on this machine, and the engine is {engine.name}",
                where=spec.chosen_by,
                fix="Let the engine be host (--engine auto chooses it), or choose a recipe of an image.",
            )
        )
    if spec.recipe == "llvm":
        from rocmatrix.toolchain.llvm.toolchain import LlvmToolchain  # noqa: PLC0415 - heavy: only where it is used

        return LlvmToolchain(spec, engine=engine, cache=cache)
    from rocmatrix.toolchain.hipcc.setup import host_setup  # noqa: PLC0415 - heavy: only where it is used
    from rocmatrix.toolchain.hipcc.toolchain import HipccToolchain  # noqa: PLC0415 - as above

    try:
        return HipccToolchain(host_setup(os.environ), engine=engine)
    except MissingRequirementError as err:
        return UnavailableToolchain(err)
