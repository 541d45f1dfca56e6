"""Endpoints of git-lfs (docs/api in git-lfs 3.3) and of the Hub's multipart transfer; files and locks."""

from __future__ import annotations

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from rocmatrix.hubserver.exchange import LFS_JSON, base_of, caller_of, document_of, hub_of, name_of
from rocmatrix.hubserver.hub import Hub
from rocmatrix.hubserver.names import RepoName, object_id
from rocmatrix.hubserver.refusals import RefusalError

_MULTIPART, _BASIC = "multipart", "basic"


class _Object(msgspec.Struct):
    oid: str
    size: int


class _Batch(msgspec.Struct):
    operation: str
    objects: list[_Object]
    transfers: tuple[str, ...] = (_BASIC,)
    hash_algo: str = "sha256"


class _Part(msgspec.Struct):
    partNumber: int  # noqa: N815 - the wire's spelling
    etag: str


class _Completion(msgspec.Struct):
    oid: str
    parts: list[_Part]


def _answer(document: object, status: int = 200) -> Response:
    return JSONResponse(document, status_code=status, media_type=LFS_JSON)


async def batch(request: Request) -> Response:
    """``POST /<type>/<id>.git/info/lfs/objects/batch``."""
    asked = await document_of(request, _Batch)
    hub, name, caller = hub_of(request), name_of(request), caller_of(request)
    if asked.hash_algo != "sha256" or asked.operation not in {"upload", "download"}:
        raise RefusalError(422, f"no operation {asked.operation!r} with {asked.hash_algo!r} here")
    if len(asked.objects) > hub.limits.batch:
        raise RefusalError(413, f"at most {hub.limits.batch} objects in one batch")
    with hub.readable_by_git(name, caller):
        if asked.operation == "upload":
            hub.require_writer(name, caller)
    multipart = _MULTIPART in asked.transfers and any(each.size > hub.limits.part for each in asked.objects)
    describe = _upload if asked.operation == "upload" else _download
    rows = [describe(request, name, each, multipart=multipart) for each in asked.objects]
    return _answer({"transfer": _MULTIPART if multipart else _BASIC, "objects": rows, "hash_algo": "sha256"})


def _upload(request: Request, name: RepoName, wanted: _Object, *, multipart: bool) -> dict[str, object]:
    hub = hub_of(request)
    row: dict[str, object] = {"oid": object_id(wanted.oid), "size": wanted.size, "authenticated": True}
    if not 0 < wanted.size <= hub.limits.large_object:
        message = f"an object has between 1 and {hub.limits.large_object} bytes"
        return {**row, "error": {"code": 422, "message": message}}
    if hub.objects(name).has(wanted.oid):
        return row
    place = f"/{name.address}.git/info/lfs/objects/{wanted.oid}/{wanted.size}"
    parts = -(-wanted.size // hub.limits.part)
    upload: dict[str, object]
    if multipart and parts > 1:
        header = {"chunk_size": str(hub.limits.part)}
        header |= {str(number): _signed(request, f"{place}/part/{number}") for number in range(1, parts + 1)}
        upload = {"href": _signed(request, f"{place}/complete"), "header": header}
    else:
        upload = {"href": _signed(request, place)}
    verify = {"href": _signed(request, f"/{name.address}.git/info/lfs/verify")}  # and no token in an answer
    return {**row, "actions": {"upload": upload, "verify": verify}}


def _download(request: Request, name: RepoName, wanted: _Object, *, multipart: bool) -> dict[str, object]:
    del multipart  # downloads are never in parts
    row: dict[str, object] = {"oid": object_id(wanted.oid), "size": wanted.size, "authenticated": True}
    if not hub_of(request).objects(name).has(wanted.oid):
        return {**row, "error": {"code": 404, "message": "the object does not exist"}}
    href = _signed(request, f"/{name.address}.git/info/lfs/objects/{wanted.oid}/{wanted.size}")
    return {**row, "actions": {"download": {"href": href}}}


def _signed(request: Request, path: str) -> str:
    return base_of(request) + hub_of(request).sign(path)


def _signed_place(request: Request) -> tuple[Hub, RepoName, str, int]:
    """Return what a signed address is about.

    Raises:
        RefusalError: it is not signed.
    """
    hub = hub_of(request)
    query = request.query_params
    hub.require_signature(request.url.path, query.get("expires"), query.get("signature"))
    return hub, name_of(request), object_id(request.path_params["oid"]), int(request.path_params["size"])


async def put(request: Request) -> Response:
    """``PUT`` to the upload address of a whole object."""
    hub, name, oid, size = _signed_place(request)
    await hub.objects(name).receive(oid, size, request.stream())
    return Response(status_code=200)


async def put_part(request: Request) -> Response:
    """``PUT`` to the upload address of a part."""
    hub, name, oid, size = _signed_place(request)
    number = int(request.path_params["number"])
    expected = min(hub.limits.part, size - (number - 1) * hub.limits.part)
    etag = await hub.objects(name).receive_part(oid, number, expected, request.stream())
    return Response(status_code=200, headers={"ETag": f'"{etag}"'})


async def complete(request: Request) -> Response:
    """``POST`` to the completion address, with the ETags of all parts."""
    hub, name, oid, size = _signed_place(request)
    asked = await document_of(request, _Completion)
    expected = -(-size // hub.limits.part)
    if [part.partNumber for part in asked.parts] != list(range(1, expected + 1)):
        raise RefusalError(400, f"the parts 1 to {expected} make this object, in this order")
    await run_in_threadpool(hub.objects(name).complete, oid, size, [part.etag for part in asked.parts])
    return Response(status_code=200)


def get(request: Request) -> Response:
    """``GET`` from the download address of an object."""
    hub, name, oid, _ = _signed_place(request)
    if not hub.objects(name).has(oid):
        raise RefusalError(404, "the object does not exist")
    return FileResponse(hub.objects(name).path(oid), media_type="application/octet-stream")


async def verify(request: Request) -> Response:
    """``POST /<type>/<id>.git/info/lfs/verify``: whether an object arrived."""
    wanted = await document_of(request, _Object)
    hub, name, query = hub_of(request), name_of(request), request.query_params
    if "signature" in query:
        hub.require_signature(request.url.path, query.get("expires"), query["signature"])
    else:
        with hub.readable(name, caller_of(request)):
            hub.require_writer(name, caller_of(request))
    objects = hub.objects(name)
    if not objects.has(object_id(wanted.oid)) or objects.size(wanted.oid) != wanted.size:
        raise RefusalError(404, f"{wanted.size} bytes of {wanted.oid} are not here")
    return _answer({})
