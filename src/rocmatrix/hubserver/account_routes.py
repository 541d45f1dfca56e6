"""Endpoints that are about no repository: whoami, organisations, cards, trusted publishing."""

from __future__ import annotations

import secrets
import time

import msgspec
import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rocmatrix.hubserver.accounts import Grant
from rocmatrix.hubserver.exchange import caller_of, document_of, hub_of
from rocmatrix.hubserver.names import RepoType, repo_name
from rocmatrix.hubserver.publishers import Publishers, accepted
from rocmatrix.hubserver.refusals import RefusalError

_GRANT_SECONDS = 3600
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105 - the name of a kind of token (RFC 8693, section 3)


def whoami(request: Request) -> Response:
    """``GET /api/whoami-v2``."""
    caller = caller_of(request)
    if not caller.known:
        raise RefusalError(401, "Invalid username or password.")
    role = caller.user.role.value if caller.user else "write"
    organizations = caller.user.organizations if caller.user else ()
    return JSONResponse(
        {
            "type": "user",
            "id": caller.name,
            "name": caller.name,
            "fullname": caller.name,
            "isPro": False,
            "orgs": [{"type": "org", "name": name, "fullname": name, "roleInOrg": role} for name in organizations],
            "auth": {"type": "access_token", "accessToken": {"displayName": "token", "role": role}},
        }
    )


def organization(request: Request) -> Response:
    """``GET /api/organizations/<name>/overview``: whether clients load its kernels without being told to."""
    name = request.path_params["name"]
    found = hub_of(request).accounts.organizations.get(name)
    if found is None:
        raise RefusalError(404, f"there is no organization {name!r}")
    document = {"name": name, "fullname": name, "avatarUrl": "", "trustedKernelPublisher": found.trusted}
    return JSONResponse(document)


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it: it gives up a thousand levels deep at once, PyYAML's own after seconds."""


class _Card(msgspec.Struct):
    content: str
    repoType: str = "model"  # noqa: N815 - the wire's spelling


async def validate_card(request: Request) -> Response:
    """``POST /api/validate-yaml``: whether a card's front matter is a YAML mapping."""
    card = await document_of(request, _Card)
    errors: list[dict[str, str]] = []
    parts = card.content.split("---", 2)
    if card.content.startswith("---") and len(parts) == 3:  # noqa: PLR2004 - before, front matter, after
        try:
            front = yaml.load(parts[1], Loader=_LOADER)  # noqa: S506 - both are safe ones
        except (yaml.YAMLError, RecursionError) as err:
            errors.append({"message": f"the front matter is not YAML: {' '.join(str(err).split())}"})
        else:
            if not isinstance(front, dict | None):
                errors.append({"message": "the front matter is not a mapping"})
    return JSONResponse({"errors": errors, "warnings": []}, status_code=400 if errors else 200)


class _Exchange(msgspec.Struct):
    grant_type: str
    subject_token: str
    subject_token_type: str
    resource: str


async def token(request: Request) -> Response:
    """``POST /oauth/token``: a CI job's identity token for a token of one repository (RFC 8693)."""
    asked = await document_of(request, _Exchange)
    publishers: Publishers | None = request.app.state.publishers
    if asked.grant_type != _EXCHANGE or asked.subject_token_type != _ID_TOKEN:
        raise RefusalError(400, "unsupported_grant_type")
    if publishers is None:
        raise RefusalError(400, "no trusted publisher is configured here")
    kind, _, rest = asked.resource.partition("/")
    prefixed = kind in {each.value for each in RepoType}
    namespace, _, name = (rest if prefixed else asked.resource).partition("/")
    repository = repo_name(RepoType(kind) if prefixed else RepoType.MODEL, namespace, name)
    subject = accepted(publishers, asked.subject_token, repository)
    made = f"hf_jwt_{secrets.token_urlsafe(32)}"
    expires = time.time() + _GRANT_SECONDS
    hub_of(request).accounts.add_grant(Grant(token=made, repository=repository, expires=expires, subject=subject))
    return JSONResponse({"access_token": made, "token_type": "bearer", "expires_in": _GRANT_SECONDS})
