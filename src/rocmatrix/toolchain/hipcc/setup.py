"""Where a ROCm's programs are, and what its recipe says about them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rocmatrix.digest import Digest
from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.recipe import Recipe
from rocmatrix.images.recipe_file import RECIPE_FILE

ROCM = "/opt/rocm"
"""Where AMD's packages put ROCm, or a link to it."""


@dataclass(frozen=True, kw_only=True)
class Described:
    """The image that a recipe describes, for messages on what is not in it.

    Attributes:
        image: its name on an engine.
        label: of the recipe, with its arguments.
        place: of its recipe.toml.
        tools: path in the image by key of ``images.tools``.
    """

    image: str
    label: str
    place: str
    tools: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The programs of one ROCm, at their paths where the engine runs commands.

    Attributes:
        recipe: name of the recipe as in the toolchain's spec, for records; a release allows it by this name.
        hipcc: compiles HIP sources.
        clang: compiles C++ and links; ``None``: the one that hipcc drives is asked for.
        python: CPython of at least 3.9, for steps that are programs of ours.
        environment: variables that hipcc needs.
        serves: ROCm minors, as ``torch.version.hip`` says them, that may be built for; empty: whichever is asked for,
            as conformance recipes do.
        own_minor: whether it builds for the ROCm minor of its HIP and for no other.
        recipe_digest: of the image's recipe; ``None`` on this machine.
        image: returns the image's digest, which may be asked of an engine; ``None`` on this machine.
        described: what its recipe says of the image; ``None`` on this machine.
    """

    recipe: str
    hipcc: str
    clang: str | None
    python: str
    environment: Mapping[str, str] = field(default_factory=dict)
    serves: tuple[str, ...] = ()
    own_minor: bool = False
    recipe_digest: Digest | None = None
    image: Callable[[], str] | None = None
    described: Described | None = None


def host_setup(search: Mapping[str, str]) -> Setup:
    """Return the ROCm of this machine: hipcc on ``PATH``, else below ``ROCM_PATH``.

    Args:
        search: the caller's environment.

    Raises:
        MissingRequirementError: there is none.
    """
    below = f"{search.get('ROCM_PATH') or ROCM}/bin"
    found = shutil.which("hipcc", path=search.get("PATH", "")) or shutil.which("hipcc", path=below)
    if found is None:
        raise MissingRequirementError(
            "the toolchain hipcc needs a ROCm on this machine, and there is no hipcc",
            where=f"PATH and {below}",
            fix="Install ROCm or say where it is in ROCM_PATH; or choose a recipe that runs in a container, or llvm.",
        )
    return Setup(
        recipe="hipcc",
        hipcc=str(Path(found).absolute()),
        clang=None,
        python=sys.executable,
        environment={"HIP_PLATFORM": "amd"},
        own_minor=True,
    )


def image_setup(name: str, recipe: Recipe, image: Callable[[], str]) -> Setup:
    """Return the ROCm in the image of a recipe.

    Args:
        name: as matrix.yaml writes it: a folder of a user's, whatever it is called, is not a recipe of ours.
        recipe: what is in it.
        image: returns the image's digest; called when the toolchain's identity is first asked for.
    """
    return Setup(
        recipe=name,
        hipcc=recipe.tools.hipcc,
        clang=recipe.tools.clang,
        python=recipe.tools.python,
        environment=recipe.environment,
        serves=recipe.hip,
        recipe_digest=recipe.digest,
        image=image,
        described=Described(
            image=recipe.reference,
            label=recipe.label,
            place=str(recipe.folder / RECIPE_FILE),
            tools={
                "hipcc": recipe.tools.hipcc,
                "clang": recipe.tools.clang,
                "ninja": recipe.tools.ninja,
                "python": recipe.tools.python,
            },
        ),
    )
