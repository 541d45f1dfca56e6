"""The application: which address means which endpoint."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rocmatrix.hubserver import (
    account_routes,
    content_routes,
    git_routes,
    large_object_routes,
    lock_routes,
    repository_routes,
)
from rocmatrix.hubserver.exchange import broken, failed, refused
from rocmatrix.hubserver.faults import Faults, Faulty
from rocmatrix.hubserver.hub import Hub
from rocmatrix.hubserver.names import RepoType
from rocmatrix.hubserver.publishers import Publishers
from rocmatrix.hubserver.refusals import RefusalError
from rocmatrix.hubserver.traffic import Counting, Traffic

Endpoint = Callable[[Request], Response]
_API = "/api/{type:repotype}/{namespace}/{name}"
_PREFIXED = "/{type:prefixed}/{namespace}/{name}"
_MODEL = "/{namespace}/{name}"
_OBJECT = "/info/lfs/objects/{oid}/{size:int}"
_ENDPOINT = "rocmatrix.endpoint"


class _Word(Convertor[str]):
    """One of a few words; subclasses say which."""

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class _Type(_Word):
    regex = "|".join(kind.value for kind in RepoType)


class _PrefixedType(_Word):
    regex = "|".join(kind.value for kind in RepoType if kind.prefix)


class _GitOperation(_Word):
    regex = "info/refs|git-upload-pack|git-receive-pack"


register_url_convertor("repotype", _Type())
register_url_convertor("prefixed", _PrefixedType())
register_url_convertor("gitoperation", _GitOperation())

_ACCOUNTS = (
    ("GET", "/api/whoami-v2", "whoami", account_routes.whoami),
    ("GET", "/api/organizations/{name}/overview", "organization", account_routes.organization),
    ("POST", "/api/validate-yaml", "validate-yaml", account_routes.validate_card),
    ("POST", "/oauth/token", "token", account_routes.token),
    ("POST", "/api/repos/create", "create-repo", repository_routes.create),
    ("DELETE", "/api/repos/delete", "delete-repo", repository_routes.delete),
)
_REPOSITORIES = (
    ("GET", "", "info", repository_routes.info),
    ("GET", "/revision/{revision}", "info", repository_routes.info),
    ("GET", "/refs", "refs", repository_routes.references),
    ("GET", "/commits/{revision}", "commits", repository_routes.commits),
    ("POST", "/branch/{revision}", "create-branch", repository_routes.create_branch),
    ("DELETE", "/branch/{revision}", "delete-branch", repository_routes.delete_branch),
    ("POST", "/tag/{revision}", "create-tag", repository_routes.create_tag),
    ("DELETE", "/tag/{revision}", "delete-tag", repository_routes.delete_tag),
    ("GET", "/tree/{revision}", "tree", content_routes.tree),
    ("GET", "/tree/{revision}/{path:path}", "tree", content_routes.tree),
    ("POST", "/paths-info/{revision}", "paths-info", content_routes.paths_info),
    ("POST", "/preupload/{revision}", "preupload", content_routes.preupload),
    ("POST", "/commit/{revision}", "commit", content_routes.commit),
)
_FILES = (
    ("GET", "/resolve/{revision}/{path:path}", "resolve", content_routes.resolve),
    ("POST", "/info/lfs/objects/batch", "lfs-batch", large_object_routes.batch),
    ("PUT", _OBJECT, "lfs-put", large_object_routes.put),
    ("GET", _OBJECT, "lfs-get", large_object_routes.get),
    ("PUT", f"{_OBJECT}/part/{{number:int}}", "lfs-part", large_object_routes.put_part),
    ("POST", f"{_OBJECT}/complete", "lfs-complete", large_object_routes.complete),
    ("POST", "/info/lfs/verify", "lfs-verify", large_object_routes.verify),
    ("POST", "/info/lfs/locks", "lfs-lock", lock_routes.create),
    ("GET", "/info/lfs/locks", "lfs-locks", lock_routes.listed),
    ("POST", "/info/lfs/locks/verify", "lfs-locks-verify", lock_routes.verify),
    ("POST", "/info/lfs/locks/{id}/unlock", "lfs-unlock", lock_routes.unlock),
    ("GET", "/{operation:gitoperation}", "git", git_routes.serve),
    ("POST", "/{operation:gitoperation}", "git", git_routes.serve),
)


def _routes() -> list[Route]:
    tables = [
        ("", _ACCOUNTS),
        (_API, _REPOSITORIES),
        (_PREFIXED, _FILES),
        (_MODEL, _FILES),
    ]
    return [
        Route(prefix + path, endpoint, methods=[method], name=name)
        for prefix, table in tables
        for method, path, name, endpoint in table
    ]


class _RawPath:
    """Routes by the address as it was sent: a revision's slashes come as ``%2F``, and must not divide it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["path"] = scope["raw_path"].decode("ascii", "replace").partition("?")[0]
        await self._app(scope, receive, send)


def make_app(
    hub: Hub, *, traffic: Traffic | None = None, faults: Faults | None = None, publishers: Publishers | None = None
) -> ASGIApp:
    """Return the application.

    Args:
        hub: what it serves.
        traffic: where exchanges are counted.
        faults: what goes wrong on purpose; ``None`` for nothing, and then nothing can be planned from outside either.
        publishers: trusted publishers, if there are any.
    """
    routes = _routes()
    app = Starlette(routes=routes, exception_handlers={RefusalError: refused, OSError: broken, Exception: failed})
    app.state.hub = hub
    app.state.publishers = publishers

    def endpoint(scope: Scope) -> str:
        if _ENDPOINT not in scope:
            matched = (route.name for route in routes if route.matches(scope)[0] is Match.FULL)
            scope[_ENDPOINT] = next(matched, "")
        return str(scope[_ENDPOINT])

    wrapped: ASGIApp = Counting(app, traffic or Traffic(), endpoint)
    if faults is not None:
        wrapped = Faulty(wrapped, faults, endpoint)
    return _RawPath(wrapped)
