"""Images of recipes on an engine: found by the digest of their recipe, built where there is none, never built twice."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmatrix.digest import Digest
from rocmatrix.engine.connection import docker_errors
from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.options import BuildOptions
from rocmatrix.images.recipe import Recipe, unverified_pins

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.images import Image as DockerImage

DIGEST_LABEL = "rocmatrix.recipe-digest"
RECIPE_LABEL = "rocmatrix.recipe"
ARGS_LABEL = "rocmatrix.recipe-args"
BASE_LABEL = "rocmatrix.base-id"
"""Label with the engine's id of the base that an image was built on."""


_LOCKS: dict[Digest, threading.Lock] = {}
_LOCKS_LOCK = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that an engine has.

    Attributes:
        id: ``sha256:…`` of its configuration: the image's digest in records.
        reference: its name on the engine.
        size: bytes unpacked.
        pushed: ``repository@sha256:…`` names that registries know it by.
    """

    id: str
    reference: str
    recipe_digest: Digest
    size: int
    pushed: tuple[str, ...] = ()


def find_image(client: DockerClient, recipe: Recipe) -> Image | None:
    """Return the engine's image of a recipe, or ``None`` if there is none or its base is another one by now.

    Raises:
        MissingRequirementError: the engine does not answer.
    """
    with docker_errors("looking for an image"):
        found = client.images.list(filters={"label": f"{DIGEST_LABEL}={recipe.digest}"})
        base = _base_id(client, recipe)
    fresh = [one for one in found if base is None or one.labels.get(BASE_LABEL) in ("", None, base)]
    return _made(fresh[0], recipe) if fresh else None


def ensure_image(client: DockerClient, recipe: Recipe, options: BuildOptions | None = None) -> Image:
    """Return the image of a recipe; it is pulled or built if the engine has none of this digest.

    Threads that want the same image wait for the first of them instead of building it too.

    Raises:
        MissingRequirementError: the engine, its disk, its network or the base image do not let it be built.
        BuildError: an instruction of the Dockerfile failed, for a reason of its own.
    """
    with _lock_of(recipe.digest):
        return find_image(client, recipe) or _obtained(client, recipe, options or BuildOptions())


def _obtained(client: DockerClient, recipe: Recipe, options: BuildOptions) -> Image:
    """Pull the image if a registry was named and has it, else build it."""
    from rocmatrix.images import building, registry  # noqa: PLC0415 - only where something is built

    if options.registry and registry.pull(client, recipe, options.registry) and (found := find_image(client, recipe)):
        return found
    building.build(client, recipe, options, labels_of(client, recipe))
    made = find_image(client, recipe)
    if made is None:
        raise MissingRequirementError(
            f"the image of {recipe.label} is gone right after it was built",
            where=recipe.reference,
            fix="See what removes images on this engine, then run the same command again.",
        )
    return made


def _lock_of(digest: Digest) -> threading.Lock:
    """Return the one lock of this process for a recipe."""
    with _LOCKS_LOCK:
        return _LOCKS.setdefault(digest, threading.Lock())


def labels_of(client: DockerClient, recipe: Recipe) -> dict[str, str]:
    """Return the labels of a recipe's image: those of OCI, and what it is found by."""
    with docker_errors("looking for the base image"):
        base = _base_id(client, recipe)
    odd = unverified_pins(recipe)
    return {
        "org.opencontainers.image.title": f"rocmatrix {recipe.label}",
        "org.opencontainers.image.description": f"Compiles ROCm kernels with {recipe.compiler}'s build of the compiler",
        "org.opencontainers.image.vendor": "rocmatrix",
        "org.opencontainers.image.version": recipe.short_digest,
        "org.opencontainers.image.base.name": recipe.base.reference,
        **({"org.opencontainers.image.base.digest": recipe.base.digest} if recipe.base.digest else {}),
        DIGEST_LABEL: recipe.digest,
        RECIPE_LABEL: recipe.name,
        ARGS_LABEL: " ".join(f"{name}={value}" for name, value in sorted(recipe.args.items())),
        BASE_LABEL: base or "",
        "rocmatrix.unverified-pins": ", ".join(odd),
    }


def _base_id(client: DockerClient, recipe: Recipe) -> str | None:
    """Return the engine's id of the base; ``None`` where a digest says which it is, or the engine does not have it."""
    from docker.errors import ImageNotFound  # noqa: PLC0415 - slow to import, and only engines need it

    if recipe.base.digest is not None:
        return None
    try:
        return str(client.images.get(recipe.base.reference).id)
    except ImageNotFound:
        return None


def _made(image: DockerImage, recipe: Recipe) -> Image:
    pushed: list[str] = image.attrs.get("RepoDigests") or []
    return Image(
        id=str(image.id),
        reference=recipe.reference,
        recipe_digest=recipe.digest,
        size=int(image.attrs["Size"]),
        pushed=tuple(pushed),
    )
