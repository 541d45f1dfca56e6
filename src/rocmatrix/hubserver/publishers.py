"""Trusted publishers: which CI jobs may have a token for which repository, by the claims of their identity token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import jwt

from rocmatrix.hubserver.names import RepoName
from rocmatrix.hubserver.refusals import RefusalError


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """Jobs that may write to one repository.

    Attributes:
        repository: which one.
        claims: what their identity token must say, for example ``repository`` and ``job_workflow_ref`` of GitHub.
    """

    repository: RepoName
    claims: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Publishers:
    """Who is trusted, and whose word is taken.

    Attributes:
        issuer: the ``iss`` of identity tokens.
        audience: their ``aud``: this Hub's address.
        keys: public keys of the issuer, in PEM, by key id.
        publishers: which jobs.
    """

    issuer: str
    audience: str
    keys: Mapping[str, str]
    publishers: tuple[Publisher, ...] = field(default=())


def accepted(publishers: Publishers, token: str, repository: RepoName) -> str:
    """Return the subject of an identity token that may write to a repository.

    Raises:
        RefusalError: 401 for a token that is not the issuer's, not for this Hub or too old; 403 for a job that no
            publisher describes.
    """
    try:
        key = publishers.keys[jwt.get_unverified_header(token)["kid"]]
        claims = jwt.decode(
            token,
            key,
            algorithms=["RS256", "ES256"],
            audience=publishers.audience,
            issuer=publishers.issuer,
            options={"require": ["exp", "iat", "sub", "aud", "iss"]},
        )
    except (jwt.PyJWTError, KeyError) as err:
        raise RefusalError(401, f"the identity token is not accepted: {err}") from err
    for publisher in publishers.publishers:
        wanted = publisher.claims.items()
        if publisher.repository == repository and all(claims.get(name) == value for name, value in wanted):
            return str(claims["sub"])
    raise RefusalError(403, f"no trusted publisher of {repository} is {claims['sub']}")
