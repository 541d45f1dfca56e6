"""Where each toolchain runs: its own choice, unless the user names an engine that can do it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Engine
from rocmatrix.engine.limits import Limits
from rocmatrix.errors import InputError
from rocmatrix.events import Emit, Notice
from rocmatrix.plan.matrix_model import ON_THIS_MACHINE, SHIPPED
from rocmatrix.plan.model import ToolchainId, ToolchainSpec

if TYPE_CHECKING:
    from docker import DockerClient

    from rocmatrix.images.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """Where and within which limits toolchains run.

    Attributes:
        name: ``auto``, ``host`` or ``docker``.
        limits: what the build of a kernel with one toolchain may use.
        keep: whether the container of a failed build is left running.
    """

    name: str = "auto"
    limits: Limits = field(default_factory=Limits)
    keep: bool = False


def runs_in_container(spec: ToolchainSpec) -> bool:
    """Return whether a toolchain is an image."""
    return spec.recipe not in ON_THIS_MACHINE


def recipes_of(specs: Sequence[ToolchainSpec], choice: EngineChoice, *, root: Path) -> Mapping[ToolchainId, Recipe]:
    """Return the recipe of each toolchain that is an image; ``root`` is the folder of matrix.yaml.

    Raises:
        InputError: the engine that the user named cannot run one of the toolchains, there is no such recipe, or its
            arguments do not choose one of its images.
    """
    from rocmatrix.images.loading import load_recipe  # noqa: PLC0415 - only where there are images

    for spec in specs:
        _require_possible(spec, choice.name)
    return {
        spec.id: load_recipe(spec.recipe, spec.args, rocm=spec.rocm, root=root)
        for spec in specs
        if runs_in_container(spec)
    }


@contextmanager
def engines_of(
    specs: Sequence[ToolchainSpec], recipes: Mapping[ToolchainId, Recipe], choice: EngineChoice, emit: Emit
) -> Iterator[Mapping[ToolchainId, Engine]]:
    """Give the engine of each toolchain and close them afterwards; nothing is started before a command is run.

    Args:
        specs: as planned.
        recipes: of those that are images.
        choice: the user's.
        emit: takes what is said of images that have to be made first.
    """
    with ExitStack() as open_engines:
        host = HostEngine()
        engines: dict[ToolchainId, Engine] = {}
        for spec in specs:
            engines[spec.id] = _in_container(recipes[spec.id], choice, emit) if spec.id in recipes else host
            open_engines.callback(engines[spec.id].close)
        yield engines


def _require_possible(spec: ToolchainSpec, name: str) -> None:
    if name == "host" and runs_in_container(spec):
        raise InputError(
            f"toolchain {spec.id}: the recipe {spec.recipe} is an image, and --engine host runs none",
            where=spec.chosen_by,
            fix=f"Leave out --engine, or choose a toolchain of this machine: {' or '.join(ON_THIS_MACHINE)}.",
        )
    if name == "docker" and not runs_in_container(spec):
        raise InputError(
            f"toolchain {spec.id}: the recipe {spec.recipe} runs on this machine and has no image for --engine docker",
            where=spec.chosen_by,
            fix=f"Leave out --engine, or choose a recipe that is an image: {', '.join(SHIPPED)} or ./path.",
        )


def _in_container(recipe: Recipe, choice: EngineChoice, emit: Emit) -> Engine:
    from rocmatrix.engine.docker import DockerEngine  # noqa: PLC0415 - only where there are images

    def image(client: DockerClient) -> str:
        from rocmatrix.images.image import ensure_image, find_image  # noqa: PLC0415 - as above

        if found := find_image(client, recipe):
            return found.id
        emit(Notice(level="info", message=f"building the image of {recipe.label}, once per engine"))
        return ensure_image(client, recipe).id

    return DockerEngine(
        image, ninja=recipe.tools.ninja, environment=recipe.environment, limits=choice.limits, keep=choice.keep
    )
