"""git over HTTP: ``git http-backend`` for each request, after this server has decided who may do what."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rocmatrix.hubserver.exchange import body_of, caller_of, hub_of, name_of
from rocmatrix.hubserver.refusals import RefusalError

_RECEIVE = "git-receive-pack"
_SERVICES = {"git-upload-pack", _RECEIVE}
_LONGEST_HEAD = 65536
_PIECE = 1 << 16
_GIT_SECONDS = 600
"""Longest time that git may take over one request."""


async def serve(request: Request) -> Response:
    """``GET …/info/refs?service=`` and ``POST …/git-upload-pack`` or ``git-receive-pack``."""
    operation = request.path_params["operation"]
    service = request.query_params.get("service", "") if operation == "info/refs" else operation
    if service not in _SERVICES:
        raise RefusalError(403, "only git's smart protocol is spoken here")
    hub, name, caller = hub_of(request), name_of(request), caller_of(request)
    with hub.readable_by_git(name, caller) as repository:
        if service == _RECEIVE:
            hub.require_writer(name, caller)
        folder = repository.folder
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(hub.root),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": str(folder.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{folder.name}/{operation}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.url.query,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "REMOTE_USER": caller.name,
        "REMOTE_ADDR": request.client.host if request.client else "",
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
    }
    body = await body_of(request)
    if request.headers.get("content-encoding") in {"gzip", "x-gzip"}:
        body = _unpacked(body, hub.limits.body)
    return await run_in_threadpool(_run, environment, body, hub.inherited)


def _unpacked(body: bytes, limit: int) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as packed:
            plain = packed.read(limit + 1)
    except (OSError, EOFError) as err:
        raise RefusalError(400, "the body is not gzip") from err
    if len(plain) > limit:
        raise RefusalError(413, f"git sent more than {limit} bytes; large files belong into LFS")
    return plain


def _run(environment: Mapping[str, str], body: bytes, inherited: int) -> Response:
    """Let git answer into a file: a client that reads slowly must not hold git, and its lock, open.

    Git inherits a lock, so that no server takes over the folder of one that was killed while this git still writes.
    """
    output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when its last piece was sent
    try:
        subprocess.run(
            ["git", "http-backend"],
            env=environment,
            input=body,
            stdout=output,
            stderr=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
            pass_fds=(inherited,),
            check=False,
        )
    except BaseException:
        output.close()
        raise
    output.seek(0)
    head, found, _ = output.read(_LONGEST_HEAD).partition(b"\r\n\r\n")
    if not found:
        output.close()
        raise RefusalError(500, "git http-backend gave no answer")
    output.seek(len(head) + len(found))
    headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    return StreamingResponse(_pieces(output), status_code=status, headers=headers)


def _pieces(output: IO[bytes]) -> Iterator[bytes]:
    with output:
        while piece := output.read(_PIECE):
            yield piece
