"""The identity of a CI job, and a Hub that trusts it: what GitHub and the public Hub are to each other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ISSUER = "https://token.actions.githubusercontent.com"
_AUDIENCE, _KEY_ID, _HOURS = "rehearsal", "rehearsal", 12


@dataclass(frozen=True, kw_only=True)
class TrustingHub:
    """An embedded Hub that answers.

    Attributes:
        endpoint: its address.
        identity_token: of a job of the repository that it trusts; a secret.
    """

    endpoint: str
    identity_token: str = field(repr=False)


@contextmanager
def trusting_hub(kernel: str, folder: Path, *, source: str) -> Iterator[TrustingHub]:
    """Run an embedded Hub with one empty kernel repository, whose trusted publisher is a repository of sources.

    Args:
        kernel: the repository on the Hub, ``owner/name``.
        folder: what the Hub keeps lies there.
        source: the repository on GitHub, ``owner/name``.
    """
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - the extra `hub`
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    from rocmatrix.hubserver.accounts import Accounts, User  # noqa: PLC0415
    from rocmatrix.hubserver.app import make_app  # noqa: PLC0415
    from rocmatrix.hubserver.hub import Hub  # noqa: PLC0415
    from rocmatrix.hubserver.names import RepoType, repo_name  # noqa: PLC0415
    from rocmatrix.hubserver.publishers import Publisher, Publishers  # noqa: PLC0415
    from rocmatrix.hubserver.server import running  # noqa: PLC0415
    from rocmatrix.hubserver.token import token_of  # noqa: PLC0415
    from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: PLC0415
    from rocmatrix.release.credentials import Credential  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    owner, _, name = kernel.partition("/")
    trusted = Publisher(repository=repo_name(RepoType.KERNEL, owner, name), claims={"repository": source})
    publishers = Publishers(issuer=ISSUER, audience=_AUDIENCE, keys={_KEY_ID: public.decode()}, publishers=(trusted,))
    token, _ = token_of(folder)
    hub = Hub(folder, Accounts((User(name="author", token=token, organizations=(owner,)),)))
    limit_requests()
    try:
        with running(make_app(hub, publishers=publishers)) as server:
            ApiHub(server.endpoint, Credential(token=token, source="rehearsal")).create_repository(kernel)
            yield TrustingHub(endpoint=server.endpoint, identity_token=_identity_token(source, key))
    finally:
        hub.close()


def _identity_token(source: str, key: EllipticCurvePrivateKey) -> str:
    """Return what GitHub would give to a job of the repository that releases."""
    import jwt  # noqa: PLC0415 - the extra `hub`

    now = int(time.time())
    claims = {"iss": ISSUER, "aud": _AUDIENCE, "sub": f"repo:{source}:environment:release", "repository": source}
    times = {"iat": now, "exp": now + _HOURS * 3600}
    return jwt.encode({**claims, **times}, key, algorithm="ES256", headers={"kid": _KEY_ID})
