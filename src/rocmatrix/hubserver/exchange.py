"""What every endpoint does with a request: who asks, for which repository, and how an answer is put."""

from __future__ import annotations

import base64
import binascii
import errno
import os
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rocmatrix.hubserver.accounts import Caller
from rocmatrix.hubserver.hub import Hub
from rocmatrix.hubserver.names import RepoName, RepoType, repo_name
from rocmatrix.hubserver.refusals import RefusalError

T = TypeVar("T")
LFS_JSON = "application/vnd.git-lfs+json"


def hub_of(request: Request) -> Hub:
    """Return the Hub that answers."""
    hub: Hub = request.app.state.hub
    return hub


def caller_of(request: Request) -> Caller:
    """Return who asks: by ``Bearer`` token, or as git does by ``Basic`` with the token as password.

    Raises:
        RefusalError: 401 for a token that nobody holds.
    """
    scheme, _, rest = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return hub_of(request).accounts.caller(rest.strip())
    if scheme.lower() == "basic":
        try:
            password = base64.b64decode(rest, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError) as err:
            raise RefusalError(401, "the Authorization header cannot be read") from err
        return hub_of(request).accounts.caller(password)
    return Caller()


def name_of(request: Request) -> RepoName:
    """Return the repository in the address.

    Raises:
        RefusalError: no repository can have that name.
    """
    parameters = request.path_params
    kind = RepoType(parameters.get("type", RepoType.MODEL.value))
    return repo_name(kind, parameters["namespace"], parameters["name"].removesuffix(".git"))


def revision_of(request: Request) -> str:
    """Return the revision in the address; its slashes came as ``%2F``."""
    return unquote(request.path_params["revision"])


async def body_of(request: Request) -> bytes:
    """Return the body, if it is within the limit.

    Raises:
        RefusalError: 413.
    """
    limit = hub_of(request).limits.body
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise RefusalError(413, f"the request is larger than {limit} bytes")
    return bytes(body)


async def document_of(request: Request, kind: type[T]) -> T:
    """Return the JSON body as a dataclass.

    Raises:
        RefusalError: it is not that.
    """
    try:
        return msgspec.json.decode(await body_of(request) or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as err:
        raise RefusalError(400, f"the request is not what it should be: {err}") from err


def base_of(request: Request) -> str:
    """Return the server's address as this client knows it, without a slash at the end."""
    return str(request.base_url).rstrip("/")


def broken(_: Request, err: Exception) -> Response:
    """Say what the disk said: 507 if it is full, which no repetition mends.

    Raises:
        OSError: it is about something else, a fault of this server.
    """
    assert isinstance(err, OSError)  # noqa: S101 - registered for nothing else
    if err.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}:
        raise err
    message = f"the Hub's disk does not take it: {os.strerror(err.errno)}"
    return JSONResponse({"error": message, "message": message}, status_code=507, headers={"X-Error-Message": message})


def failed(_: Request, err: Exception) -> Response:
    """Say that this server has a fault, and of which kind; what it was about may be secret, and is not said."""
    message = f"the embedded Hub failed ({type(err).__name__}): that is a bug of rocmatrix"
    return JSONResponse({"error": message, "message": message}, status_code=500, headers={"X-Error-Message": message})


def refused(_: Request, refusal: Exception) -> Response:
    """Put a refusal into a response."""
    assert isinstance(refusal, RefusalError)  # noqa: S101 - registered for nothing else
    headers: Mapping[str, str] = {
        **refusal.headers,
        **({"X-Error-Code": refusal.code.value} if refusal.code else {}),
        "X-Error-Message": "".join(each if each.isascii() and each.isprintable() else "?" for each in refusal.message),
    }
    content = {"error": refusal.message, "message": refusal.message, **refusal.document}
    return JSONResponse(content, status_code=refusal.status, headers=dict(headers))
