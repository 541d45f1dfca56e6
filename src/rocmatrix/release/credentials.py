"""Which credential a release uses, and that its value is never seen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import constants, get_token
from huggingface_hub.errors import OIDCError

from rocmatrix.errors import InputError, ReleaseError

_RESOURCE, _ID_TOKEN, _TOKENS = "HF_OIDC_RESOURCE", "HF_OIDC_ID_TOKEN", ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
GIT_TOKEN = "ROCMATRIX_GIT_TOKEN"  # noqa: S105 - the name of a variable
SECRETS = (*_TOKENS, _ID_TOKEN, "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ROCMATRIX_HUB_TOKEN", GIT_TOKEN)
"""Variables that hold credentials."""
_MASK = "***"


@dataclass(frozen=True, kw_only=True)
class Credential:
    """A token and where it came from.

    Attributes:
        token: the secret; never in a representation.
        source: where it came from, for people.
    """

    token: str | None = field(repr=False)
    source: str

    def masked(self, text: str) -> str:
        """Return a text without the secret."""
        return text.replace(self.token, _MASK) if self.token else text


def find_credential(endpoint: str) -> Credential:
    """Return the credential for a Hub: trusted publishing first, then ``HF_TOKEN``, then the client's own login.

    huggingface_hub 2.4.0 (``utils/_auth.py``, get_token) looks in that order too; here it is said which one it was.

    Args:
        endpoint: address of the Hub; a token that another Hub gave is not shown to it: neither by trusted publishing
            nor by the login. ``HF_TOKEN`` is for whatever Hub is named beside it.

    Raises:
        InputError: trusted publishing was asked for at another Hub.
        ReleaseError: trusted publishing was asked for and did not work, or there is no credential at all.
    """
    if os.environ.get(_RESOURCE):
        return Credential(token=_exchanged(endpoint), source=f"trusted publishing ({_RESOURCE})")
    named = next((name for name in _TOKENS if os.environ.get(name)), None)
    token = get_token() if named or endpoint.rstrip("/") == constants.ENDPOINT.rstrip("/") else None
    if token is None:
        raise ReleaseError(
            f"there is no credential for {endpoint}",
            fix="Use trusted publishing in CI, set HF_TOKEN, or log in with `hf auth login`; a login is shown to "
            f"{constants.ENDPOINT} alone.",
        )
    return Credential(token=token, source=named or "the login of huggingface_hub")


def find_git_credential(address: str) -> Credential:
    """Return the credential for a git host: ``ROCMATRIX_GIT_TOKEN``; for the client's own Hub also what its API takes.

    Args:
        address: of the host; the token of a Hub is not shown to another host.

    Raises:
        ReleaseError: there is none.
    """
    token = os.environ.get(GIT_TOKEN)
    if token:
        return Credential(token=token, source=GIT_TOKEN)
    if urlsplit(address)[:2] == urlsplit(constants.ENDPOINT)[:2]:  # the scheme too: http would show it to the network
        return find_credential(constants.ENDPOINT)
    raise ReleaseError(
        f"there is no credential for {address}",
        fix=f"Set {GIT_TOKEN} to a token that may push there; the Hub's own token is not shown to another host.",
    )


@contextmanager
def without_secrets() -> Iterator[None]:
    """Take the variables that hold credentials out of the environment, so that programs started meanwhile lack them."""
    taken = {name: os.environ.pop(name) for name in SECRETS if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(taken)


def _exchanged(endpoint: str) -> str | None:
    """Return the token that the Hub gives for this CI job's identity.

    Raises:
        InputError: the client would ask another Hub.
        ReleaseError: the Hub gives none.
    """
    if endpoint.rstrip("/") != constants.ENDPOINT.rstrip("/"):
        raise InputError(
            f"trusted publishing asks {constants.ENDPOINT} for a token, and the release is for {endpoint}",
            where=_RESOURCE,
            fix=f"Set HF_ENDPOINT={endpoint} instead of --hub.",
        )
    try:
        return get_token()
    except (OIDCError, OSError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, KeyError) as err:
        identity, said = os.environ.get(_ID_TOKEN), " ".join(str(err).split())
        raise ReleaseError(
            f"trusted publishing did not give a token: {said.replace(identity, _MASK) if identity else said}",
            where=_RESOURCE,
            fix="Give the job `permissions: id-token: write`, and make it a trusted publisher of the repository.",
        ) from err
