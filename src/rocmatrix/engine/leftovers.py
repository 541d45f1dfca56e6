"""What a killed rocmatrix left in a docker engine: found by its labels, told from what others use by its owner.

Most of it ends by itself (``rocmatrix.engine.container``). What does not is a container that was created and never
started, which nobody but its creator could have started, and a volume of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmatrix.engine.connection import OWNER_LABEL, ROLE_LABEL, docker_errors
from rocmatrix.engine.owner import parse_owner

if TYPE_CHECKING:
    from docker import DockerClient

_SWEPT = ("builder", "porter")
"""Roles of what may be removed; what ``--keep`` keeps is its user's to remove."""


def sweep(client: DockerClient) -> int:
    """Remove the containers and volumes of processes of this machine that run no more, and return how many there were.

    Another process may be doing the same: what is gone already, or going, is passed over.

    Raises:
        MissingRequirementError: the engine fails.
    """
    from docker.errors import APIError  # noqa: PLC0415 - docker-py is loaded by now

    removed = 0
    with docker_errors("looking for what an earlier run left"):
        for container in client.api.containers(all=True, filters={"label": OWNER_LABEL}):
            if _is_left(container["Labels"]):
                try:
                    client.api.remove_container(container["Id"], force=True, v=True)
                    removed += 1
                except APIError:  # gone, or being removed
                    continue
        for volume in client.api.volumes(filters={"label": OWNER_LABEL})["Volumes"] or ():
            if _is_left(volume["Labels"] or {}):
                try:
                    client.api.remove_volume(volume["Name"])
                    removed += 1
                except APIError:  # gone, or still in use by a container that is being removed
                    continue
    return removed


def _is_left(labels: dict[str, str]) -> bool:
    owner = parse_owner(labels.get(OWNER_LABEL, ""))
    return labels.get(ROLE_LABEL) in _SWEPT and owner is not None and owner.is_gone
