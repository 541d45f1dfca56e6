"""Images in a registry: pushed by digest, pulled by the digest of their recipe, so that one machine builds for all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rocmatrix.engine.connection import docker_errors
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.images.image import DIGEST_LABEL, Image
from rocmatrix.images.recipe import Recipe

if TYPE_CHECKING:
    from docker import DockerClient

_REPOSITORY = re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*")
_ABSENT = re.compile(r"manifest unknown|not found|name unknown|repository does not exist", re.IGNORECASE)
_MEANINGS = (
    (
        r"denied|unauthorized|authentication required|no basic auth",
        "Log in with `docker login` as somebody who may push there.",
    ),
    (
        r"server gave HTTP response to HTTPS client|certificate|x509",
        "The engine trusts no such server: give it the registry's certificate, or list it under insecure-registries.",
    ),
    (r"no such host|connection refused|i/o timeout|unreachable", "Correct --registry, or see whether it runs."),
)


def repository_of(recipe: Recipe, registry: str) -> str:
    """Return where a registry keeps a recipe's images; raises ``InputError`` for what names no registry."""
    if not _REPOSITORY.fullmatch(registry):
        fix = "Write HOST[:PORT]/PATH in lower case and without a scheme, e.g. ghcr.io/acme/rocmatrix."
        raise InputError(f"{registry!r} names no registry", where="--registry", fix=fix)
    return f"{registry}/{recipe.name}"


def push(client: DockerClient, recipe: Recipe, image: Image, registry: str) -> str:
    """Push an image, tagged with its recipe's digest, and return ``repository@sha256:…``, its name there.

    Raises:
        InputError: the registry's name is none.
        MissingRequirementError: the registry refuses it or cannot be reached.
    """
    repository = repository_of(recipe, registry)
    with docker_errors(f"pushing {recipe.label}"):
        client.api.tag(image.id, repository, recipe.short_digest)
        events: Iterable[Mapping[str, object]] = client.api.push(
            repository, recipe.short_digest, stream=True, decode=True
        )
        digest: str | None = None
        error: str | None = None
        for event in events:  # to the end: an answer that is left unread keeps its connection open
            error = error or (str(event["error"]) if "error" in event else None)
            aux = event.get("aux")
            if isinstance(aux, Mapping) and aux.get("Digest"):
                digest = str(aux["Digest"])
    if error is not None:
        raise _refused(error, f"{recipe.label} could not be pushed", repository)
    if digest is None:
        raise MissingRequirementError(
            f"the engine did not say by which digest the registry knows {recipe.label}",
            where=repository,
            fix="See what the registry has, then push again: what is there already is not sent twice.",
        )
    return f"{repository}@{digest}"


def pull(client: DockerClient, recipe: Recipe, registry: str) -> bool:
    """Pull the image of a recipe if a registry has it, and return whether it did.

    Raises:
        InputError: the registry's name is none.
        MissingRequirementError: the registry cannot be reached, or has another image under this name.
    """
    from docker.errors import APIError, NotFound  # noqa: PLC0415 - slow to import, and only engines need it

    repository = repository_of(recipe, registry)
    try:
        image = client.images.pull(repository, tag=recipe.short_digest, platform="linux/amd64")
    except NotFound:
        return False
    except APIError as err:
        said = str(err.explanation or err)
        if _ABSENT.search(said):
            return False
        raise _refused(said, f"{recipe.label} could not be pulled", repository) from err
    if image.labels.get(DIGEST_LABEL) != recipe.digest:
        raise MissingRequirementError(
            f"{repository}:{recipe.short_digest} is not an image of {recipe.label}: its recipe digest is "
            f"{image.labels.get(DIGEST_LABEL) or 'missing'}",
            where=repository,
            fix="Somebody pushed something else under this name: remove it there, and find out who.",
        )
    name, _, tag = recipe.reference.partition(":")
    client.api.tag(image.id, name, tag)
    return True


def _refused(said: str, what: str, repository: str) -> MissingRequirementError:
    fix = next(
        (fix for pattern, fix in _MEANINGS if re.search(pattern, said, re.IGNORECASE)), "See the registry's log."
    )
    return MissingRequirementError(f"{what}: {' '.join(said.split())}", where=repository, fix=fix)
