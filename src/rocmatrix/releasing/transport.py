"""How a Hub is spoken to: by its API, or by git and git-lfs, which any host of the two understands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from rocmatrix.errors import MissingRequirementError
from rocmatrix.release.credentials import Credential, find_credential, find_git_credential
from rocmatrix.release.hub import Hub

KERNELS = "/kernels"
"""Where a Hub keeps kernels for git: below its address (huggingface_hub 2.4.0, ``constants.py``)."""


class Transport(StrEnum):
    """The two ways."""

    API = "api"
    GIT = "git"


def default_address(transport: Transport) -> str:
    """Return where the client's own Hub is, for a transport: for git, where its kernel repositories lie."""
    from huggingface_hub import constants  # noqa: PLC0415 - a heavy client

    return str(constants.ENDPOINT) + (KERNELS if transport is Transport.GIT else "")


def find_for(transport: Transport, address: str) -> Credential:
    """Return the credential for an address.

    Raises:
        RocmatrixError: there is none.
    """
    return find_git_credential(address) if transport is Transport.GIT else find_credential(address)


@contextmanager
def speaking(transport: Transport, address: str, credential: Credential) -> Iterator[Hub]:
    """Yield what speaks to a Hub; nothing is asked yet.

    Raises:
        MissingRequirementError: git or git-lfs is not installed.
    """
    if transport is Transport.API:
        from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: PLC0415 - a heavy client

        limit_requests()
        yield ApiHub(address, credential)
        return
    try:
        from rocmatrix.release.git_host import GitHost  # noqa: PLC0415 - fails where there is no git program
    except ImportError as err:
        raise MissingRequirementError("git is not installed", fix="Install git, or use the Hub's API.") from err
    host = GitHost(address, credential)
    try:
        yield host
    finally:
        host.close()
