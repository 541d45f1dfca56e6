"""The image with a torch for ROCm that cases run in: on the engine already, found by name, never pulled from here.

Such an image is several gigabytes, and which bytes it has decides what a check means. So whoever runs the machine
brings it there; the record names its id and the digests that registries know it by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocmatrix.engine.connection import connect, docker_errors, engine_name
from rocmatrix.errors import MissingRequirementError

if TYPE_CHECKING:
    from docker import DockerClient

_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "ROCM_PATH", "ROCM_HOME", "VIRTUAL_ENV", "CONDA_PREFIX")
"""Variables of an image that its Python may need. No others: ``HSA_OVERRIDE_GFX_VERSION`` makes a GPU give a false
name, and a variable that changes how kernels are compiled or run would change what is checked."""


@dataclass(frozen=True, kw_only=True)
class TorchImage:
    """An image on the engine.

    Attributes:
        reference: as the user named it.
        id: digest of its configuration, ``sha256:…``.
        pushed: ``repository@sha256:…`` names that registries know it by.
        environment: variables that it sets and that are passed on.
    """

    reference: str
    id: str
    pushed: tuple[str, ...]
    environment: Mapping[str, str]


def local_engine() -> DockerClient:
    """Return a client of the engine on this machine.

    Raises:
        MissingRequirementError: none runs, its address is none, or the one that is configured runs on another machine,
            whose GPUs are not those that were looked at.
    """
    from docker.utils import parse_host  # noqa: PLC0415 - slow to import, and only engines need it

    with docker_errors("looking for the docker engine"):
        address = str(parse_host(engine_name()))
    if not address.startswith("http+unix://"):
        raise MissingRequirementError(
            "the docker engine is on another machine, and the GPU is looked for on this one",
            where=engine_name(),
            fix="Run rocmatrix on the machine with the GPU, and unset DOCKER_HOST there.",
        )
    return connect()


def find_image(client: DockerClient, reference: str) -> TorchImage:
    """Return an image that the engine has.

    Raises:
        MissingRequirementError: it does not have it, or does not answer.
    """
    from docker.errors import ImageNotFound  # noqa: PLC0415 - slow to import, and only engines need it

    with docker_errors("looking for an image"):
        try:
            found = client.images.get(reference)
        except ImageNotFound as err:
            raise MissingRequirementError(
                f"the docker engine does not have the image {reference}",
                where=engine_name(),
                fix=f"Bring it there once, e.g. by `docker pull {reference}`: it is too large to be pulled unasked.",
            ) from err
    lines: list[str] = (found.attrs.get("Config") or {}).get("Env") or []
    variables = dict(line.partition("=")[::2] for line in lines)
    pushed: list[str] = found.attrs.get("RepoDigests") or []
    return TorchImage(
        reference=reference,
        id=str(found.id),
        pushed=tuple(pushed),
        environment={name: variables[name] for name in _PASSED_ON if name in variables},
    )
