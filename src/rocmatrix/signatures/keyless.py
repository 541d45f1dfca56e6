"""Keyless signing: the identity token of a CI job becomes a certificate for ten minutes, and that signs.

Made by ``sigstore`` as its own command line does it; here are only limits of time and messages without secrets.
"""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import TYPE_CHECKING

import requests
from requests.adapters import HTTPAdapter

from rocmatrix.signatures.model import GITHUB_ISSUER, SigningError
from rocmatrix.signatures.model import Signer as Named
from rocmatrix.signatures.trust import Trust

if TYPE_CHECKING:
    from sigstore.oidc import IdentityToken
    from sigstore.sign import Signer, SigningContext

ANSWER_TIMEOUT = 30.0
"""Seconds that Fulcio, Rekor and the timestamp authority have for an answer; sigstore itself would wait for ever."""
_AUDIENCE = "sigstore"
"""Audience of identity tokens that Fulcio takes (sigstore 4.5.1, oidc.py)."""
_REQUEST_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"  # noqa: S105 - the name of a variable


class _Timed(HTTPAdapter):
    """An adapter whose requests end."""

    def send(self, *arguments: object, **named: object) -> requests.Response:
        """Send with a limit of time."""
        named["timeout"] = named.get("timeout") or ANSWER_TIMEOUT
        return super().send(*arguments, **named)  # type: ignore[arg-type]


def find_identity() -> IdentityToken | None:
    """Return the identity of the CI job that this is; ``None`` where nothing gives one.

    GitHub Actions, GitLab, Buildkite, CircleCI and Google Cloud are known (the package ``id``).

    Raises:
        SigningError: this is a CI job, and it may not have an identity token.
    """
    import id as ambient  # noqa: PLC0415 - what `sigstore` itself asks, without its weight; an extra

    try:
        token = ambient.detect_credential(_AUDIENCE)
        return _identity(token) if token else None
    except ambient.IdentityError as err:
        hint = "; a job needs `permissions: id-token: write`" if os.environ.get("GITHUB_ACTIONS") else ""
        raise SigningError(f"no identity token: {_masked(err)}{hint}") from err
    except Exception as err:
        if not _is_of_network(err):
            raise
        raise SigningError(f"the provider of identity tokens does not answer: {_masked(err)}", passing=True) from err


def _identity(token: str) -> IdentityToken:
    from sigstore.oidc import IdentityError, IdentityToken  # noqa: PLC0415 - heavy

    try:
        return IdentityToken(token)
    except IdentityError as err:
        raise SigningError(f"the identity token of this job is not usable: {_masked(err, token)}") from err


def signer_from(identity: IdentityToken) -> Named | None:
    """Return whom Fulcio will name in a certificate for a token of GitHub Actions; ``None`` for other tokens.

    The name is the claim ``job_workflow_ref``, the file of the job's own workflow with its reference, also where
    another repository called it; that one is the claim ``repository`` (sigstore/fulcio, pkg/identity/github). Claims
    are read, not verified: Fulcio does that.
    """
    import jwt  # noqa: PLC0415 - an extra; sigstore needs it too

    claims = jwt.decode(str(identity), options={"verify_signature": False})
    workflow, repository = claims.get("job_workflow_ref"), claims.get("repository")
    if identity.issuer != GITHUB_ISSUER or not workflow or not repository:
        return None
    site = "https://github.com"
    return Named(name=f"{site}/{workflow}", issuer=GITHUB_ISSUER, sources=f"{site}/{repository}")


class KeylessSigner:
    """Signs with one certificate, which it asks for when it first signs."""

    def __init__(self, identity: IdentityToken, trust: Trust) -> None:
        """Keep who signs and by which Sigstore; nothing is asked yet."""
        self._identity = identity
        self._trust = trust
        self._signer: Signer | None = None

    def sign(self, content: bytes) -> bytes:
        """Return a Sigstore bundle for some bytes.

        Raises:
            SigningError: Sigstore refuses, or does not answer.
        """
        from sigstore.errors import Error  # noqa: PLC0415 - heavy
        from sigstore.oidc import ExpiredIdentity  # noqa: PLC0415
        from sigstore.sign import Signer  # noqa: PLC0415

        try:
            self._signer = self._signer or Signer(self._identity, _context(self._trust))
            return self._signer.sign_artifact(content).to_json().encode()
        except ExpiredIdentity as err:
            raise SigningError("the identity token of this job has expired") from err
        except Exception as err:
            if not (isinstance(err, Error) or _is_of_network(err) or type(err).__module__.startswith("sigstore.")):
                raise
            said = _masked(err, str(self._identity))
            raise SigningError(f"{self._trust.name}: {said}", passing=_is_passing(err)) from err


def _context(trust: Trust) -> SigningContext:
    """Return sigstore's signing context, with sessions whose requests end."""
    from sigstore.sign import SigningContext  # noqa: PLC0415 - heavy

    config = trust.config.signing_config
    fulcio, log, authorities = config.get_fulcio(), config.get_tlogs()[0], config.get_tsas()
    for session in (fulcio.session, *(getattr(service, "_session") for service in (log, *authorities))):  # noqa: B009
        session.mount("https://", _Timed())
        session.mount("http://", _Timed())
    return SigningContext(fulcio=fulcio, rekor=log, trusted_root=trust.config.trusted_root, tsa_clients=authorities)


def _is_of_network(err: Exception) -> bool:
    return isinstance(err, requests.RequestException) or type(err).__module__.partition(".")[0] == "urllib3"


def _is_passing(err: Exception) -> bool:
    """Return whether a service failed rather than refused: no answer, or one that says so."""
    cause: BaseException | None = err
    while cause is not None:
        if isinstance(cause, requests.HTTPError) and cause.response is not None:
            status = cause.response.status_code
            return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
        if isinstance(cause, Exception) and _is_of_network(cause):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _masked(err: Exception, *secrets: str) -> str:
    """Return the first line of what an exception says, and of its cause where it says nothing; no token in it."""
    cause = err.__cause__
    text = str(err).strip() or (str(cause).strip() if cause else "")
    line = text.partition("\n")[0][:300] or type(err).__name__
    for secret in (*secrets, os.environ.get(_REQUEST_TOKEN, "")):
        line = line.replace(secret, "***") if secret else line
    return line
